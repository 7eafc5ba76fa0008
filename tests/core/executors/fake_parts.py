"""Functions to map, in a separate module so that workers can import them, and quickly."""

from __future__ import annotations

import os
import signal
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from nodecopy.core.errors import TrainingError


@dataclass(frozen=True)
class Counted:
    """A number that leaves a file wherever it is unpickled."""

    number: int
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.number, self.folder)


def _unpickled(number: int, folder: Path) -> Counted:
    (folder / f"unpickled-{os.getpid()}-{uuid4().hex}").touch()
    return Counted(number, folder)


def power(base: int, exponent: Counted, other: Counted | None = None) -> int:
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
    marker = exponent.folder / "died"
    if base == 2 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return power(base, exponent)


def dies(base: int, exponent: Counted) -> int:
    """Let every worker die."""
    os.kill(os.getpid(), signal.SIGKILL)
    return base


def kills_all(base: int, exponent: Counted, workers: dict[str, int]) -> int:
    """Let all workers die once, and with them whatever was sent to them."""
    marker = exponent.folder / "died"
    if base == 2 and not marker.exists():
        marker.touch()
        for pid in {*workers.values()} - {os.getpid()}:
            os.kill(pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return power(base, exponent)
