"""The tables of docs/weights.md are those of the committed rows."""

from __future__ import annotations

from pathlib import Path

from benchmarks.weights import read_rows, split_page, tables

ROOT = Path(__file__).parents[2]


def test_the_tables_are_those_of_the_rows() -> None:
    rows = read_rows(ROOT / "results" / "weights.jsonl")
    page = (ROOT / "docs" / "weights.md").read_text()
    assert len(rows) > 0
    assert split_page(page)[1] == tables(rows)
