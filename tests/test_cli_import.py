"""`nodecopy import`, and commands on the graph that it wrote: the same as on the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.data import planted_partition
from tests.csv_files import write_csv

TABLES = ["--edges=e.csv", "--nodes=f.csv"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Tables of 60 nodes in two classes, and the graph that was imported from them."""
    data = planted_partition(60, 2, seed=0)
    ids = [f"n {k}" for k in range(60)]
    write_csv(tmp_path / "e.csv", "a,b", [(ids[u], ids[v]) for u, v in data.graph.edges()])
    write_csv(tmp_path / "l.csv", "id,label", [(ids[k], f"c{data.labels[k]}") for k in range(9)])
    features = data.features.toarray()
    names = [f"f{d}" for d in range(features.shape[1])]
    write_csv(tmp_path / "f.csv", ["id", *names], [(ids[k], *features[k]) for k in range(60)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    return cli.main(list(words))


IMPORT = ["import", "e.csv", "--edge-columns=a,b", "--nodes=f.csv", "--out=graph"]


def test_commands_on_the_graph_say_the_same_as_on_the_tables(folder, capsys):
    assert run(*IMPORT, "--labels=l.csv") == 0
    *notes, last = capsys.readouterr().out.splitlines()
    assert last.startswith("60 nodes, ")
    assert ", 9 labels: graph (" in last
    assert len(notes) == 1
    assert "edges are listed in one direction" in notes[0]
    tables = ["--edges=e.csv", "--nodes=f.csv", "--edge-columns=a,b"]
    shown = []
    for given in ([*tables, "--labels=l.csv"], ["--graph=graph"]):
        assert run("inspect", *given) == 0
        assert run("fit", *given, "--method=fast", "--out=run") == 0
        model = Path("run").rename(f"run {len(shown)}") / "model"
        given = tables if given != ["--graph=graph"] else given
        assert run("predict", f"--model={model}", *given, "--out=p.csv") == 0
        files = ("predictions.csv", "suspect_edges.csv", "summary.json")
        written = [(model.parent / name).read_bytes() for name in files]
        shown.append((capsys.readouterr().out, written, Path("p.csv").read_bytes()))
    assert shown[0][1:] == shown[1][1:]
    assert shown[0][0] == shown[1][0].replace("run 1", "run 0")


def test_a_graph_without_labels_takes_them_from_a_file(folder, capsys):
    assert run(*IMPORT) == 0
    assert run("fit", "--graph=graph", "--out=run", "--method=fast") == 2
    assert capsys.readouterr().err == (
        "error: graph holds no label; name a file of them: --labels\n"
    )
    fit = ["fit", "--graph=graph", "--labels=l.csv", "--method=fast"]
    assert run(*fit, "--out=run") == 0
    config = Path("run/config.toml").read_text()
    assert 'graph = "../graph"' in config
    assert "edges" not in config.replace("repeated_edges", "")
    assert run("fit", "--config=run/config.toml", "--out=again") == 0
    assert Path("again/predictions.csv").read_bytes() == Path("run/predictions.csv").read_bytes()
    assert "graph, l.csv" in Path("run/report.html").read_text()


def test_no_features_are_known_to_be_none_from_the_graph_as_well(folder, capsys):
    assert run("import", "e.csv", "--edge-columns=a,b", "--labels=l.csv", "--out=graph") == 0
    assert run("fit", "--graph=graph", "--method=fast", "--out=run") == 0
    assert run("predict", "--model=run/model", "--graph=graph", "--out=p.csv") == 0
    assert run("predict", "--model=run/model", *TABLES, "--edge-columns=a,b", "--out=p.csv") == 2
    assert "the model was fitted without features" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["inspect", "--edges=no.csv"], "error: no.csv cannot be read: No such file"),
        (["inspect", "--edges=."], "error: . is a folder"),
        (["inspect", "--labels=l.csv"], "error: edges is missing"),
        (["inspect", "--graph=nowhere"], "error: nowhere holds no graph"),
        (["inspect", "--graph=."], "error: . holds no graph"),
        (["inspect", "--graph=graph", "--edges=e.csv"], "error: edges is for tables"),
        (
            ["fit", "--graph=graph", "--nodes=f.csv", "--out=run"],
            "error: nodes is for tables",
        ),
        (["fit", "--graph=graph", "--label-columns=a,b", "--out=run"], "error: label_columns are"),
        (["predict", "--model=m", "--out=p.csv"], "error: edges is missing"),
        (["import", "e.csv", "--out=l.csv"], "error: l.csv is a file; --out needs the name of"),
        (["import", "e.csv", "--out=."], "error: the folder . holds other files, 'e.csv' for one"),
        (["import", "no.csv", "--out=new"], "error: no.csv cannot be read: No such file"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(folder, words, expected, capsys):
    before = sorted(folder.iterdir())
    assert run(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(expected)
    assert captured.err.count("\n") == 1
    assert sorted(folder.iterdir()) == before
