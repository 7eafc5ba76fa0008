"""What other labels changed: the figures of the fit before, if they can be read at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nodecopy.run.figures import change_line, read_figures

BEFORE: dict[str, Any] = {
    "known_labels": 9,
    "estimated_accuracy": {"accuracy": 0.8},
    "suspect_labels": {"contradicted": 2},
    "suspect_edges": 4,
}
AFTER = {
    "known_labels": 11,
    "estimated_accuracy": {"accuracy": 0.7},
    "suspect_labels": {"contradicted": 3},
    "suspect_edges": 5,
}


def test_what_more_labels_changed_is_said_in_one_line() -> None:
    assert change_line(BEFORE, BEFORE) == change_line(None, AFTER) == ""
    line = change_line(BEFORE, AFTER)
    for part in ("2 labels more", "80% → 70%", "labels 2 → 3", "edges 4 → 5", "may go down"):
        assert part in line
    fewer = change_line(AFTER, BEFORE | {"estimated_accuracy": None, "suspect_labels": None})
    assert fewer == "since the last fit, with 2 labels fewer: suspect edges 5 → 4"


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "{", "9", "[" * 100_000, "\udcff"),
        json.dumps(BEFORE | {"known_labels": None}),
        json.dumps(BEFORE | {"suspect_edges": "many"}),
        json.dumps(BEFORE | {"estimated_accuracy": 0.8}),
    ],
)
def test_a_summary_of_another_program_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "summary.json").write_bytes(text.encode(errors="surrogateescape"))
    assert change_line(read_figures(tmp_path), AFTER) == ""
