"""The tables, and the page that shows them with the figures."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from nodecopy.core.errors import InputError
from nodecopy.paper.figures import figure_1
from nodecopy.paper.store import CellKey, Row
from nodecopy.paper.study import Study, compare_with_paper
from nodecopy.paper.tables import (
    DatasetTable,
    TextCell,
    accuracy_cells,
    dataset_tables,
    latex_rows,
    score_cells,
    write_report,
)
from tests.paper.conftest import study_rows
from tests.paper.fabricated import make_cell, small_study


def tables_of(rows: list[Row]) -> list[DatasetTable]:
    study = Study(rows)
    return dataset_tables(accuracy_cells(study, compare_with_paper(study)))


def find(table: DatasetTable, block: str, row: str, column: str) -> TextCell:
    return dict(table.blocks[block])[row][table.columns.index(column)]


def test_cells() -> None:
    cora, citeseer, pubmed = tables_of(small_study())
    lower = TextCell("72.1 ± 1.3", ("paper 75.1 ± 1.3", "n 20"), "▼ −3.0", "lower")
    assert find(cora, "Fixed split", "BGCN (node copying)", "5 labels") == lower
    agrees = TextCell("70.0 ± 3.7", ("paper 70.0 ± 3.7", "n 10"), "✓ 0.0", "agrees")
    assert find(cora, "Random split", "GCNN", "5 labels") == agrees
    untested = TextCell("77.0", ("paper 76.9 ± 0.5", "n 1"), "? +0.1", "untested")
    assert find(pubmed, "Fixed split", "GAT", "20 labels") == untested
    absent = TextCell("not run", ("paper 67.6 ± 2.3",), "", "absent")
    assert find(citeseer, "Random split", "GAT", "20 labels") == absent
    further = TextCell("70.0 ± 0.0", ("n 20",))
    assert find(cora, "Fixed split", "Label propagation", "5 labels") == further


def test_a_dataset_and_a_label_count_that_the_paper_does_not_have() -> None:
    rows = make_cell("karate", "random", 3, "gcn", [50.0, 60.0])
    tables = tables_of(rows + make_cell("cora", "fixed", 40, "gcn", [84.0, 85.0]))
    assert tables[0].columns == ("5 labels", "10 labels", "20 labels", "40 labels")
    assert find(tables[0], "Fixed split", "GCNN", "40 labels").text == "84.5 ± 0.7"
    assert (tables[3].dataset, tables[3].columns) == ("karate", ("3 labels",))
    assert list(tables[3].blocks) == ["Random split"]


def test_scores_are_means_and_leave_out_what_is_no_number() -> None:
    rows = make_cell("cora", "fixed", 5, "gcn", [70.0, 71.0, 100.0])
    numbers = [(1.0, 0.7, 1.0, 300.0), (2.0, 0.8, 4.0, 1500.0), (3.0, math.nan, 5.5, 400.0)]
    names = ("nll", "error_auroc", "cpu_seconds", "peak_megabytes")
    study = Study(
        Row(row.trial, replace(row.result, **dict(zip(names, some, strict=True)), brier=0.5))
        for row, some in zip(rows, numbers, strict=True)
    )
    cell = score_cells(study)[CellKey("cora", "fixed", "gcn", 5)]
    assert cell.text == "NLL 2.000"
    assert cell.notes[1:] == ("Brier 0.500", "error AUROC 0.750", "3.5 s, 1,500 MB")


def test_latex_rows_are_means_and_standard_errors() -> None:
    rows = make_cell("cora", "random", 5, "gcn", [68.0, 70.0, 72.0, 74.0])
    rows += make_cell("cora", "random", 20, "copying n_zeta=2", [81.0])
    assert latex_rows(Study(rows)).splitlines() == [
        "% Cora, random split: 5 labels, 20 labels",
        r"GCNN & $71.0 \pm 1.3$ & -- \\",
        r"BGCN (node copying), n\_zeta=2 & -- & $81.0$ \\",
    ]


FIGURES = {"figure1-fixed.svg", "figure1-random.svg"}


def strings(svg: bytes) -> set[str]:
    root = ET.fromstring(svg)
    return {
        text for node in root.iter("{http://www.w3.org/2000/svg}text") for text in node.itertext()
    }


def test_the_page_holds_every_section_table_and_figure(report: Path) -> None:
    assert {path.name for path in report.iterdir()} == {"report.html", *FIGURES}
    page = (report / "report.html").read_text(encoding="utf-8")
    assert page.count("<section>") == 5
    assert page.count("<table>") == 4 + 4  # accuracy and scores of three datasets and another
    assert page.count("data:image/svg+xml") == len(FIGURES)
    for text in ("Table 1. Cora", "▲ +3.0", "▼ −3.0", "paper 76.9 ± 0.5", "? +0.1", "2.13.0"):
        assert text in page
    assert "cells: 8 without a significant difference, 1 higher, 1 lower" in page


def test_all_text_is_escaped_and_nothing_else_is_needed(report: Path) -> None:
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; $c$" in page
    assert "<script" not in page
    assert "http" not in re.sub(r"base64,[^\"]*", "", page).replace("http-equiv", "")


def test_the_same_rows_in_another_order_give_the_same_bytes(report: Path, tmp_path: Path) -> None:
    write_report(reversed(study_rows()), tmp_path)
    for file in report.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_incomplete_rows_are_reported_and_none_are_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trials to report"):
        write_report([], tmp_path / "none")
    assert not (tmp_path / "none").exists()
    for name, method in (("base", "gcn"), ("one", "copying"), ("new", "best")):
        rows = make_cell("pubmed", "fixed", 10, method, [70.0])
        page = write_report(rows, tmp_path / name).read_text(encoding="utf-8")
        assert "not run" in page


def test_a_degree_group_may_be_empty_in_every_trial() -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    rows = [
        Row(row.trial, replace(row.result, outcomes={"low": row.result.outcomes["low"]}))
        for row in make_cell("cora", "random", 5, "copying", [70.0, 75.0], outcomes=True)
    ]
    figure = figure_1(Study(rows), "random")
    assert figure is not None
    assert "above the median" not in strings(figure.svg)
    assert figure_1(Study(rows), "fixed") is None
