"""The labelling loop, simulated: rows are kept, and the page shows what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import labelling_loop as loop
from benchmarks.paper_tables import replace_block
from nodecopy.data import planted_partition

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "guide" / "label.md").read_text()
    assert page == replace_block(page, loop.tables(loop.read_rows(ROOT / loop.ROWS)))


def test_an_annotator_is_simulated_and_no_row_is_computed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = planted_partition(150, 3, seed=0).dataset
    monkeypatch.setattr(loop, "load_dataset", lambda name: data)
    monkeypatch.setattr(loop, "TEST", 50)
    monkeypatch.setattr(loop, "END", 6)
    path = tmp_path / "rows.jsonl"
    arguments = ["--datasets", "cora", "--repeats", "1", "--rows", str(path)]
    loop.main(arguments)
    rows = loop.read_rows(path)
    assert [key[1] for key in rows] == list(loop.RULES)
    assert all(row["labels"] == [6, 9, 12, 15, 18] for row in rows.values())
    first = {row["accuracy"][0] for row in rows.values()}
    assert len(first) == 1  # all rules begin with the same labels
    text = path.read_text()
    loop.main(arguments)
    assert path.read_text() == text


def test_forecasts_are_compared_with_what_came() -> None:
    labels, accuracy = list(range(6, 33, 3)), np.linspace(0.5, 0.82, 9).round(4).tolist()
    row = {"labels": labels, "accuracy": accuracy, "estimate": accuracy}
    found = list(loop.forecasts(row))
    assert len(found) == len(labels) - 2 - loop.AHEAD
    assert all(gain == pytest.approx(0.08, abs=1e-3) for _, gain in found)
    assert all(told.more == 6 and told.gain > 0 for told, _ in found)
    table = loop.tables({("cora", "nodecopy", 0): row})
    assert "| Cora | 5 |" in table
