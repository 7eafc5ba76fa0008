"""One thread per trial: results then do not depend on the machine, nor trials on each other.

The libraries below torch read these variables when they are first imported, so a program that runs
trials sets them before that. Torch itself is told inside `run_trial`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


def use_one_thread() -> None:
    """Let this process and its children compute on one thread, where nothing is loaded yet."""
    os.environ.update(ONE_THREAD)


def prefer_one_thread() -> None:
    """Let this process compute on one thread, unless the user said how many: OMP_NUM_THREADS."""
    if "OMP_NUM_THREADS" not in os.environ:  # OpenBLAS and MKL go by it, too
        for name, value in ONE_THREAD.items():
            os.environ.setdefault(name, value)


@contextmanager
def children_use_one_thread() -> Iterator[None]:
    """Start processes that compute on one thread; leave this one as it was."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    use_one_thread()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
