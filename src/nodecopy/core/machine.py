"""What this process may use of the machine: memory, cores, threads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Assumed where the system does not say.
_UNKNOWN_MEMORY = 8 * 1024**3
# Read by the libraries below NumPy and torch when these are first imported.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# What the user asked for, before `prefer_one_thread`.
_ASKED = os.environ.get("OMP_NUM_THREADS", "")


def usable_memory(root: Path = Path("/")) -> int:
    """Return the bytes that this process may use: all of the machine's, or its container's limit.

    The limit is that of the process's Linux control group (version 2) or of any group above it.

    Args:
        root: where ``proc`` and ``sys`` are.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system has sysconf, or these names
        memory = _UNKNOWN_MEMORY
    groups = root / "sys/fs/cgroup"
    own = groups
    with suppress(OSError):
        line = re.search(r"^0::/(.*)", (root / "proc/self/cgroup").read_text(), re.MULTILINE)
        own = groups / line[1] if line else groups
    for group in (own, *own.parents):
        # Inside a container, the path may be that of the host: then only the root is there.
        if group.is_relative_to(groups):
            with suppress(OSError, ValueError):  # no such file, or "max": no limit
                memory = min(memory, int((group / "memory.max").read_text()))
    return memory


def available_cores() -> int:
    """Return how many cores this process may use: by its affinity and its container's quota."""
    from joblib import cpu_count

    return int(cpu_count())


@contextmanager
def one_thread(*, always: bool = False) -> Iterator[None]:
    """Compute on one thread, unless the user set OMP_NUM_THREADS; then restore what was set.

    Sums then have one order, and fits that run side by side do not compete for cores.

    Args:
        always: on one thread even if OMP_NUM_THREADS is set.
    """
    if "OMP_NUM_THREADS" in os.environ and not always:
        yield
        return
    from threadpoolctl import threadpool_limits

    with _torch_threads(1), threadpool_limits(1):
        yield


@contextmanager
def all_threads() -> Iterator[None]:
    """Compute on all cores, or on as many as the user's OMP_NUM_THREADS says; then restore."""
    asked = int(_ASKED) if _ASKED.isdecimal() else 0
    with _torch_threads(asked or available_cores()):
        yield


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    """Set torch's threads, those of the MKL inside it too, which threadpoolctl does not see."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def torch_defaults() -> Iterator[None]:
    """Compute in single precision, with gradients, on one thread, whatever the caller has set."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.enable_grad(), one_thread():
            yield
    finally:
        torch.set_default_dtype(before)


def prefer_one_thread() -> None:
    """Do as `one_thread` for the whole process, at less cost; call it before NumPy is imported."""
    if "OMP_NUM_THREADS" not in os.environ:  # OpenBLAS and MKL follow it, too
        os.environ.update((name, os.environ.get(name, "1")) for name in _THREADS)
