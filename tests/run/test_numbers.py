"""Numbers from files to page: a half-filled column, what is detected, and all other commands."""

from __future__ import annotations

import csv
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from nodecopy import cli
from nodecopy.core.errors import DatasetError, SpecError
from nodecopy.read.tables import read_tables
from nodecopy.result import NumberResult, Result
from nodecopy.run import FitSettings, label_tables
from tests.csv_files import write_csv
from tests.estimator.test_regressor import GRAPH, KNOWN, X, Y


def write_tables(folder: Path, numbers: list[object], name: str = "size") -> tuple[str, str]:
    ends = np.transpose(GRAPH.nonzero())
    pairs = [(f"n{u}", f"n{v}") for u, v in ends.tolist() if u < v]
    write_csv(folder / "edges.csv", ["a", "b"], pairs)
    rows = [(f"n{i}", x[0], x[1], y) for i, (x, y) in enumerate(zip(X, numbers, strict=True))]
    write_csv(folder / "nodes.csv", ["id", "x", "other", name], rows)
    return str(folder / "edges.csv"), str(folder / "nodes.csv")


HALF = [round(float(y), 3) if known else "" for y, known in zip(Y, KNOWN, strict=True)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    edges, nodes = write_tables(folder, HALF)
    command = ["fit", "--edges", edges, "--nodes", nodes, "--predict", "size"]
    with redirect_stdout(StringIO()) as printed:
        assert cli.main([*command, "--out", str(folder / "run")]) == 0
    assert "'size' taken as numbers, known for 80 of 160 rows" in printed.getvalue()
    assert "of the variance is predicted" in printed.getvalue()
    assert "classes" not in printed.getvalue()
    return folder / "run"


def test_files_have_numbers_and_intervals(run):
    with (run / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "known", "predicted", "low_90", "high_90"]
    known = {f"n{i}": y for i, y in enumerate(HALF)}
    for row in rows:
        assert (float(row["known"]) if row["known"] else "") == known[row["id"]]
        assert float(row["low_90"]) < float(row["predicted"]) < float(row["high_90"])
    summary = json.loads((run / "summary.json").read_text())
    assert summary["target"] == "number"
    assert summary["held_out_labels"] == 80
    assert summary["intervals"]["coverage"] == 0.9
    assert "classes" not in summary


def test_the_page_has_what_applies_and_nothing_else(run):
    page = (run / "report.html").read_text()
    assert 'id="scatter-chart"' in page
    for absent in ('id="confusion"', 'id="sets"', 'id="reliability-chart"'):
        assert absent not in page
    assert isinstance(Result.load(run), NumberResult)


def test_every_other_command_knows_numbers(run, tmp_path, capsys):
    assert cli.main(["explain", str(run), "n100"]) == 0
    assert "mean of the labels" in capsys.readouterr().out
    assert cli.main(["export", str(run), "--to", "gexf", "--out", str(tmp_path / "g.gexf")]) == 0
    write_csv(tmp_path / "edges.csv", ["a", "b"], [("new", "n1"), ("new", "n2")])
    write_csv(tmp_path / "nodes.csv", ["id", "x", "other"], [("new", 0.5, 0.1)])
    files = ["--edges", str(tmp_path / "edges.csv"), "--nodes", str(tmp_path / "nodes.csv")]
    out = tmp_path / "new.csv"
    assert cli.main(["predict", str(run), *files, "--out", str(out)]) == 0
    with out.open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["low_90"]) < float(row["predicted"]) < float(row["high_90"])


@pytest.mark.parametrize(
    ("numbers", "target"),
    [
        ([1, 2, 3] * 53 + [1], "class"),
        ([0.5, 2, 3] * 53 + [1], "number"),
        (list(range(160)), "number"),
        ([i % 50 for i in range(160)], "class"),
        ([i % 60 for i in range(160)], "class"),
        (["a", "b"] * 80, "class"),
    ],
)
def test_numbers_are_told_from_classes(numbers, target, tmp_path):
    edges, nodes = write_tables(tmp_path, numbers)
    assert read_tables(edges, nodes=nodes, predict="size").target == target
    labels = tmp_path / "labels.csv"
    write_csv(labels, ["id", "label"], [(f"n{i}", y) for i, y in enumerate(numbers)])
    assert read_tables(edges, labels).target == target
    if target == "class" and not isinstance(numbers[0], str):
        forced = read_tables(edges, labels, target="number")
        assert forced.target == "number"
        assert forced.classes.tolist() == sorted(set(map(float, numbers)))


def test_minus_one_is_a_number_among_negative_ones(tmp_path):
    numbers: list[object] = [-1, -2.5, 0.5, ""] * 40
    edges, nodes = write_tables(tmp_path, numbers)
    table = read_tables(edges, nodes=nodes, predict="size")
    assert table.classes.tolist() == [-2.5, -1, 0.5]
    edges, nodes = write_tables(tmp_path, [-1, 2.5, 0.5, ""] * 40)
    table = read_tables(edges, nodes=nodes, predict="size")
    assert table.classes.tolist() == [0.5, 2.5]
    assert any("-1 counts as empty" in note for note in table.notes)


def test_settings_of_classes_are_refused_in_a_line(tmp_path):
    edges, nodes = write_tables(tmp_path, HALF)
    with pytest.raises(SpecError, match="class_prior"):
        label_tables(FitSettings(edges, nodes=nodes, predict="size", class_prior="uniform"))
    edges, nodes = write_tables(tmp_path, ["a", "b"] * 80)
    with pytest.raises(DatasetError, match="'a'"):
        read_tables(edges, nodes=nodes, predict="size", target="number")
