"""A report of made-up rows, written once for all tests that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodecopy.paper.store import Row
from nodecopy.paper.tables import write_report
from tests.paper.fabricated import make_cell, small_study

HOSTILE = '<script>alert("x")</script> & $c$'


def study_rows() -> list[Row]:
    """Return rows in which a dataset and a method have names that try to break out."""
    return small_study() + make_cell(HOSTILE, "random", 5, HOSTILE, [70.0, 71.0])


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report."""
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    return write_report(study_rows(), tmp_path_factory.mktemp("report") / "deep" / "er").parent
