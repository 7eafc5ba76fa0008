"""`nodecopy fit`, `predict` and `evaluate` on one's own tables: the files they write and refuse."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, cli
from nodecopy.data import read_tables
from nodecopy.report.labelled import folder as folder_module
from nodecopy.weights.descent import TrainConfig

FILES = {
    "config.toml",
    "model",
    "next_labels.csv",
    "predictions.csv",
    "predictions.parquet",
    "report.html",
    "summary.json",
    "suspect_edges.csv",
    "suspect_labels.csv",
}
QUICK = ["--n-zeta=2"]


@pytest.fixture
def here(own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files in it."""
    for file in own_folder.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(*options: str) -> int:
    files = ["--edges=edges.csv", "--labels=labels.csv", "--features=features.csv"]
    return cli.main(["fit", *files, *QUICK, "--out=run", *options])


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))


def read_pairs(path: str) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in read(Path(path))]


def limited(largest_file: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that cannot write files of more bytes, as on a full disk."""
    script = (
        "import resource, sys; from nodecopy.cli import main;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({largest_file}, {largest_file}));"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_fit_writes_every_file_and_says_what_was_found(here, capsys):
    assert fit("--suspects=3") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"report: {Path('run', 'report.html')}"
    assert "nodes       20, 7 of them with a known label" in out
    assert "from 7 known labels, each hidden in turn" in out
    assert set(os.listdir("run")) == FILES
    assert hidden(here) == []
    rows = read(here / "run" / "predictions.csv")
    assert len(rows) == 20
    clf = NodeCopyClassifier.load("run/model")
    for row, p, label in zip(rows, clf.predict_proba(), clf.predict(), strict=True):
        assert row["predicted"] == label
        assert [float(row["p_=red"]), float(row["p_blue"])] == pytest.approx(p, abs=1e-6)
        assert float(row["confidence"]) == pytest.approx(p.max(), abs=1e-6)
    names = [f"{part}_information" for part in ("graph", "weight", "model")]
    for row in rows:
        assert 0 <= sum(float(row[name]) for name in names) <= float(row["entropy"]) + 1e-5
    assert {row["id"]: row["known"] for row in rows}["<script>alert(1)</script>"] == "=red"


def test_sets_accuracy_and_suspect_labels_are_those_of_the_model(here, capsys):
    rows = [("id", "label"), *read_pairs("labels.csv"), ("b4", "=red"), ("b5", "blue")]
    Path("labels.csv").write_text("".join(f'"{a}",{b}\n' for a, b in rows), "utf-8")
    assert fit("--coverage=0.8") == 0
    out = capsys.readouterr().out
    clf, predictions = NodeCopyClassifier.load("run/model"), read(here / "run" / "predictions.csv")
    sets = clf.predict_set(0.8)
    for row, held in zip(predictions, sets, strict=True):
        names = row["set_80"].split("|")
        assert names[0] == row["predicted"]
        assert set(names) == set(clf.classes_[held])
    ids = [row["id"] for row in predictions]
    suspects = read(here / "run" / "suspect_labels.csv")
    assert [tuple(row.values()) for row in suspects] == [
        (ids[s.node], s.given, s.suggested, f"{s.probability:.6f}") for s in clf.suspect_labels()
    ]
    assert suspects[0]["id"] == "b4"
    summary, estimate = json.loads(Path("run/summary.json").read_text()), clf.estimated_accuracy()
    assert summary["estimated_accuracy"] == dataclasses.asdict(estimate)
    hidden = summary["hidden_labels"]
    assert hidden["labels"] == estimate.num_labels
    assert list(hidden["right"])[:2] == ["nodecopy", "label propagation"]
    printed = ", ".join(f"{name} {share:.0%}" for name, share in hidden["right"].items())
    assert printed in out
    without = np.array([row["known"] == "" for row in predictions])
    mean = sets[without].sum(1).mean()
    assert summary["sets"] == {"coverage": 0.8, "mean_size": pytest.approx(mean, abs=1e-6)}
    wrong = sum(s.probability >= 0.5 for s in clf.suspect_labels())
    assert summary["suspect_labels"] == {"contradicted": len(suspects), "probably_wrong": wrong}
    interval = f"{estimate.low:.0%} to {estimate.high:.0%}"
    assert f"accuracy    about {estimate.accuracy:.0%} (95 % interval {interval})" in out
    assert f"80% sets    {mean:.2f} classes on average" in out
    known = f"{len(suspects)} known label{' is' if len(suspects) == 1 else 's are'} contradicted"
    assert f"{known}, {wrong} of them probably wrong  (run/suspect_labels.csv)" in out


def test_the_list_to_label_next_is_filled_in_and_read_beside_the_labels(here, capsys):
    assert fit() == 0
    rows = read(here / "run" / "next_labels.csv")
    assert {row["label"] for row in rows} == {""}
    assert fit("--labels=run/next_labels.csv") == 2
    assert (
        "run/next_labels.csv would be replaced, as it is in the folder" in capsys.readouterr().err
    )
    rows[0]["label"], rows[1]["label"] = "blue", "=red"
    with Path("more.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert fit("--labels=more.csv") == 0
    said = capsys.readouterr().out
    assert "since the last fit, with 2 labels more: estimated accuracy " in said
    assert "so it may go down as well as up" in said
    assert fit("--labels=more.csv") == 0
    assert "since the last fit" not in capsys.readouterr().out
    known = {row["id"]: row["known"] for row in read(here / "run" / "predictions.csv")}
    assert known[rows[0]["id"]] == "blue"
    assert known[rows[1]["id"]] == "=red"
    assert sum(label != "" for label in known.values()) == 9
    assert "edges.csv, labels.csv, more.csv, features.csv" in Path("run/report.html").read_text()
    Path("other.csv").write_text(f'id,label\n"{rows[1]["id"]}",blue\n', "utf-8")
    capsys.readouterr()
    assert fit("--labels=more.csv", "--labels=other.csv") == 2
    assert "1 id with labels that disagree: " in capsys.readouterr().err


def test_without_held_out_labels_there_are_no_sets_and_no_suspects(here, capsys):
    assert fit("--no-calibrate") == 0
    out = capsys.readouterr().out
    assert "sets" not in out
    assert "contradicted" not in out
    assert "set_90" not in read(here / "run" / "predictions.csv")[0]
    assert Path("run/suspect_labels.csv").read_text() == "id,given,suggested,probability\n"
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["estimated_accuracy"] is summary["sets"] is summary["suspect_labels"] is None
    assert summary["hidden_labels"] is None
    predict = ["predict", "--model=run/model", "--edges=edges.csv", "--features=features.csv"]
    assert cli.main([*predict, "--out=new.csv"]) == 0
    assert "set_90" not in read(Path("new.csv"))[0]
    capsys.readouterr()
    assert cli.main([*predict, "--out=new.csv", "--coverage=0.9"]) == 2
    err = capsys.readouterr().err
    assert "known labels that were held out, and none were: fit with calibrate=True" in err
    assert err.count("\n") == 1


def test_predict_writes_sets_and_evaluate_scores_them(here, capsys):
    assert fit() == 0
    predict = ["predict", "--model=run/model", "--edges=edges.csv", "--features=features.csv"]
    assert cli.main([*predict, "--out=same.csv"]) == 0
    assert Path("same.csv").read_bytes() == Path("run/predictions.csv").read_bytes()
    assert cli.main([*predict, "--out=wide.csv", "--coverage=0.99"]) == 0
    assert all(len(row["set_99"].split("|")) == 2 for row in read(Path("wide.csv")))
    labels = "".join(f"b{n},{'=red' if n == 9 else 'blue'}\n" for n in range(3, 10))
    Path("truth.csv").write_text(f"id,label\n{labels}", "utf-8")
    capsys.readouterr()
    assert cli.main(["evaluate", "--predictions=wide.csv", "--truth=truth.csv"]) == 0
    out = capsys.readouterr().out
    assert "99% sets    hold the label of 100.0% of the nodes; 2.00 classes on average\n" in out
    rows = {row["id"]: row for row in read(Path("wide.csv"))}
    confidence = np.mean([float(rows[f"b{n}"]["confidence"]) for n in range(3, 10)])
    assert f"confidence  {confidence:.1%} on average, " in out
    assert "points above the accuracy" in out
    table = out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["confidence", "nodes", "mean", "right"]
    assert sum(int(line.split()[1]) for line in table[1:]) == 7


def test_parquet_holds_what_csv_holds(here):
    assert fit() == 0
    rows = read(here / "run" / "predictions.csv")
    found = duckdb.sql("SELECT * FROM 'run/predictions.parquet'").fetchnumpy()
    assert list(found) == list(rows[0])
    assert found["id"].tolist() == [row["id"] for row in rows]
    known = np.ma.filled(found["known"].astype(object), "")
    assert known.tolist() == [row["known"] for row in rows]
    for name in ("confidence", "p_blue"):
        assert found[name].tolist() == pytest.approx([float(row[name]) for row in rows], abs=1e-9)


def test_the_configuration_gives_the_same_files_again(here):
    assert fit() == 0
    assert cli.main(["fit", "--config", "run/config.toml", "--out", "deep/again"]) == 0
    for name in sorted(FILES - {"model", "config.toml"}):
        assert Path("run", name).read_bytes() == Path("deep/again", name).read_bytes(), name
    for file in Path("run/model").iterdir():
        assert file.read_bytes() == Path("deep/again/model", file.name).read_bytes()


def test_an_earlier_fit_is_replaced_and_anything_else_is_left_alone(here, capsys):
    assert fit() == 0
    before = Path("run/predictions.csv").read_bytes()
    assert fit("--seed=1") == 0
    assert Path("run/predictions.csv").read_bytes() != before
    Path("run/notes.txt").write_text("mine")
    capsys.readouterr()
    assert fit() == 2
    assert "holds other files, 'notes.txt' for one" in capsys.readouterr().err
    Path("run2").mkdir()
    Path("run2/config.toml").write_text("")
    assert fit("--out=edges.csv") == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize("moment", ["labelled_page", "suspect_edges_table"])
def test_a_failure_while_writing_leaves_what_was_there(here, capsys, monkeypatch, moment):
    assert fit() == 0
    before = {file.name: file.stat().st_mtime_ns for file in Path("run").iterdir()}

    def full(found: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, moment, full)
    capsys.readouterr()
    assert fit("--seed=1") == 1
    assert (
        capsys.readouterr().err == "error: cannot write run: [Errno 28] No space left on device\n"
    )
    assert {file.name: file.stat().st_mtime_ns for file in Path("run").iterdir()} == before
    assert hidden(here) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit"], "--edges is missing"),
        (["fit", "--edges=edges.csv", "--out=run"], "--labels is missing"),
        (["fit", "--edges=edges.csv", "--labels=labels.csv"], "--out is missing"),
        (["fit", "cora", "--graphs=3"], "--graphs is now n_zeta (--n-zeta), as in Python"),
        (
            ["fit", "--weight-draws=3"],
            "--weight-draws is now n_weights (--n-weights), as in Python",
        ),
        (["inspect", "--edges=edges.csv", "--repeated-edges=x"], "unknown repeated_edges 'x'"),
        (["fit", "cora", "--epsilon=0.1"], "epsilon belongs to the preset 'paper'; got 'best'"),
        (["fit", "cora", "--edges=edges.csv"], "edges is for a graph of one's own, not for the"),
        (["fit", "cora", "--missing=refuse"], "missing is for a graph of one's own, not for the"),
        (["fit", "--repeats=2"], "--repeats is gone: labels are held out once, by the fit itself"),
        (["fit", "--jobs=2"], "--jobs is gone: labels are held out once, by the fit itself"),
        (["fit", "cora", "--preset=bst"], "unknown preset 'bst'; did you mean 'best'"),
        (["fit", "cora", "--preset=fast", "--n-zeta=2"], "n_zeta belongs to the preset 'best' or"),
        (
            ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run", "--epochs=2"],
            "epochs belongs to the preset 'paper'; got 'best'",
        ),
        (
            ["fit", "--split=fixed", "--edges=edges.csv", "--labels=labels.csv", "--out=run"],
            "split is for a built-in dataset: nodecopy fit cora",
        ),
        (["fit", "--config=none.toml", "--out=run"], "none.toml cannot be read"),
        (
            ["fit", "--edges=edges.csv", "--labels=labels.csv", "--weights=x", "--out=run"],
            "unknown weights 'x'",
        ),
        (
            ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=edges.csv/run"],
            "cannot be made",
        ),
        (["fit", "--edges=none.csv", "--labels=labels.csv", "--out=run"], "none.csv does not"),
        (
            ["predict", "--model=none", "--edges=edges.csv", "--out=x.csv"],
            "there is no folder none",
        ),
        (
            ["predict", "--model=none", "--edges=edges.csv", "--out=no/x.csv"],
            "--out must be a file",
        ),
        (["evaluate", "--predictions=edges.csv", "--truth=labels.csv"], "not a table of predict"),
        (
            ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run", "--coverage=90"],
            "coverage must be a number between 0 and 1; got 90.0",
        ),
        (
            ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run", "--coverage=1"],
            "coverage must be a number between 0 and 1; got 1.0",
        ),
        (
            [
                *("fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run"),
                *("--no-calibrate", "--coverage=0.8"),
            ],
            "--coverage needs labels that are held out: add --calibrate",
        ),
        *(
            (
                ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run", "--folds=3", word],
                "--folds needs labels that are held out: add --calibrate",
            )
            for word in ("--no-calibrate", "--preset=paper")
        ),
        (
            ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run", "--folds=5000"],
            "folds must be a whole number from 2 to 1,000; got 5000",
        ),
        (["fit", "cora", "--preset=paper", "--coverage=0.8"], "--coverage needs labels that are"),
        (
            ["predict", "--model=none", "--edges=edges.csv", "--out=x.csv", "--coverage=0"],
            "coverage must be a number between 0 and 1; got 0.0",
        ),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(here, capsys, args, message):
    before = sorted(os.listdir("."))
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(".")) == before


def test_predict_and_evaluate(here, capsys):
    assert fit() == 0
    with Path("edges.csv").open("a", encoding="utf-8") as file:
        file.write("new,b3\n")
    with Path("features.csv").open("a", encoding="utf-8") as file:
        file.write("new,-1,0\n")
    capsys.readouterr()
    tables = ["--edges=edges.csv", "--features=features.csv"]
    assert cli.main(["predict", "--model=run/model", *tables, "--out=new.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "21 nodes: new.csv"
    assert {row["id"] for row in read(Path("new.csv"))} >= {"new", "b3"}
    Path("truth.csv").write_text("id,label\nnew,blue\nb3,blue\nb1,blue\nZoë,=red\n", "utf-8")
    assert cli.main(["evaluate", "--predictions=run/predictions.csv", "--truth=truth.csv"]) == 2
    assert "'new'" in capsys.readouterr().err
    assert cli.main(["evaluate", "--predictions=new.csv", "--truth=truth.csv"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "nodes       2; 2 more were known to the model and do not count"
    assert out[1].startswith("accuracy    ")
    Path("truth.csv").write_text("id,label\nb3,blue\nb1,blue\nb4,green\n", "utf-8")
    assert cli.main(["evaluate", "--predictions=run/predictions.csv", "--truth=truth.csv"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "1 more were known to the model" in first
    assert "1 of classes that the model does not know (green)" in first


@pytest.mark.parametrize("target", ["edges.csv", "link.csv", "/dev/null"])
def test_predict_overwrites_nothing_but_predictions(here, capsys, target):
    assert fit() == 0
    Path("link.csv").symlink_to("edges.csv")
    before = Path("edges.csv").read_bytes()
    tables = ["--edges=edges.csv", "--features=features.csv"]
    assert cli.main(["predict", "--model=run/model", *tables, f"--out={target}"]) == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert Path("edges.csv").read_bytes() == before
    for _ in range(2):
        assert cli.main(["predict", "--model=run/model", *tables, "--out=new.csv"]) == 0
    known = [row["known"] for row in read(Path("new.csv"))]
    assert known == [row["known"] for row in read(here / "run" / "predictions.csv")]
    assert cli.main(["predict", "--model=run", *tables, "--out=new.csv"]) == 2
    assert f"the model is in the folder {Path('run', 'model')}" in capsys.readouterr().err


def test_predictions_can_be_parquet_and_evaluated_as_such(here, capsys):
    assert fit() == 0
    tables = ["--edges=edges.csv", "--features=features.csv"]
    for _ in range(2):
        assert cli.main(["predict", "--model=run/model", *tables, "--out=new.parquet"]) == 0
    assert hidden(here) == []
    query = "SELECT * FROM '{}' ORDER BY id"
    new, old = (
        duckdb.sql(query.format(name)).fetchall()
        for name in ("new.parquet", "run/predictions.parquet")
    )
    assert new == old
    Path("truth.csv").write_text("id,label\nb3,=red\nb4,Blue\n", "utf-8")
    said = []
    for file in ("new.parquet", "run/predictions.csv", "run/predictions.parquet"):
        capsys.readouterr()
        assert cli.main(["evaluate", f"--predictions={file}", "--truth=truth.csv"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == said[2]
    assert "note: the class 'Blue' is not the model's 'blue'" in said[0]
    duckdb.sql("COPY (SELECT 1 AS id) TO 'other.parquet'")
    for other, why in (("other.parquet", "is not overwritten"), ("new.txt", ".csv or .parquet")):
        assert cli.main(["predict", "--model=run/model", *tables, f"--out={other}"]) == 2
        assert why in capsys.readouterr().err


def test_python_gives_what_the_command_gives(here):
    assert fit() == 0
    table = read_tables("edges.csv", "labels.csv", "features.csv")
    names = np.array([*table.dataset.class_names, ""])
    given = table.dataset.graph, table.dataset.features, names[table.dataset.labels]
    clf = NodeCopyClassifier(n_zeta=2, random_state=0).fit(*given)
    rows = read(here / "run" / "predictions.csv")
    found = [[f"{p:.6f}" for p in row] for row in clf.predict_proba()]
    assert found == [[row["p_=red"], row["p_blue"]] for row in rows]


def test_the_paper_is_a_preset_like_others(here, capsys):
    quick = ["--preset=paper", "--n-weights=2", "--epochs=20"]
    assert fit(*quick) == 0
    said = "accuracy    not estimated: no label was held out, since the model is not calibrated"
    assert said in capsys.readouterr().out
    table = read_tables("edges.csv", "labels.csv", "features.csv")
    names = np.array([*table.dataset.class_names, ""])
    given = table.dataset.graph, table.dataset.features, names[table.dataset.labels]
    short = TrainConfig(epochs=20)
    clf = NodeCopyClassifier("paper", n_zeta=2, n_weights=2, training=short, random_state=0)
    expected = clf.fit(*given).predict_proba()
    loaded = NodeCopyClassifier.load("run/model")
    np.testing.assert_array_equal(loaded.predict_proba(), expected)
    assert fit(*quick, "--calibrate", "--folds=2") == 0
    assert "from 7 known labels, each hidden in turn" in capsys.readouterr().out
    assert 'preset = "paper"\ncalibrate = true\nfolds = 2\n' in Path("run/config.toml").read_text()


def test_a_link_to_a_folder_is_followed(here):
    Path("disk").mkdir()
    Path("run").symlink_to("disk")
    assert fit() == 0
    assert Path("run").is_symlink()
    assert set(os.listdir("disk")) == FILES


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_predict_on_a_full_disk_is_one_line_that_names_the_file(here, capsys, name):
    assert fit() == 0
    tables = ["--edges=edges.csv", "--features=features.csv"]
    result = limited(100, "predict", "--model=run/model", *tables, f"--out={name}")
    assert result.returncode == 1
    assert re.fullmatch(rf"error: .*{here / name}.*\n", result.stderr)
    assert "File too large" in result.stderr
    assert not Path(name).exists()
    assert not hidden(here)


def test_fit_on_a_full_disk_names_the_parquet_file(here):
    assert fit() == 0
    text, parquet = (
        Path("run", f"predictions.{kind}").stat().st_size for kind in ("csv", "parquet")
    )
    assert text < parquet - 2
    files = ["--edges=edges.csv", "--labels=labels.csv", "--features=features.csv"]
    result = limited(parquet - 1, "fit", *files, *QUICK, "--out=new")
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last == f"error: cannot write {Path('new/predictions.parquet')}: File too large"
    assert not Path("new").exists()
    assert not hidden(here)


def test_without_features_and_with_whole_number_ids(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ring = [(k, (k + step) % 12) for k in range(12) for step in (1, 2)]
    large = 2**53 + 1  # more digits than a float holds
    text = "\n".join(f"{large + u}\t{large + v}" for u, v in ring)
    Path("edges.tsv").write_text(text)
    labels = "\n".join(f"{large + k}\t{k // 6}" for k in (0, 1, 2, 6, 7, 8))
    Path("labels.tsv").write_text(labels)
    args = ["--edges=edges.tsv", "--labels=labels.tsv", "--out=run", *QUICK]
    assert cli.main(["fit", *args]) == 0
    assert "note: no features given" in capsys.readouterr().out
    rows = read(Path("run/predictions.csv"))
    assert [int(row["id"]) for row in rows] == [large + k for k in range(12)]
    assert {row["predicted"] for row in rows} <= {"0", "1"}
    assert cli.main(["predict", "--model=run/model", "--edges=edges.tsv", "--out=same.csv"]) == 0
    same = read(Path("same.csv"))
    assert [row["p_0"] for row in same] == [row["p_0"] for row in rows]


def test_columns_of_any_name_go_all_the_way(here, capsys):
    def wider(name: str, head: str) -> str:
        rows = Path(name).read_text("utf-8").splitlines()[1:]
        text = "\n".join([f"row,{head}", *(f"{n},{row}" for n, row in enumerate(rows))])
        Path(f"wide-{name}").write_text(text + "\n", "utf-8")
        return f"wide-{name}"

    edges = [f"--edges={wider('edges.csv', 'who,whom')}", "--edge-columns=who,whom"]
    labels = wider("labels.csv", '"his, her",kind')
    features = [f"--features={wider('features.csv', 'who,a,b')}", "--feature-columns=who,a,b"]
    columns = '--label-columns="his, her", kind'
    tables = [*edges, f"--labels={labels}", columns, *features]
    assert cli.main(["inspect", *tables]) == 0
    assert cli.main(["fit", *tables, *QUICK, "--out=wide"]) == 0
    assert fit() == 0
    for name in ("predictions.csv", "next_labels.csv", "suspect_edges.csv"):
        assert Path("wide", name).read_bytes() == Path("run", name).read_bytes()
    assert cli.main(["fit", "--config=wide/config.toml", "--out=again"]) == 0
    assert Path("again/config.toml").read_bytes() == Path("wide/config.toml").read_bytes()
    model = "--model=wide/model"
    assert cli.main(["predict", model, *edges, *features, "--out=same.csv"]) == 0
    assert Path("same.csv").read_bytes() == Path("run/predictions.csv").read_bytes()
    Path("truth.csv").write_text("row,who,what\n1,b3,blue\n", "utf-8")
    assert cli.main(["evaluate", "--predictions=same.csv", "--truth=truth.csv"]) == 2
    assert "--label-columns" in capsys.readouterr().err
    truth = ["--truth=truth.csv", "--label-columns=who,what"]
    assert cli.main(["evaluate", "--predictions=same.csv", *truth]) == 0


def test_an_interrupt_of_the_fit_writes_nothing(here, capsys, monkeypatch):
    from nodecopy.calibration import stacked

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stacked, "make_folds", interrupted)
    assert fit() == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert not Path("run").exists()


def test_cells_that_a_spreadsheet_would_run_are_quoted_on_request(here, capsys):
    assert fit("--formulas=quote") == 0
    rows = read(here / "run" / "predictions.csv")
    assert {"'=1+1", "-7", "007"} <= {row["id"] for row in rows}
    assert {row["set_90"] for row in rows} <= {"'=red", "blue", "'=red|blue", "blue|=red"}
    assert any(row["set_90"].startswith("'=red") for row in rows)
    assert {row["predicted"] for row in rows} <= {"'=red", "blue"}
    assert "'=red" in {row["known"] for row in rows}
    texts = [path.read_text("utf-8") for path in (here / "run").glob("*.csv")]
    assert len(texts) == 4
    assert not re.search(r"(^|,)=", "\n".join(texts), re.MULTILINE)
    ids = duckdb.sql("SELECT id FROM 'run/predictions.parquet'").fetchnumpy()["id"]
    assert "=1+1" in ids.tolist()
    assert 'formulas = "quote"' in (here / "run" / "config.toml").read_text("utf-8")
    predict = ["predict", "--model=run/model", "--edges=edges.csv", "--features=features.csv"]
    assert cli.main([*predict, "--formulas=quote", "--out=quoted.csv"]) == 0
    assert cli.main([*predict, "--out=plain.csv"]) == 0
    assert "'=1+1" in {row["id"] for row in read(here / "quoted.csv")}
    assert "=1+1" in {row["id"] for row in read(here / "plain.csv")}
    assert cli.main([*predict, "--formulas=eat", "--out=x.csv"]) == 2
    assert "unknown formulas 'eat'; accepted: keep, quote" in capsys.readouterr().err
    assert fit("--formulas=eat") == 2
    assert "unknown formulas 'eat'; accepted: keep, quote" in capsys.readouterr().err


def test_files_that_were_quoted_are_read_back(here, capsys):
    assert fit("--formulas=quote", "--suggestions=13") == 0
    rows = read(here / "run" / "next_labels.csv")
    assert "'=1+1" in {row["id"] for row in rows}
    with Path("more.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": "blue"} for row in rows)
    Path("plain.csv").write_text(Path("more.csv").read_text("utf-8").replace("'=", "="), "utf-8")
    capsys.readouterr()
    said = set()
    for predictions in ("predictions.csv", "predictions.parquet"):
        for truth in ("more.csv", "plain.csv"):
            files = [f"--predictions=run/{predictions}", f"--truth={truth}"]
            assert cli.main(["evaluate", *files, "--label-columns=id,label"]) == 0
            said.add(capsys.readouterr().out)
    assert len(said) == 1
    assert said.pop().startswith("nodes       13\n")
    assert fit("--labels=more.csv") == 0
    known = {row["id"]: row["known"] for row in read(here / "run" / "predictions.csv")}
    assert known["=1+1"] == "blue"
