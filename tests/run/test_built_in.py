"""`nodecopy fit cora`: the folder of a fit to tables, and the true accuracy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, cli, fixed_split, load_dataset, random_split
from nodecopy.core.errors import SpecError
from nodecopy.run import FitSettings
from tests.csv_files import read_csv
from tests.run.test_commands import FILES

CORA = load_dataset("cora")


def fit(*options: str) -> int:
    return cli.main(["fit", "cora", "--method=fast", "--labels-per-class=5", *options])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built-in") / "run"
    assert fit(f"--out={folder}") == 0
    return folder


def test_the_folder_is_that_of_a_fit_to_tables(run: Path) -> None:
    assert {file.name for file in run.iterdir()} == FILES - {"columns.csv"}
    split = fixed_split(CORA, 5)
    known = np.where(np.isin(np.arange(2708), split.train), CORA.labels, -1)
    expected = NodeCopyClassifier("fast", random_state=0).fit(CORA.graph, CORA.features, known)
    rows = read_csv(run / "predictions.csv")
    assert [row["id"] for row in rows] == [str(node) for node in range(2708)]
    shown = [[float(row[f"p_{name}"]) for name in CORA.class_names] for row in rows]
    np.testing.assert_allclose(shown, expected.predict_proba(), atol=1e-6)
    names = [CORA.class_names[k] for k in expected.predict()]
    assert [row["predicted"] for row in rows] == names
    assert NodeCopyClassifier.load(run / "model").predict().tolist() == names
    assert "cora (built in)" in (run / "report.html").read_text("utf-8")


def test_the_command_ends_with_the_true_accuracy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--split=random", "--random-state=1", "--coverage=0.8", "--folds=3"]
    assert fit(*options) == 0
    out = capsys.readouterr().out
    folder = Path("runs/cora-random-5-seed-1-seed-1")
    assert f"report: {folder / 'report.html'}\n" in out
    assert len(read_csv(folder / "suspect_edges.csv")) == 100
    clf, test = NodeCopyClassifier.load(folder), random_split(CORA, 5, seed=1).test
    truth = np.array(CORA.class_names)[CORA.labels[test]]
    right, sets = clf.score(test, truth), clf.predict_set(test, coverage=0.8)
    held = np.mean([name in clf.classes_[one] for name, one in zip(truth, sets, strict=True)])
    assert re.search(rf"estimated accuracy \d+%, true accuracy {right:.1%} .* 95 of 100 draws", out)
    assert out.endswith(f"; {held:.1%} of their 80% sets hold the class\n")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dataset": "corra"}, "unknown dataset 'corra'; did you mean 'cora'"),
        ({"dataset": "cora", "split": "fixd"}, "unknown split 'fixd'; did you mean 'fixed'"),
        ({"dataset": "cora", "labels_per_class": 0}, "labels_per_class must be .* at least 1"),
        ({"dataset": "cora", "encoding": "utf-8"}, "encoding is for user tables"),
        ({"edges": "e", "labels_per_class": 5}, "labels_per_class is for a built-in dataset"),
    ],
)
def test_what_does_not_go_with_the_source_is_refused(settings, message) -> None:
    with pytest.raises(SpecError, match=message):
        FitSettings(**settings)
