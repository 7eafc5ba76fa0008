"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

# Before NumPy is imported. Tiny problems: a second thread costs more than it brings. And workers
# have one thread each: results are the same to the last bit on as many threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from nodecopy.core import progress
from nodecopy.problem.task import Task
from nodecopy.weights.descent import TrainConfig
from tests.problems import make_task

# How busy the machine is must not decide whether a property holds: no deadline, the same examples
# in every run. `python -m benchmarks.fuzz` searches further.
settings.register_profile(
    "nodecopy",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("nodecopy")

# A shell's background job ignores Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def no_lines_for_a_busy_machine() -> Iterator[None]:
    """Let no command write a line of progress because the machine is slow: tests read stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_PAUSE", 3600.0)
        yield


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let networks train for ten epochs unless a test sets another number."""
    _, *others = TrainConfig.__init__.__defaults__ or ()
    monkeypatch.setattr(TrainConfig.__init__, "__defaults__", (10, *others))


@pytest.fixture
def task() -> Task:
    return make_task()
