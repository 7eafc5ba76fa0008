"""Tags by the command line: from a half-filled column of the nodes to files, page and export."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyMultilabelClassifier, cli, planted_partition
from tests.csv_files import read_csv, write_csv

FIT = ["fit", "--edges=links.csv", "--nodes=items.csv", "--predict=kinds", "--method=fast"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, in which tags were predicted."""
    folder, rng = tmp_path_factory.mktemp("tags"), np.random.default_rng(0)
    data = planted_partition(120, 3, seed=2)
    cells = ["", "metal|heavy", "wood"]  # a class without tags
    rows = []
    for node, label in enumerate(data.labels.tolist()):
        size = round(float(label + rng.normal()), 3)
        known = cells[label] or "[]" if node % 2 else ""
        rows.append((f"i{node}", size, known))
    write_csv(folder / "items.csv", "item,size,kinds", rows)
    edges = [(f"i{u}", f"i{v}") for u, v in data.graph.edges().tolist()]
    write_csv(folder / "links.csv", "item,other", edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main([*FIT, "--out=run"]) == 0
    return folder


@pytest.fixture
def here(ran: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ran)
    return ran


def test_the_files(here: Path) -> None:
    rows = read_csv(here / "run" / "predictions.csv")
    assert len(rows) == 120
    assert [key for key in rows[0] if key.startswith("p_")] == ["p_heavy", "p_metal", "p_wood"]
    known = {row["known"] for row in rows}
    assert known == {"", "[]", "heavy|metal", "wood"}
    predicted = {row["predicted"] for row in rows}
    assert {"heavy|metal", "wood"} < predicted
    assert not {"confidence", "set_90", "novelty"} & rows[0].keys()
    suspects = read_csv(here / "run" / "suspect_labels.csv")
    assert all(row["suspect"] in ("given", "missing") for row in suspects)
    summary = json.loads((here / "run" / "summary.json").read_text())
    assert [tag["tag"] for tag in summary["tags"]] == ["heavy", "metal", "wood"]
    micro = summary["estimated_f1"]["micro_f1"]
    assert micro["low"] < micro["value"] < micro["high"]
    columns = {row["column"]: row["became"] for row in read_csv(here / "run" / "columns.csv")}
    assert columns["kinds"] == "tags"


def test_what_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*FIT, "--out=again"]) == 0
    out = capsys.readouterr().out
    assert "micro about" in out
    assert "tags per node" in out
    assert "a class with a single label" not in out


def test_the_model_is_loaded_and_applied(here: Path) -> None:
    clf = NodeCopyMultilabelClassifier.load("run")
    rows = read_csv(here / "run" / "predictions.csv")
    p = np.array([[float(row[f"p_{name}"]) for name in clf.classes_] for row in rows])
    np.testing.assert_allclose(clf.predict_proba(), p, atol=1e-6)
    command = ["predict", "--model=run/model", "--edges=links.csv", "--nodes=items.csv"]
    assert cli.main([*command, "--out=other.csv"]) == 0
    other = read_csv(here / "other.csv")
    assert [row["predicted"] for row in other] == [row["predicted"] for row in rows]


def test_it_is_exported_and_explained(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "run", "--to=graphml", "--out=graph.graphml"]) == 0
    assert "heavy|metal" in (here / "graph.graphml").read_text()
    capsys.readouterr()
    assert cli.main(["explain", "run", "i3"]) == 0
    assert "next not" in capsys.readouterr().out


def test_next_labels_are_filled_in_and_read(here: Path) -> None:
    rows = read_csv(here / "run" / "next_labels.csv")
    items = read_csv(here / "items.csv")
    known = [(row["item"], row["kinds"]) for row in items if row["kinds"]]
    write_csv(here / "labels.csv", "id,label", known)
    filled = [(row | {"label": "wood|metal"}).values() for row in rows]
    write_csv(here / "filled.csv", list(rows[0]), map(list, filled))
    files = ["--edges=links.csv", "--nodes=items.csv", "--labels=labels.csv"]
    options = ["--labels=filled.csv", "--method=fast", "--out=more"]
    types = "--column-types=kinds=skip"
    assert cli.main(["fit", *files, *options, types]) == 0
    after = {row["id"]: row["known"] for row in read_csv(here / "more" / "predictions.csv")}
    assert all(after[row["id"]] == "metal|wood" for row in rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--class-prior=labels"], "tags"),
        (["--classes=metal,wood"], "tags"),
        (["--target=words"], "target"),
    ],
)
def test_what_does_not_apply_is_one_line(
    here: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*FIT, "--out=wrong", *options]) == 2
    assert words in capsys.readouterr().err
    assert not (here / "wrong").exists()


def test_each_combination_may_be_a_class(here: Path) -> None:
    assert cli.main([*FIT, "--target=class", "--out=classes"]) == 0
    assert "p_metal|heavy" in read_csv(here / "classes" / "predictions.csv")[0]
