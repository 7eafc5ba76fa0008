"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nodecopy.errors import FormatError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside a file, which takes the file's place once it is written.

    A reader never sees half a file, and a failure leaves the old one as it was. What is there
    already must be a regular file: a device or a pipe would be replaced, not written to.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise FormatError(f"cannot write {target}: it exists and is not a regular file")
    if not target.parent.is_dir():
        raise FormatError(f"cannot write {target}: there is no folder {target.parent}")
    # A name of our own: `tempfile` would make a private file, and reading the mask of permissions
    # to correct that changes it for a moment, for every thread of the process.
    temporary = target.with_name(f".{secrets.token_hex(8)}.part.{target.name}"[-250:])
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name, then rename it."""
    with replacing(path) as temporary:
        try:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            # A full disk is reported without a name, and a refused name is the temporary one.
            raise OSError(error.errno, error.strerror, str(path)) from error
