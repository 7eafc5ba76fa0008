"""Fixtures shared by all tests."""

from __future__ import annotations

import pytest

from nodecopy.data.task import Task
from tests.problems import make_task


@pytest.fixture
def task() -> Task:
    return make_task()
