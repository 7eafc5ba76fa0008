"""Fixtures shared by all tests."""

from __future__ import annotations

import pytest
import torch

from nodecopy.data.task import Task
from tests.problems import make_task

# Tiny problems: a second thread costs more than it brings.
torch.set_num_threads(1)


@pytest.fixture
def task() -> Task:
    return make_task()
