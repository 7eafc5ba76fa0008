"""What other labels changed: figures of the fit before, if they can be read at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from nodecopy.report.labelled.change import Figures, change_line, read_figures

SUMMARY: dict[str, Any] = {
    "known_labels": 9,
    "estimated_accuracy": {"accuracy": 0.8},
    "suspect_labels": {"contradicted": 2},
    "suspect_edges": 4,
}


def test_figures_are_those_of_the_summary(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    assert read_figures(tmp_path) == Figures(9, 0.8, 2, 4)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "{", "9", "[" * 100_000, "\udcff"),
        json.dumps(SUMMARY | {"known_labels": None}),
        json.dumps(SUMMARY | {"suspect_edges": "many"}),
        json.dumps(SUMMARY | {"estimated_accuracy": 0.8}),
        json.dumps(SUMMARY | {"suspect_edges": float("inf")}),
    ],
)
def test_a_summary_of_others_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "summary.json").write_bytes(text.encode(errors="surrogateescape"))
    assert read_figures(tmp_path) is None


def test_no_pipe_is_waited_for(tmp_path: Path) -> None:
    assert read_figures(tmp_path) is None
    os.mkfifo(tmp_path / "summary.json")
    assert read_figures(tmp_path) is None


def test_as_many_labels_as_before_change_nothing_that_is_said() -> None:
    before, after = Figures(9, 0.8, 2, 4), Figures(11, 0.7, 3, 5)
    assert change_line(before, before) == change_line(None, after) == ""
    assert change_line(before, after).startswith(
        "since the last fit, with 2 labels more: estimated accuracy 80% → 70%, contradicted labels "
        "2 → 3, suspect edges 4 → 5. The estimate now counts"
    )
