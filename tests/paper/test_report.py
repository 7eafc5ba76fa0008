"""The report: complete, escaped, self-contained, the same every time; and its figures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from nodecopy.core.errors import InputError
from nodecopy.paper.figures import figure_1
from nodecopy.paper.report import write_report
from nodecopy.paper.study import Study
from nodecopy.paper.trial import Row
from tests.paper.conftest import study_rows
from tests.paper.fabricated import make_cell

FIGURES = {"figure1-fixed.svg", "figure1-random.svg", "overview.svg"}


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
