"""`nodecopy fit` and `predict` on user tables: the files they write and refuse."""

from __future__ import annotations

import os
import re
import resource
import shutil
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, cli
from nodecopy.read.tables import read_tables
from tests.csv_files import read_csv, write_csv

FILES = {
    *("columns.csv", "config.toml", "model", "next_labels.csv", "predictions.csv"),
    *("predictions.parquet", "missing_edges.csv", "summary.json"),
    *("report.html", "suspect_edges.csv", "suspect_labels.csv", "manifest.json"),
}
TABLES = ["--edges=edges.csv", "--nodes=features.csv"]
PREDICT = ["predict", "--model=run/model", *TABLES]


@pytest.fixture
def here(own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files in it."""
    shutil.copytree(own_folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def first_run(own_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    shutil.copytree(own_folder, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert fit() == 0
    return folder


@pytest.fixture
def ran(first_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files and a run."""
    shutil.copytree(first_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(*options: str) -> int:
    return cli.main(["fit", *TABLES, "--labels=labels.csv", "--out=run", *options])


def predicted(file: str) -> list[dict[str, str]]:
    """Return the rows of predictions without what only a fit, or only a prediction, knows."""
    own = {"novelty", "new"}
    return [{k: v for k, v in row.items() if k not in own} for row in read_csv(file)]


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_fit_writes_every_file_and_prints_the_result(here, capsys):
    assert fit() == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"report: {Path('run', 'report.html')}"
    assert "20, 7 of them with a known label" in out
    assert set(os.listdir("run")) == FILES
    assert hidden(here) == []
    read = [(row["file"], row["became"]) for row in read_csv("run/columns.csv")]
    assert {("edges.csv", "id"), ("labels.csv", "class"), ("features.csv", "number")} <= {*read}
    assert re.search(r"labels.csv +label +class", out)
    assert "(features.csv): number" in Path("run/report.html").read_text()
    rows = read_csv("run/predictions.csv")
    clf = NodeCopyClassifier.load("run/model")
    for row, p, label in zip(rows, clf.predict_proba(), clf.predict(), strict=True):
        assert row["predicted"] == label
        assert [float(row["p_=red"]), float(row["p_blue"])] == pytest.approx(p, abs=1e-6)
        assert 0 <= float(row["mutual_information"]) <= float(row["entropy"]) + 1e-5
        assert 0 <= float(row["novelty"]) <= 1
    assert {row["id"]: row["known"] for row in rows}["<script>alert(1)</script>"] == "=red"
    table = read_tables("edges.csv", "labels.csv", "features.csv")
    names = np.array([*table.class_names, ""])
    given = table.graph, table.features, names[table.labels]
    by_python = NodeCopyClassifier(random_state=0).fit(*given)
    np.testing.assert_array_equal(by_python.predict_proba(), clf.predict_proba())


def test_nodes_of_no_known_class_are_left_empty(here):
    assert fit("--method=fast", "--max-novelty=0") == 0
    assert {row["predicted"] for row in read_csv("run/predictions.csv")} == {""}
    assert fit("--method=fast", "--max-novelty=2") == 2


def test_sets_accuracy_and_suspect_labels_are_those_of_the_model(here, capsys):
    with Path("labels.csv").open("a", encoding="utf-8") as file:
        file.write("b4,=red\nb5,blue\n")
    assert fit("--coverage=0.8") == 0
    out = capsys.readouterr().out
    clf, predictions = NodeCopyClassifier.load("run/model"), read_csv("run/predictions.csv")
    sets = clf.predict_set(coverage=0.8)
    for row, held in zip(predictions, sets, strict=True):
        names = row["set_80"].split("|")
        assert names[0] == row["predicted"]
        assert set(names) == set(clf.classes_[held])
    suspects = read_csv("run/suspect_labels.csv")
    assert [tuple(row.values()) for row in suspects] == [
        (s.node, s.known, s.predicted, f"{s.probability:.6f}") for s in clf.suspect_labels()
    ]
    assert suspects[0]["id"] == "b4"
    estimate = clf.estimated_accuracy()
    assert f"from {estimate.num_labels} known labels" in out
    mean = sets[[row["known"] == "" for row in predictions]].sum(1).mean()
    assert f"{estimate.low:.0%} to {estimate.high:.0%}" in out
    assert f"{mean:.2f} classes on average" in out


def test_the_list_to_label_next_is_filled_in_and_read_beside_the_labels(ran, capsys):
    rows = read_csv("run/next_labels.csv")
    assert {row["label"] for row in rows} == {""}
    assert fit("--labels=run/next_labels.csv") == 2
    assert "run/next_labels.csv would be replaced" in capsys.readouterr().err
    assert {row["chosen"] for row in rows} == {"suggested"}
    rows[0]["label"], rows[1]["label"] = "blue", "'=red"
    write_csv(Path("more.csv"), list(rows[0]), [list(row.values()) for row in rows])
    assert fit("--labels=more.csv") == 0
    known = {row["id"]: row["known"] for row in read_csv("run/predictions.csv") if row["known"]}
    assert len(known) == 9
    assert known[rows[1]["id"]] == "=red"
    assert len(NodeCopyClassifier.load("run/model").result_.given.suggested) == 2
    Path("other.csv").write_text(f'id,label\n"{rows[1]["id"]}",blue\n', "utf-8")
    assert fit("--labels=more.csv", "--labels=other.csv") == 2
    assert "disagree" in capsys.readouterr().err


def test_without_held_out_labels_there_are_no_sets_and_no_suspects(here, capsys, short_training):
    assert fit("--method=paper") == 0
    out = capsys.readouterr().out
    assert "not estimated: no label was held out" in out
    assert "sets" not in out
    assert not Path("run/suspect_labels.csv").exists()
    assert cli.main([*PREDICT, "--out=new.csv"]) == 0
    assert not {"set_90"} & (
        read_csv("run/predictions.csv")[0].keys() | read_csv("new.csv")[0].keys()
    )
    assert cli.main([*PREDICT, "--out=new.csv", "--coverage=0.9"]) == 2
    assert "calibrate=True" in capsys.readouterr().err
    assert fit("--method=paper", "--calibrate", "--folds=2") == 0
    assert 'method = "paper"\ncalibrate = true\nfolds = 2\n' in Path("run/config.toml").read_text()


def test_predict_writes_what_fit_writes(ran):
    assert cli.main([*PREDICT, "--out=same.csv"]) == 0
    assert predicted("same.csv") == predicted("run/predictions.csv")
    assert {row["new"] for row in read_csv("same.csv")} == {"false"}
    assert cli.main([*PREDICT, "--out=wide.csv", "--coverage=0.99"]) == 0
    for _ in range(2):
        assert cli.main([*PREDICT, "--out=wide.parquet", "--coverage=0.99"]) == 0
    assert all(len(row["set_99"].split("|")) == 2 for row in read_csv("wide.csv"))
    assert hidden(ran) == []
    of_csv = read_csv("wide.csv")  # formulas are guarded in text files alone
    rows = duckdb.sql("FROM 'wide.parquet'").fetchall()
    texts = [name for name in of_csv[0] if name in ("id", "known", "predicted", "set_99")]
    names = duckdb.sql("FROM 'wide.parquet'").columns
    assert [[row[name] for name in texts] for row in of_csv] == [
        [row[names.index(name)] or "" for name in texts] for row in rows
    ]


@pytest.mark.parametrize(
    "target", ["edges.csv", "link.csv", "other.parquet", "new.txt", "no/x.csv"]
)
def test_predict_overwrites_nothing_but_predictions(ran, capsys, target):
    Path("link.csv").symlink_to("edges.csv")
    duckdb.sql("COPY (SELECT 1 AS id) TO 'other.parquet'")
    before = {name: Path(name).read_bytes() for name in ("edges.csv", "other.parquet")}
    assert cli.main([*PREDICT, f"--out={target}"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert {name: Path(name).read_bytes() for name in before} == before


def test_the_configuration_gives_the_same_files_again(ran):
    assert cli.main(["fit", "--config", "run/config.toml", "--out", "deep/again"]) == 0
    for name in sorted(FILES - {"model", "config.toml", "manifest.json"}):
        assert Path("run", name).read_bytes() == Path("deep/again", name).read_bytes(), name
    for file in Path("run/model").iterdir():
        assert file.read_bytes() == Path("deep/again/model", file.name).read_bytes()


def test_an_earlier_fit_is_replaced_where_one_stands_and_other_files_are_left_alone(
    ran, capsys, monkeypatch
):
    before = Path("run/predictions.csv").read_bytes()
    foreign = [Path("run/notes.txt"), Path("run/.DS_Store"), Path("run/.config.toml.swp")]
    for file in foreign:
        file.write_text("mine")
    shutil.copytree("run", ".run.nodecopy-mine")
    assert fit("--labels=none.csv") == 2
    monkeypatch.chdir("run")
    words = ["fit", "--config=config.toml", "--out=.", "--random-state=1", "--method=fast"]
    assert cli.main(words) == 0
    assert Path("predictions.csv").read_bytes() != before  # the shell stands in the same folder
    monkeypatch.chdir("..")
    assert Path("run/predictions.csv").read_bytes() != before
    assert {file.read_text() for file in foreign} == {"mine"}
    assert Path(".run.nodecopy-mine/predictions.csv").read_bytes() == before
    Path("run2").mkdir()
    Path("run2/config.toml").write_text("")
    assert fit("--out=run2") == 2
    assert "'config.toml'" in capsys.readouterr().err


def test_a_folder_of_two_fits_is_said_and_what_is_whole_is_used(ran, capsys):
    manifest = Path("run/manifest.json").read_bytes()
    assert fit("--method=fast", "--random-state=1") == 0
    Path("run/manifest.json").write_bytes(manifest)  # as if the last rename had not come
    capsys.readouterr()
    assert cli.main([*PREDICT, "--out=new.csv"]) == 0
    assert "model/model.safetensors" in capsys.readouterr().out
    assert predicted("new.csv") == predicted("run/predictions.csv")


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ([*PREDICT, "--out=new.csv"], "new.csv"),
        ([*PREDICT, "--out=new.parquet"], "new.parquet"),
        (["fit", *TABLES, "--labels=labels.csv", "--method=fast", "--out=new"], "new"),
    ],
)
def test_a_full_disk_is_one_line_that_names_the_target(ran, capsys, words, written):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        code = cli.main(words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert code == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert written in last
    assert "File too large" in last
    assert not Path(written).exists()
    assert not hidden(ran)


FIT = ["fit", "--edges=edges.csv", "--labels=labels.csv"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit"], "edges is missing"),
        (["fit", "--edges=edges.csv", "--out=run"], "labels is missing"),
        (FIT, "--out is missing"),
        (["fit", "corra"], "did you mean 'cora'"),
        (["fit", "edges.csv"], "--edges FILE"),
        (["fit", "cora", "--labels-per-class=21"], "21"),
        (["fit", "cora", "--folds=0"], "folds"),
        (["fit", "cora", "--method=bst"], "did you mean 'best'"),
        (["fit", "--config=none.toml", "--out=run"], "none.toml cannot be read"),
        ([*FIT, "--normalise=x", "--out=run"], "unknown --normalise 'x'"),
        ([*FIT, "--out=edges.csv/run"], "cannot be written"),
        (["fit", "--edges=none.csv", "--labels=labels.csv", "--out=run"], "none.csv"),
        (["predict", "--model=none", "--edges=edges.csv", "--out=x.csv"], "cannot read none"),
        ([*FIT, "--out=run", "--coverage=90"], "between 0 and 1; got 90.0"),
        ([*FIT, "--out=run", "--no-calibrate", "--coverage=0.8"], "add --calibrate"),
        ([*FIT, "--out=run", "--method=paper", "--folds=3"], "calibrate"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(here, capsys, args, message):
    before = sorted(os.listdir("."))
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(".")) == before


def labels_as_a_column() -> None:
    """Write features.csv again as nodes.csv, with the labels in a column."""
    labels = {row["id"]: row["label"] for row in read_csv("labels.csv")}
    rows = read_csv("features.csv")
    named = next(iter(rows[0]))
    cells = [[*row.values(), labels.get(row[named], "")] for row in rows]
    write_csv(Path("nodes.csv"), [*rows[0], "colour"], cells)


def test_a_column_of_the_nodes_gives_what_a_file_of_labels_gives(here, capsys):
    labels_as_a_column()
    column = ["fit", "--edges=edges.csv", "--nodes=nodes.csv", "--method=fast"]
    assert cli.main([*column, "--out=new"]) == 2
    assert "--predict colour" in capsys.readouterr().err
    assert cli.main([*column, "--predict=colour", "--out=new"]) == 0
    assert fit("--method=fast") == 0
    assert Path("new/predictions.csv").read_bytes() == Path("run/predictions.csv").read_bytes()
    assert cli.main(["fit", "--config=new/config.toml", "--out=again"]) == 0
    assert Path("new/predictions.csv").read_bytes() == Path("again/predictions.csv").read_bytes()
    named = ["--edges=edges.csv", "--nodes=nodes.csv", "--out=same.csv"]
    assert cli.main(["predict", "--model=new/model", *named]) == 0
    assert predicted("same.csv") == predicted("new/predictions.csv")
    assert cli.main([*column, "--predict=colour", "--labels=labels.csv", "--out=new"]) == 2
    assert "--predict and labels" in capsys.readouterr().err.splitlines()[-1]
    Path("settings.toml").write_text(
        'edges = "edges.csv"\nnodes = "nodes.csv"\npredict = "color"\n'
    )
    assert cli.main(["fit", "--config=settings.toml", "--out=new"]) == 2
    assert "did you mean 'colour'" in capsys.readouterr().err
    assert cli.main(["inspect", *named[:2], "--predict=colour"]) == 0
    assert re.search(r"nodes.csv +colour +class", capsys.readouterr().out)


def test_without_features_and_with_integer_ids(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ring = [(k, (k + step) % 12) for k in range(12) for step in (1, 2)]
    large = 2**53 + 1  # more digits than a float holds
    Path("edges.tsv").write_text("\n".join(f"{large + u}\t{large + v}" for u, v in ring))
    labels = "\n".join(f"{large + k}\t{k // 6}" for k in (0, 1, 2, 6, 7, 8))
    Path("labels.tsv").write_text(labels)
    assert cli.main(["fit", "--edges=edges.tsv", "--labels=labels.tsv", "--out=run"]) == 0
    assert "no features given" in capsys.readouterr().out
    rows = read_csv("run/predictions.csv")
    assert [int(row["id"]) for row in rows] == [large + k for k in range(12)]
    assert cli.main(["predict", "--model=run/model", "--edges=edges.tsv", "--out=same.csv"]) == 0
    assert [row["p_0"] for row in read_csv("same.csv")] == [row["p_0"] for row in rows]


def test_named_columns_go_all_the_way(ran, capsys):
    def wider(name: str, head: str) -> str:
        rows = Path(name).read_text("utf-8").splitlines()[1:]
        text = "\n".join([f"row,{head}", *(f"{n},{row}" for n, row in enumerate(rows))])
        Path(f"wide-{name}").write_text(text + "\n", "utf-8")
        return f"wide-{name}"

    edges = [f"--edges={wider('edges.csv', 'who,whom')}", "--edge-columns=who,whom"]
    labels = wider("labels.csv", '"his, her",kind')
    features = [f"--nodes={wider('features.csv', 'who,a,b')}", "--column-types=who=id,row=skip"]
    tables = [*edges, f"--labels={labels}", '--label-columns="his, her", kind', *features]
    assert cli.main(["fit", *tables, "--out=wide"]) == 0
    again = ["predict", "--model=wide", edges[0], features[0], "--out=same.csv"]
    assert cli.main(again) == 0  # the model knows how the tables are read
    for name in ("wide/predictions.csv", "same.csv"):
        assert predicted(name) == predicted("run/predictions.csv")


def test_an_interrupt_of_the_fit_writes_nothing(here, capsys, monkeypatch):
    def interrupted(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NodeCopyClassifier, "fit", interrupted)
    assert fit() == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert not Path("run").exists()


def test_a_class_with_a_single_label_is_named_as_not_checked(here, capsys):
    rows = Path("labels.csv").read_text("utf-8").splitlines()
    Path("labels.csv").write_text("\n".join(rows[:6]) + "\n", "utf-8")
    assert fit("--method=fast") == 0
    assert "fewer than two labels: blue" in capsys.readouterr().out
    estimate = NodeCopyClassifier.load("run").estimated_accuracy()
    assert estimate.high - estimate.low > 0.5
