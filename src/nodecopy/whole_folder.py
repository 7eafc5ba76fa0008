"""One folder in the place of another: at every instant, one of the two is there and whole.

Linux and macOS exchange two names in one step. Where the system or the disk cannot, the earlier
folder is first renamed to ``NAME.before-…`` beside it, where anyone would look for it. What a
killed run leaves is put in order by the next run that writes the same folder.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from nodecopy.errors import InputError

if sys.platform != "win32":
    import fcntl

_NEW, _BEFORE = "new", ".before-"
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD of Linux: a relative path is seen from the working folder
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV}

# A workspace is empty for an instant before it is locked; after so many seconds nobody uses it.
_YOUNG = 3600.0


class Kept(NamedTuple):
    """What the new folder takes over from the old one, as it is when they are exchanged.

    Attributes:
        names: of files; they stay the same files where the disk can give one two names.
        exchanging: entered for the moment of the exchange.
    """

    names: Collection[str] = ()
    exchanging: AbstractContextManager[None] = nullcontext()


_NOTHING_KEPT = Kept()


def check_target(
    path: str | os.PathLike[str], ours: Collection[str], mark: str, writer: str
) -> Path:
    """Return a folder that may be written: a new one, an empty one, or an earlier one of ours.

    Args:
        path: the folder.
        ours: the names that such a folder holds.
        mark: the one of them that every such folder has.
        writer: the command that writes it.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; --out needs the name of a folder")
    held = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    if held and (mark not in held or not held <= set(ours)):
        raise InputError(
            f"the folder {folder} holds other files, {min(held - set(ours) or held)!r} for one, "
            f"and is left alone; name a new or empty folder, or one that {writer} wrote"
        )
    if folder.is_mount():  # such a folder cannot be renamed, and thus not be replaced as a whole
        raise InputError(f"{folder} is a mount point; name a folder inside it")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"{folder} cannot be made: {above} is not a folder that can be written to")
    return folder


@contextmanager
def replaced(folder: Path, kept: Kept = _NOTHING_KEPT) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``folder`` if all goes well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _workspace(folder) as aside:
        fresh = aside / _NEW
        yield fresh
        _write_through(fresh)
        with kept.exchanging:
            for name in kept.names:
                _take_over(folder / name, fresh / name)
            if not folder.exists():
                fresh.rename(folder)
            elif not _exchange(fresh, folder):
                token = aside.name.removeprefix(_prefix(folder))
                before = folder.with_name(f"{folder.name}{_BEFORE}{token}")
                _rename_both(fresh, folder, before, aside)
            _keep_names(folder.parent)  # before the earlier one is removed


def _take_over(old: Path, new: Path) -> None:
    """Give a file a second name, or, where the disk cannot, copy it."""
    if not old.exists():
        return
    try:
        os.link(os.path.realpath(old), new)
    except OSError:
        shutil.copy2(old, new)
        _sync(new, os.O_RDWR)


def clear_left_overs(path: str | os.PathLike[str], ours: Collection[str]) -> list[Path]:
    """Put in order what killed runs left beside a folder; return what had to stay.

    A folder that was about to be replaced gets its name back. Workspaces are removed, unless the
    run that made one goes on.

    Args:
        path: the folder that is to be written.
        ours: the names that such a folder holds.
    """
    folder = Path(os.path.realpath(path))
    for before in _beside(folder, folder.name + _BEFORE):
        aside = before.with_name(_prefix(folder) + before.name.rpartition(_BEFORE)[2])
        with _lock_on(aside) as free:
            if free and _holds(before, ours):
                _put_back(before, folder)
    left = []
    for aside in _beside(folder, _prefix(folder)):
        with _lock_on(aside) as free:
            if free and _holds(aside, {_NEW}) and (any(aside.iterdir()) or _age(aside) > _YOUNG):
                shutil.rmtree(aside, ignore_errors=True)
            if free is not False and aside.exists() and any(aside.iterdir()):
                left.append(aside)
    return left


def _put_back(before: Path, folder: Path) -> None:
    if folder.exists():  # the new one is there: only the removal of the earlier one was missing
        shutil.rmtree(before, ignore_errors=True)
    else:
        before.rename(folder)


@contextmanager
def _workspace(folder: Path) -> Iterator[Path]:
    """Yield a folder out of sight that holds an empty one, locked as long as this run lives."""
    # In the same parent, so that its content can be renamed.
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder)))
    try:
        with _lock_on(aside):
            (aside / _NEW).mkdir()
            yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _rename_both(fresh: Path, folder: Path, before: Path, aside: Path) -> None:
    """Replace a folder in two steps; between them the earlier one is visible under another name."""
    try:
        folder.rename(before)
        fresh.rename(folder)
    except BaseException:
        if before.exists() and not folder.exists():
            before.rename(folder)
        raise
    before.rename(aside / _NEW)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; return False where that is impossible."""
    if sys.platform == "win32":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(first), os.fsencode(second)
    if hasattr(library, "renameat2"):
        failed = library.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(*names, _EXCHANGE)
    else:
        return False
    code = ctypes.get_errno()
    if failed and code not in _CANNOT:
        raise OSError(code, os.strerror(code), str(second))
    return not failed


@contextmanager
def _lock_on(folder: Path) -> Iterator[bool | None]:
    """Lock a folder; yield False if another run holds it, None where nobody can tell.

    The system releases the lock of a run that ends, however it ends. What is not there is free.
    """
    handle = None
    try:
        free: bool | None = None
        if sys.platform != "win32":
            try:
                handle = os.open(folder, os.O_RDONLY)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                free = True
            except FileNotFoundError:
                free = True
            except BlockingIOError:
                free = False
            except OSError:  # a file system without locks
                free = None
        yield free
    finally:
        if handle is not None:
            os.close(handle)


def _write_through(folder: Path) -> None:
    """Have the disk keep every file: the earlier ones are about to be removed."""
    for path in folder.rglob("*"):
        if path.is_file():
            _sync(path, os.O_RDWR)


def _keep_names(folder: Path) -> None:
    """Have the disk keep the names in a folder, where it can be told to."""
    if sys.platform != "win32":
        with suppress(OSError):
            _sync(folder, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _prefix(folder: Path) -> str:
    return f".{folder.name}.nodecopy-"


def _beside(folder: Path, start: str) -> list[Path]:
    found = folder.parent.glob(f"{glob.escape(start)}*")
    return sorted(path for path in found if path.is_dir() and not path.is_symlink())


def _holds(folder: Path, names: Collection[str]) -> bool:
    """Say whether everything in a folder goes by one of these names."""
    return {path.name for path in folder.iterdir()} <= set(names)


def _age(folder: Path) -> float:
    return time.time() - folder.stat().st_mtime
