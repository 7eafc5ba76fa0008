"""`nodecopy predict RUN`: tables of new nodes alone, joined to the graph of a fit by their ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, cli
from tests.csv_files import read_csv, write_csv

FIT = ["fit", "--edges=edges.csv", "--labels=labels.csv", "--method=fast"]
PREDICT = ["predict", "run", "--edges=new_edges.csv", "--out=new.csv"]
NEW = [["new", "0.5", "-1"], ["newer", "2", "1"], ["alone", "2", "1"]]
LINKS = [["new", "7"], ["new", "a b"], ["newer", "new"]]


@pytest.fixture(scope="module")
def fitted(own_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and two fits to them: with columns in run, without in bare."""
    folder = tmp_path_factory.mktemp("new")
    for name in ("edges", "labels", "features"):
        text = (own_folder / f"{name}.csv").read_text(encoding="utf-8")
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main([*FIT, "--nodes=features.csv", "--out=run"]) == 0
        assert cli.main([*FIT, "--out=bare"]) == 0
    return folder


@pytest.fixture(autouse=True)
def here(fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the tables, with those of new nodes."""
    monkeypatch.chdir(fitted)
    write_csv(fitted / "new_nodes.csv", "id,first,second", NEW)
    write_csv(fitted / "new_edges.csv", "source,target", LINKS)


def grown_tables(folder: Path) -> None:
    """Write tables of the whole grown graph."""
    for name, new in (("edges", "new_edges"), ("features", "new_nodes")):
        _, *rows = Path(f"{new}.csv").read_text().splitlines()
        text = Path(f"{name}.csv").read_text(encoding="utf-8")
        Path(f"all_{name}.csv").write_text(text + "\n".join(rows) + "\n", encoding="utf-8")


def test_predictions_are_those_of_the_whole_grown_graph(fitted, capsys):
    assert cli.main([*PREDICT, "--nodes=new_nodes.csv"]) == 0
    assert "3 new nodes: new.csv" in capsys.readouterr().out
    grown_tables(fitted)
    tables = ["--edges=all_edges.csv", "--nodes=all_features.csv"]
    assert cli.main(["predict", "--model=run", *tables, "--out=all.csv"]) == 0
    rows = {row["id"]: row for row in read_csv("new.csv")}
    assert list(rows) == ["alone", "new", "newer"]
    whole = {row["id"]: row for row in read_csv("all.csv")}
    assert [id for id, row in whole.items() if row["new"] == "true"] == ["alone", "new", "newer"]
    for id, row in rows.items():
        assert (row["new"], row["set_90"]) == ("true", whole[id]["set_90"])
        assert 0 <= float(row["novelty"]) <= 1
        assert float(row["p_blue"]) == pytest.approx(float(whole[id]["p_blue"]), abs=2e-6)


def test_tables_of_other_nodes_alone_are_a_graph_of_its_own(capsys):
    tables = ["--edges=new_edges.csv", "--nodes=new_nodes.csv"]
    write_csv(Path("new_edges.csv"), "source,target", [["new", "newer"]])
    assert cli.main(["predict", "--model=run", *tables, "--out=other.csv"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "none of these nodes is in the fit" in printed
    assert "Estimated accuracy" in printed
    rows = read_csv("other.csv")
    assert len(rows) == 3
    assert all(row["predicted"] in row["set_90"] for row in rows)


def test_new_nodes_without_edges_need_no_file_of_edges(capsys):
    arguments = ["predict", "run", "--nodes=new_nodes.csv", "--out=alone.csv"]
    assert cli.main(arguments) == 0
    assert "3 new nodes: alone.csv" in capsys.readouterr().out
    write_csv(Path("new_edges.csv"), "source,target", [["7", "a b"]])  # nothing of the new ones
    assert cli.main([*PREDICT, "--nodes=new_nodes.csv"]) == 0
    alone, linked = ([row["p_blue"] for row in read_csv(f)] for f in ("alone.csv", "new.csv"))
    assert alone == linked
    assert cli.main(["predict", "run", "--out=alone.csv"]) == 2
    assert "--edges FILE" in capsys.readouterr().err


def test_the_predicted_column_is_called_so(fitted, capsys):
    labels = {row["id"]: row["label"] for row in read_csv("labels.csv")}
    rows = [[*row.values(), labels.get(row["id"], "")] for row in read_csv("features.csv")]
    write_csv(fitted / "filled.csv", "id,first,second,colour", rows)
    fit = ["fit", "--edges=edges.csv", "--nodes=filled.csv", "--predict=colour", "--method=fast"]
    assert cli.main([*fit, "--out=filled"]) == 0
    write_csv(fitted / "more.csv", "id,first,second,colour,age", [[*NEW[0], "blue", "7"]])
    capsys.readouterr()
    assert cli.main(["predict", "filled", "--nodes=more.csv", "--out=new.csv"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "'colour' left out: the model predicts it" in printed
    assert "'age' left out: the model has not seen it" in printed


def test_without_columns_new_nodes_are_those_that_edges_name():
    assert cli.main(["predict", "bare", "--edges=new_edges.csv", "--out=new.csv"]) == 0
    assert [row["id"] for row in read_csv("new.csv")] == ["new", "newer"]
    loaded = NodeCopyClassifier.load("bare").predict_new(edges=LINKS)
    shown = [float(row["p_blue"]) for row in read_csv("new.csv")]
    np.testing.assert_allclose(shown, loaded["p_blue"].loc[["new", "newer"]], atol=2e-6)


def test_rows_of_nodes_of_the_fit_are_counted_and_not_read(fitted, capsys):
    write_csv(fitted / "mixed.csv", "id,first,second", [*NEW, ["7", "900", "900"], ["b1", "1", ""]])
    assert cli.main([*PREDICT, "--nodes=mixed.csv", "--coverage=0.5"]) == 0
    assert "2 rows of nodes of the fit" in capsys.readouterr().out
    mixed = read_csv("new.csv")
    assert cli.main([*PREDICT, "--nodes=new_nodes.csv", "--coverage=0.5"]) == 0
    assert mixed == read_csv("new.csv")
    assert "set_50" in mixed[0]


def test_columns_are_matched_by_name(fitted, capsys):
    rows = [[id, second, "blue", first] for id, first, second in NEW]
    write_csv(fitted / "wide.csv", "id,second,third,first", rows)
    assert cli.main([*PREDICT, "--nodes=wide.csv"]) == 0
    assert "'third'" in capsys.readouterr().out
    wide = read_csv("new.csv")
    assert cli.main([*PREDICT, "--nodes=new_nodes.csv"]) == 0
    assert wide == read_csv("new.csv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*PREDICT, "--nodes=new_nodes.csv", "--model=run"], "got both"),
        (["predict", "--edges=new_edges.csv", "--out=new.csv"], "got none"),
        (PREDICT, "add --nodes"),
        (["predict", "bare", *PREDICT[2:], "--nodes=new_nodes.csv"], "leave out --nodes"),
        ([*PREDICT, "--nodes=few.csv"], "missing: 'second'"),
        ([*PREDICT[:2], "--edges=apart.csv", "--nodes=new_nodes.csv", "--out=new.csv"], "'p', 'q'"),
        (["predict", "bare", "--edges=apart.csv", "--out=new.csv"], "['p', 'q']"),
        (["predict", "bare", "--edges=edges.csv", "--out=new.csv"], "none of 20 nodes is new"),
        (["predict", "run", "--nodes=features.csv", "--out=new.csv"], "none of the nodes is new"),
        (["predict", "lean", "--edges=new_edges.csv", "--out=new.csv"], "graph.safetensors"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(fitted, capsys, arguments, words):
    write_csv(fitted / "few.csv", "id,first", [row[:2] for row in NEW])
    write_csv(fitted / "apart.csv", "source,target", [["new", "7"], ["p", "q"]])
    lean = fitted / "lean" / "model"
    lean.mkdir(parents=True, exist_ok=True)
    for name in ("model.safetensors", "tables.safetensors"):
        (lean / name).write_bytes((fitted / "bare" / "model" / name).read_bytes())
    assert cli.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
