"""Cells that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest

from nodecopy.report.labelled.table_files import Target, write_table


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "-"],
)
def test_what_looks_like_a_formula_gets_a_quote_in_front(cell):
    assert rows(cell, "quote") == [["a"], [f"'{cell}"]]
    assert rows(cell, "keep") == [["a"], [cell]]


@pytest.mark.parametrize("cell", ["", "a=1", "-7", "+1.5", "-1e9", "'=1", "1-1", "<b>", "-inf"])
def test_anything_else_stays_as_it_is(cell):
    assert rows(cell, "quote") == rows(cell, "keep")


def test_numbers_and_names_of_columns_are_looked_at_too():
    table = {"=x": np.array([-1, 2]), "y": np.array([-0.5, 1.0])}
    assert text(table, "quote") == "'=x,y\n-1,-0.500000\n2,1.000000\n"


@pytest.mark.parametrize(
    "cell", ['say "hi"', "a,b", "a\nb", "a\rb", "a\r\nb", "\r", '"', " x ", "'"]
)
def test_any_text_comes_back_from_a_file(cell):
    assert rows(cell, "keep") == [["a"], [cell]]


def rows(cell: str, formulas: str) -> list[list[str]]:
    table = {"a": np.array([cell, "end"], object)}
    found = list(csv.reader(io.StringIO(text(table, formulas), newline="")))
    return found[:-1]


def text(table: dict[str, np.ndarray], formulas: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.csv")
        write_table([table], Target.at(file), formulas=formulas)
        return file.read_bytes().decode()
