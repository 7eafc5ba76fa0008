"""Parts to compute, in a module of their own so that workers can import them, and quickly."""

from __future__ import annotations

import os
import signal
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from numpy.typing import NDArray

from nodecopy.errors import TrainingError
from nodecopy.executors.origin import UnseenError


@dataclass(frozen=True)
class Counted:
    """A number that leaves a file wherever it arrives."""

    number: int
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.number, self.folder)


def _arrived(number: int, folder: Path) -> Counted:
    (folder / f"arrived-{os.getpid()}-{uuid4().hex}").touch()
    return Counted(number, folder)


def power(base: int, exponent: Counted, other: Counted | None = None) -> int:
    time.sleep(0.02 * (5 - base))  # the first ones end last
    return int(base**exponent.number)


def raises(base: int, exponent: Counted) -> int:
    if base == 2:
        raise TrainingError("on purpose")
    return base


def warns(base: int, exponent: Counted) -> int:
    warnings.warn(f"part {base}", UserWarning, stacklevel=1)
    return base


def dies_once(base: int, exponent: Counted) -> int:
    """Let the worker die that computes part 2 first."""
    if base == 2:
        die_once(exponent.folder / "died")
    return power(base, exponent)


def kills_all(base: int, exponent: Counted, workers: dict[str, int]) -> int:
    """Let all workers die once, and with them whatever was sent to them."""
    marker = exponent.folder / "died"
    if base == 2 and not marker.exists():
        marker.touch()
        for pid in {*workers.values()} - {os.getpid()}:
            os.kill(pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return power(base, exponent)


def dies(base: int, exponent: Counted) -> int:
    """Let every worker die that computes part 2."""
    if base == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return base


def die_once(marker: Path) -> None:
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Vanishing:
    """The origin of an array that is seen once in each process, and then no more."""

    folder: Path

    def seen(self) -> bool:
        (self.folder / f"seen-{os.getpid()}").touch()
        return True

    def array(self) -> NDArray[Any]:
        raise UnseenError("it has vanished")


def sum_of(base: int, array: NDArray[Any]) -> int:
    return base + int(array.sum())
