"""The pages of the guide work when pasted, from top to bottom, and draw their pictures."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest

from benchmarks.guide import GUIDE, Page
from nodecopy.paper.experiment import load_experiment
from tests.csv_files import read_csv


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and an environment to be given back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return tmp_path


def assert_drawn(page: Page) -> None:
    assert page.pictures
    for name in page.pictures:
        assert Path(name).is_file()
        assert (GUIDE.parent / "images" / name).is_file(), "run python -m benchmarks.guide"


def test_own_tables() -> None:
    page = Page("own-tables")
    page.follow(until="```python\nimport matplotlib")
    assert "29 of 30 are right" in page.printed
    predictions, truth = read_csv("run/predictions.csv"), page.names["side"]
    wrong = [row["id"] for row in predictions if row["predicted"] != truth[int(row["id"])]]
    assert wrong == ["8"]
    confidence = {row["id"]: float(row["confidence"]) for row in predictions}
    assert confidence["8"] == pytest.approx(0.78, abs=0.01)
    assert Path("run/predictions.csv").read_bytes() == Path("run2/predictions.csv").read_bytes()
    page.follow()
    assert Path("run-features/report.html").is_file()
    assert read_csv("new.csv")[-1]["id"] == "34"
    assert_drawn(page)


def test_node_types() -> None:
    page = Page("node-types")
    page.change({r'^    "(edges as one relation|printed together alone)".*\n': ""})
    page.follow()
    accuracy = page.names["accuracy"]
    assert max(accuracy, key=accuracy.get) == "all files"
    assert_drawn(page)


def test_label_from_nothing() -> None:
    page = Page("label-from-nothing")
    page.change({"range(7)": "range(3)"})  # arange, too
    page.follow()
    assert page.names["suggested"][0, 0] > page.names["at_random"][0]
    assert_drawn(page)


def test_the_labelling_page_has_the_keys_that_the_guide_names() -> None:
    from nodecopy.annotate.server import label_page

    rows = re.findall(r"^\| (`.*) \|", (GUIDE / "label-from-nothing.md").read_text(), re.M)
    named = {key for row in rows for key in re.findall(r"`(.)`", row)}
    acts = re.findall(r'^  \["(.)", "', label_page()[0], re.M)
    assert named == {"1", "9", *acts}


def test_wrong_graph() -> None:
    page = Page("wrong-graph")
    page.change({"shares = (0, 0.5, 1)": "shares = (1,)"})
    page.follow()
    assert page.names["hits"][:50].mean() > 0.5
    assert_drawn(page)


def test_own_network(short_training: None) -> None:
    with warnings.catch_warnings(action="ignore"):  # PyTorch Geometric's own, at its import
        import torch_geometric.nn  # noqa: F401
    page = Page("own-network")
    page.change({"n_zeta=4": "n_zeta=1", "n_zeta=2": "n_zeta=1"})
    page.follow()
    assert_drawn(page)


def test_export() -> None:
    page = Page("export")
    page.follow()
    assert page.names["graph"].nodes[8]["predicted"] == "Officer"
    rows = re.findall(r"^\| (`[^|]*`) \|", (GUIDE / "export.md").read_text(), re.M)
    keys = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert keys - {"gexf", "graphml", "neo4j", "parquet", "xlsx"} == {*page.names["summary"]}
    assert_drawn(page)


def test_gallery() -> None:
    """As pasted, but for fewer nodes, and a method of a single part."""
    page = Page("gallery")
    fits = len(re.findall("^nodecopy fit", page.left, re.M))
    page.change({r"^(nodecopy fit)": r"\1 --method label-propagation", r"^```text\n.*\n```": ""})
    page.change({"load_digits()": "load_digits(n_class=3)", "(named, 1500)": "(named, 300)"})
    page.follow()
    assert len(page.pictures) == fits == 5
    for picture in page.pictures:
        name = picture.removeprefix("gallery-").removesuffix(".png")
        assert Path(name, "report.html").is_file()
        assert (GUIDE.parent / "images" / picture).is_file(), "run python -m benchmarks.guide"


def test_reproduce(short_training: None) -> None:
    """As pasted, but for the cheapest method, one trial of a cell, in this process."""
    page = Page("reproduce")
    cheap = "--methods gcn --trials 1 --executor serial"
    page.change({r"^(nodecopy paper reproduce cell.toml)": rf"\1 {cheap}", "range(3)": "range(1)"})
    page.change(
        {"n_zeta=5": "n_zeta=1", "(3, -1)": "(1, -1)", "0.01, 0.1, 0.5, 0.9, 1.0": "0.01, 1"}
    )
    page.follow()
    assert Path("runs-report/report.html").is_file()
    assert_drawn(page)


def test_the_numbers_of_trials_are_right() -> None:
    page = (GUIDE / "reproduce.md").read_text()
    rows = re.findall(r"^\| (`.*`) \|.*\| ([\d,]+)", page, re.M)
    stated = {name: count for names, count in rows for name in re.findall(r"`(\w+)`", names)}
    assert sorted(stated) == ["all", "beyond", "figure1", "table1", "table2", "table3"]
    for name, count in stated.items():
        assert f"{len(load_experiment(name).trials()):,}" == count, name
