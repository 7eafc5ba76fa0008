"""How much memory this process may use: the machine's, or less where a container says so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nodecopy.errors import InputError

# Assumed where the system does not say.
_UNKNOWN = 8 * 1024**3
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


def usable_memory(root: Path = Path("/")) -> int:
    """Return the bytes that this process may use: all of the machine's, or its cgroup's limit.

    A limit of Linux control groups (version 1 or 2) is that of the process's group or of any group
    that holds it: containers and batch systems set one.

    Args:
        root: where ``proc`` and ``sys`` are.
    """
    return min(_physical_memory(), *_cgroup_limits(root), 2**62)


def memory_size(text: str) -> int:
    """Return the bytes that a text such as 8G, 500M or 1000000 stands for.

    >>> memory_size("8G"), memory_size("1.5m"), memory_size("100")
    (8589934592, 1572864, 100)
    """
    found = re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE
    )
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size < 1:
        raise InputError(f"a size of memory is a number with K, M, G or T behind; got {text!r}")
    return size


def size_text(size: float) -> str:
    """Return a number of bytes for people.

    >>> size_text(2_000_000_000), size_text(3e6)
    ('1.9 GiB', '2.9 MiB')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system has sysconf, or these names
        return _UNKNOWN


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the groups that this process is in, as far as there are any."""
    for file in _limit_files(root):
        with suppress(OSError, ValueError):  # no such file, or "max": no limit
            yield int(file.read_text())


def _limit_files(root: Path) -> Iterator[Path]:
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            home, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            home, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # Inside a container the path may be that of the host: then only the root is there.
        group = home / path.strip().lstrip("/")
        yield group / name
        yield from (parent / name for parent in group.parents if parent.is_relative_to(home))
