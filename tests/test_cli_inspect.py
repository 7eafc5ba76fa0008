"""`nodecopy inspect`: what it shows of tables, and one line where they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodecopy import cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Two squares of unlike labels joined by an edge, and a pair apart."""
    squares = "a1,a2\na2,a3\na3,a4\na4,a1\nb1,b2\nb2,b3\nb3,b4\nb4,b1\na1,b1\nx,y\nx,x\n"
    labels = "id,label\na1,[red]\na2,[red]\na3,[red]\nb1,b\x1b[31m\nb2,b\x1b[31m\n"
    rows = [f"{n}{k},{ord(n)},{k}" for n in "ab" for k in range(1, 5)]
    features = "\n".join(["id,letter,number", *rows, "x,1,0", "y,2,0", "alone,3,0"])
    for name, content in {"e.csv": squares, "l.csv": labels, "f.csv": features}.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_is_shown(folder, capsys):
    assert cli.main(["inspect", "--edges=e.csv", "--labels=l.csv", "--nodes=f.csv"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    for line in (
        "nodes       11 (ids are strings)",
        "edges       10",
        "components  3, the largest of 8 nodes (73%)",
        "degrees     median 2, mean 1.8, largest 3",
        "features    2 per node, dense",
        "labels      5 of 11 nodes (45.5%)",
        "classes     [red]: 3 labels",
        r"            'b\x1b[31m': 2 labels",
        "note: e.csv: dropped 1 self-loop",
        "note: f.csv: 1 id in no edge, kept as isolated nodes: 'alone'",
        "warning: 2 of 11 nodes are in components without a label",
    ):
        assert line in lines


def test_edges_alone_are_enough(folder, capsys):
    assert cli.main(["inspect", "--edges", "e.csv"]) == 0
    out = capsys.readouterr().out
    assert "labels      0 of 10 nodes (0.0%)" in out
    assert "note: no features given: a node is described by" in out
    assert "warning: no node has a label" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["inspect", "--edges=no.csv"], "error: no.csv cannot be read: No such file"),
        (["inspect", "--edges=."], "error: . is a folder"),
        (["inspect", "--labels=l.csv"], "error: --edges is missing"),
        (["predict", "--model=m", "--out=p.csv"], "error: --edges is missing"),
        (["inspect", "--edges=e.csv", "--edge-columns=a"], "error: --edge-columns must be"),
        (["fit", "cora", "--folds=1"], "error: --folds must be"),
        (["fit", "cora", "--executor=here"], "error: --executor must be"),
        (["predict", "--model=m", "--edges=e.csv", "--out=p.csv", "--coverage=2"], "error: --cov"),
        (["fit", "cora", "--split=odd"], "error: unknown --split 'odd'"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(folder, words, expected, capsys):
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith(expected)


def test_columns_are_named_once_and_their_types_as_often_as_one_likes(tmp_path, capsys):
    (tmp_path / "edges.csv").write_text("a,b\nb,c\n")
    (tmp_path / "labels.csv").write_text("id,label,other\na,x,y\nb,y,x\n")
    command = ["inspect", f"--edges={tmp_path}/edges.csv", f"--labels={tmp_path}/labels.csv"]
    assert cli.main([*command, "--label-columns=id,label", "--label-columns=id,other"]) == 2
    assert "--label-columns is given 2 times" in capsys.readouterr().err
    nodes = [
        f"--nodes={tmp_path}/labels.csv",
        "--column-types=label=skip",
        "--column-types=other=category",
    ]
    assert cli.main([*command, "--label-columns=id,label", *nodes]) == 0
    assert "category" in capsys.readouterr().out
