"""A report of made-up rows, written once for all tests that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodecopy.paper.report import write_report
from tests.paper.fabricated import make_cell, small_study

HOSTILE = '<script>alert("x")</script> & $c$'


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report; a dataset and a method in it have names that try to break out."""
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    rows = small_study() + make_cell(HOSTILE, "random", 5, HOSTILE, [70.0, 71.0])
    return write_report(rows, tmp_path_factory.mktemp("report") / "deep" / "er").parent
