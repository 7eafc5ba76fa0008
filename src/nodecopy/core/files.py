"""Files and folders: only regular files are read, and a file that is written is whole or absent.

A file is written under a temporary name, synced to the disk, and renamed. The files of a folder are
written to a hidden folder inside it, renamed one by one, and a manifest comes last: the folder
itself is never renamed or emptied, so it does not matter who else works in it. A kill between two
renames leaves files of two runs side by side, each of them whole; `unlike_manifest` names them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nodecopy import __version__
from nodecopy.core.errors import FormatError, InputError, shown

MANIFEST = "manifest.json"
_STAGE = ".nodecopy-"


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
        found = "a folder" if file.is_dir() else "a pipe, a socket or a device"
        raise error(f"{file} is {found}; accepted: a regular file")
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
        mark: a file that every such folder has, and words near its beginning.
        writer: the command that writes such a folder, for the message.
        kept: names that a folder may hold before it is first written. So are hidden files.
    """
    folder = Path(path)
    present = folder.absolute()
    try:
        if folder.stat() and not folder.is_dir():
            raise InputError(f"{folder} is a file; --out needs the name of a folder")
    except FileNotFoundError:
        present = next(parent for parent in present.parents if parent.exists())
    except OSError as error:  # a loop of symbolic links, a name that is too long
        raise InputError(f"{shown(str(folder))} cannot be written: {error.strerror}") from error
    try:
        tempfile.TemporaryDirectory(dir=present, prefix=_STAGE).cleanup()
    except OSError as error:
        name = shown(str(folder))
        raise InputError(f"{name} cannot be written: {present}: {error.strerror}") from error
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
def writing_folder(
    path: str | os.PathLike[str], first: str, ours: Collection[str], kept: Collection[str] = ()
) -> Iterator[Path]:
    """Yield an empty folder whose files take their places in another, one by one, if all goes well.

    Args:
        path: the folder to write to; it is made if it is missing.
        first: the file that takes its place before all others.
        ours: names of files that belong to the writer: those not written this time are removed.
            Everything else in the folder stays as it is.
        kept: files of the manifest that stay in it, as written shortly before.
    """
    folder = Path(path)
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    stage: Path | None = None
    try:
        with _alone(folder) as certain:
            for left in folder.glob(f"{_STAGE}*") if certain else ():
                shutil.rmtree(left, ignore_errors=True)  # by a run that was killed
            stage = Path(tempfile.mkdtemp(dir=folder, prefix=_STAGE))
            yield stage
            _place(stage, folder, first, ours, kept)
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
        if new:
            with suppress(OSError):
                folder.rmdir()  # if nothing was written


def unlike_manifest(folder: str | os.PathLike[str], names: Collection[str]) -> list[str]:
    """Return which of these files are missing, or not those that the manifest of a folder lists."""
    try:
        entries = json.loads((Path(folder) / MANIFEST).read_bytes())["files"]
        return [name for name in names if entries.get(name) != _entry(Path(folder) / name)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return [MANIFEST]


def _place(
    stage: Path, folder: Path, first: str, ours: Collection[str], kept: Collection[str]
) -> None:
    """Move the files of a stage to a folder, and describe them in its manifest."""
    paths = [path for path in stage.rglob("*") if path.is_file()]
    names = [path.relative_to(stage).as_posix() for path in paths]
    for path, name in zip(paths, names, strict=True):
        _sync(path)
        regular_file(folder / name)
    entries = {name: _entry(stage / name) for name in sorted(names)}
    for name in sorted(names, key=lambda name: (name == first, name), reverse=True):
        (folder / name).parent.mkdir(exist_ok=True)
        os.replace(stage / name, folder / name)
    entries |= {name: _entry(folder / name) for name in kept}
    for name in {*ours} - {*entries, MANIFEST}:
        (folder / name).unlink(missing_ok=True)
    for parent in {(folder / name).parent for name in names}:
        _sync(parent)
    content = json.dumps({"version": __version__, "files": entries}, indent=1)
    write_whole(folder / MANIFEST, content + "\n")


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
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # not on this system
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            certain = True
        except OSError:  # not on this file system
            certain = False
        yield certain
    finally:
        os.close(handle)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return  # this system has no way to do it
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _contains(file: Path, words: str) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return words.encode() in stream.read(4096)
