"""Files and folders: only regular files are read, and what is written is whole or absent.

A file is written under a temporary name and renamed. A folder is written inside a temporary folder
beside the old one, and two renames exchange them: the old one into the temporary folder, then the
new one to its name. Only the temporary folder is ever removed. A kill between the renames leaves
the old folder inside it, and `left_over_lines` says so at the next start; nothing is moved back or
removed by itself.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from nodecopy.core.errors import FormatError, InputError, shown


def regular_file(path: str | os.PathLike[str], error: type[InputError] = FormatError) -> Path:
    """Return the path of a regular file, or of none at all; refuse folders, pipes and devices.

    Opening a pipe would wait for its writer.

    Args:
        path: of a file that is to be read. Opening it fails if there is none.
        error: what to raise.

    >>> regular_file(".")
    Traceback (most recent call last):
    nodecopy.core.errors.FormatError: . is a folder; accepted: a regular file
    """
    file = Path(path)
    if "\0" in str(file):
        raise error(f"a file name must not have a NUL character; got {str(file)!r}")
    if file.exists() and not file.is_file():
        kind = "a folder" if file.is_dir() else "a pipe, a socket or a device"
        raise error(f"{file} is {kind}; accepted: a regular file")
    return file


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside a file, which takes the file's place once it is written.

    A reader never sees half a file, and a failure leaves the old one as it was. What is there
    already must be a regular file: a device or a pipe would be replaced, not written to.
    """
    target = regular_file(path)
    if not target.parent.is_dir():
        raise FormatError(f"cannot write {target}: the folder {target.parent} does not exist")
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


# A spreadsheet would run a cell that begins so; ' in front makes it text. One that has a ' there
# already gets another.
_FORMULA = r"\x27*[=+@-]"


def guarded_sql(cell: str) -> str:
    """Return SQL for a string that no spreadsheet takes for a formula; numbers stay."""
    formula = f"regexp_matches({cell}, '^{_FORMULA}') AND TRY_CAST({cell} AS DOUBLE) IS NULL"
    return f"CASE WHEN {formula} THEN chr(39) || {cell} ELSE {cell} END"


def unguarded_sql(cell: str) -> str:
    """Return SQL for the string that `guarded_sql` was given."""
    return rf"regexp_replace({cell}, '^\x27({_FORMULA})', '\1')"


def check_target(
    path: str | os.PathLike[str],
    mark: tuple[str, str],
    writer: str,
    kept: Collection[str] = (),
) -> Path:
    """Return a folder that may be written: a new one, an empty one, or one that we wrote before.

    Args:
        path: the folder.
        mark: a file that every folder of this kind has, and words near its beginning.
        writer: the command that writes such a folder, for the message.
        kept: names that a folder may hold before it is first written. So are hidden files.
    """
    folder = Path(path)
    try:
        if folder.stat() and (not folder.is_dir() or folder.absolute().is_mount()):
            what = "a mount point" if folder.is_dir() else "a file"  # which cannot be renamed
            raise InputError(f"{folder} is {what}; --out needs the name of a folder")
    except FileNotFoundError:
        pass
    except OSError as error:  # a loop of symbolic links, a name that is too long
        raise InputError(f"{shown(str(folder))} cannot be written: {error.strerror}") from error
    target = Path(os.path.realpath(folder))
    above = next(parent for parent in target.parents if parent.exists())
    try:
        tempfile.TemporaryDirectory(dir=above, prefix=_prefix(target)).cleanup()
    except OSError as error:
        name = shown(str(folder))
        raise InputError(f"{name} cannot be made in {above}: {error.strerror}") from error
    if not folder.exists():
        return folder
    names = {file.name for file in folder.iterdir() if not file.name.startswith(".")} - set(kept)
    if names and not _contains(folder / mark[0], mark[1]):
        raise InputError(
            f"the folder {folder} holds other files, {min(names)!r} for one, and is left alone; "
            f"name a new or empty folder, or one that {writer} wrote"
        )
    return folder


@contextmanager
def replacing_folder(
    path: str | os.PathLike[str],
    ours: Collection[str],
    exchanging: AbstractContextManager[None] | None = None,
) -> Iterator[Path]:
    """Yield an empty folder that takes the place of another if all goes well.

    Args:
        path: the folder to replace, or to make.
        ours: names that belong to the writer; all others in the old folder are kept in the new one.
        exchanging: entered for the moment of the exchange.
    """
    folder = Path(os.path.realpath(path))
    folder.parent.mkdir(parents=True, exist_ok=True)
    workspace = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder)))
    old, new = workspace / "old", workspace / "new"
    try:
        new.mkdir()
        yield new
        with exchanging or nullcontext():
            if folder.exists():
                _keep_others(folder, new, ours)
                folder.rename(old)
            new.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(workspace, ignore_errors=True)


def left_over_lines(path: str | os.PathLike[str]) -> list[str]:
    """Say what runs that were killed left beside a folder, a line for each."""
    folder = Path(os.path.realpath(path))
    lines = []
    for workspace in sorted(folder.parent.glob(f"{glob.escape(_prefix(folder))}*")):
        line = f"{workspace} was left by a run that was killed, unless one is writing"
        if not folder.exists() and (workspace / "old").exists():
            line += f"; the previous content of {folder} is in {workspace / 'old'}: move it back"
        lines.append(line)
    return lines


def _prefix(folder: Path) -> str:
    return f".{folder.name}.nodecopy-"


def _contains(file: Path, words: str) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return words.encode() in stream.read(4096)


def _keep_others(folder: Path, new: Path, ours: Collection[str]) -> None:
    """Give every file that is not ours a second name in the new folder; open ones stay the same."""
    for path in folder.iterdir():
        if path.name in ours:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True, copy_function=_link)
        else:
            _link(path, new / path.name)


def _link(old: str | Path, new: str | Path) -> None:
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:  # a disk that gives a file one name only
        shutil.copy2(old, new, follow_symlinks=False)
