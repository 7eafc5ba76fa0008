"""Files and folders: only regular files are read, and a file that is written is whole or absent.

A file is written under a temporary name, synced to the disk, and renamed. The files of a folder are
written to a hidden folder inside it, renamed one by one, and a manifest comes last: the folder
itself is never renamed or emptied, so it does not matter who else works in it. A kill between two
renames leaves files of two runs side by side, each of them whole; `incomplete` names them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from nodecopy import __version__
from nodecopy.core.errors import FormatError, InputError

MANIFEST = "manifest.json"
STAGE = ".nodecopy-"


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
        _sync(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
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


# A spreadsheet would run a cell that begins so, unless it is a number; ' in front makes it text.
# A cell that has a ' there already gets another.
_FORMULA, _NUMBER = r"\x27*[=+@-]", r"[+-][0-9.]+([eE][+-]?[0-9]+)?"


def guarded(cell: str) -> str:
    """Return a string that no spreadsheet takes for a formula; numbers stay.

    >>> guarded("=1+1"), guarded("'=1+1"), guarded("-1.5")
    ("'=1+1", "''=1+1", '-1.5')
    """
    formula = re.match(_FORMULA, cell) and not re.fullmatch(_NUMBER, cell)
    return f"'{cell}" if formula else cell


def guarded_sql(cell: str) -> str:
    """Return SQL for what `guarded` returns."""
    number = f"regexp_full_match({cell}, '{_NUMBER}')"
    formula = f"regexp_matches({cell}, '^{_FORMULA}') AND NOT {number}"
    return f"CASE WHEN {formula} THEN chr(39) || {cell} ELSE {cell} END"


def unguarded_sql(cell: str) -> str:
    """Return SQL for the string that `guarded` was given."""
    return rf"regexp_replace({cell}, '^\x27({_FORMULA})', '\1')"


@contextmanager
def writing_folder(
    path: str | os.PathLike[str], ours: Collection[str]
) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield an empty folder, and a function that moves its files to another one.

    The function may be called early, so that these files cannot be lost by what follows. It is
    called once more in the end, if all goes well.

    Args:
        path: the folder to write to; it is made if it is missing.
        ours: names of files that belong to the writer: those of an earlier run are removed before
            others take their places. Everything else in the folder stays as it is.
    """
    folder, entries = Path(path), dict[str, dict[str, int | str]]()

    def place() -> None:
        paths = sorted(path for path in stage.rglob("*") if path.is_file())
        names = [path.relative_to(stage).as_posix() for path in paths]
        for path, name in zip(paths, names, strict=True):
            _sync(path)
            regular_file(folder / name)
        stale = set() if entries else {*ours} - {*names, MANIFEST}
        entries.update((name, _entry(stage / name)) for name in names)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(stage / name, folder / name)
        for parent in {(folder / name).parent for name in names}:
            _sync(parent)
        content = json.dumps({"version": __version__, "files": entries}, indent=1, sort_keys=True)
        write_whole(folder / MANIFEST, content + "\n")

    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _alone(folder) as certain:
            for left in folder.glob(f"{STAGE}*") if certain else ():
                shutil.rmtree(left, ignore_errors=True)  # by a run that was killed
            with TemporaryDirectory(dir=folder, prefix=STAGE, ignore_cleanup_errors=True) as made:
                stage = Path(made)
                yield stage, place
                place()
    finally:
        if new:
            with suppress(OSError):
                folder.rmdir()  # if nothing was written


def incomplete(folder: str | os.PathLike[str], results: str, names: Collection[str]) -> str:
    """Say in one line what in a folder is not of one run; "" if all is, or if it has no results.

    Args:
        folder: that `writing_folder` wrote, or any other.
        results: a file that every folder with results has.
        names: the files that matter.
    """
    folder = Path(folder)
    if not (folder / results).exists():
        return ""
    try:
        entries = json.loads((folder / MANIFEST).read_bytes())["files"]
        changed = [name for name in names if entries.get(name) != _entry(folder / name)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        changed = [MANIFEST]
    what = f"{', '.join(changed)} {'is' if len(changed) == 1 else 'are'} missing or changed"
    return f"{folder}: {what} since the last fit that was written to its end" if changed else ""


def _entry(path: Path) -> dict[str, int | str]:
    """Describe a file for the manifest; one that is missing has no entry."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Wait until no other process writes to a folder; yield whether that is certain."""
    with ExitStack() as stack:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            certain = True
        except (ImportError, OSError):  # not on this system, not on this file system
            certain = False
        yield certain


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return  # this system has no way to do it
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
