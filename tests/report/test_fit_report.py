"""The report of a fit says what was found, and is written whole."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from nodecopy import cli
from nodecopy.data.task import Task
from nodecopy.errors import DatasetError, SplitError
from nodecopy.estimator.assessment import Assessment
from nodecopy.experiment.fit import FitOutcome, fit_builtin
from nodecopy.labelling.evaluation import evaluate_predictions
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import fast
from nodecopy.report.fit import assessment_lines, score_rows, write_fit_report
from nodecopy.weights import MCDropout, TrainConfig

QUICK = BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(TrainConfig(epochs=30)))


@pytest.fixture(scope="module")
def outcome() -> FitOutcome:
    return fitted()


def fitted() -> FitOutcome:
    return fit_builtin("citeseer", 5, "random", 3, QUICK, ("nodecopy (fast)", fast()))


def test_scores_are_those_of_the_test_nodes(outcome: FitOutcome) -> None:
    test = outcome.split.test
    truth = outcome.dataset.labels[test]
    rows = score_rows(outcome)
    assert [row[0] for row in rows] == ["GCN", "Bayesian GCN (paper)", "nodecopy (fast)"]
    for fit, row in zip(outcome.fits, rows, strict=True):
        accuracy = np.mean(fit.fitted.probabilities[test].argmax(1) == truth)
        assert fit.scores.accuracy == accuracy
        assert row[1] == f"{accuracy * 100:.1f} %"
        assert float(row[4]) >= 0
    base, bayesian = outcome.fits[0].fitted, outcome.fits[1].fitted
    np.testing.assert_array_equal(bayesian.base_probabilities, base.probabilities)
    whole = QUICK.fit(Task.from_split(outcome.dataset, outcome.split), 3)
    np.testing.assert_array_equal(bayesian.probabilities, whole.probabilities)


def test_the_page_and_the_table(outcome: FitOutcome, tmp_path: Path) -> None:
    page = write_fit_report(outcome, tmp_path / "a" / "b")
    text = page.read_text()
    assert "3,327 nodes, 4,552 edges, 30 labelled nodes." in text
    assert f"| nodecopy (fast) | {outcome.fits[-1].scores.accuracy * 100:.1f} %" in text
    with (page.parent / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3327
    posterior = outcome.posterior
    for node in (0, 1000, 3326):
        row = rows[node]
        k = posterior.probabilities[node].argmax()
        assert row["predicted"] == outcome.dataset.class_names[k]
        assert float(row["confidence"]) == pytest.approx(posterior.probabilities[node, k], 1e-4)
        assert row["id"] == str(node)
        shares = [float(row[f"p_{name}"]) for name in outcome.dataset.class_names]
        assert sum(shares) == pytest.approx(1, abs=1e-4)
        for name in ("entropy", "graph_information", "weight_information", "model_information"):
            assert float(row[name]) == pytest.approx(getattr(posterior, name)[node], abs=1e-5)
        assert row["set_90"].split("|")[0] == row["predicted"]
    known = [node for node, row in enumerate(rows) if row["known"]]
    assert known == outcome.split.train.tolist()
    assert sorted(p.name for p in page.parent.iterdir()) == ["predictions.csv", "report.md"]


def test_a_calibrated_fit_says_what_it_estimates_beside_the_truth(outcome: FitOutcome) -> None:
    fitted, test = outcome.fits[-1].fitted, outcome.split.test
    found = Assessment.of(fitted, fitted.probabilities)
    assert found is not None
    first, second = assessment_lines(outcome)
    assert f"estimated as {found.accuracy().accuracy:.0%} (95 % interval" in first
    assert first.endswith(f"; it is {outcome.fits[-1].scores.accuracy:.0%}.")
    sets = found.sets.sets(fitted.probabilities, 0.9)[test]
    covered = sets[np.arange(len(test)), outcome.dataset.labels[test]].mean()
    assert f"{covered:.0%} hold the true class" in second
    assert f"have {sets.sum(1).mean():.2f} classes" in second
    assert assessment_lines(outcome._replace(fits=outcome.fits[:-1])) == []  # the paper's


def test_the_predictions_can_be_evaluated(
    outcome: FitOutcome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_fit_report(outcome, tmp_path)
    names, labels = outcome.dataset.class_names, outcome.dataset.labels
    rows = [f"{node},{names[labels[node]]}" for node in (*outcome.split.test, *outcome.split.train)]
    truth = tmp_path / "truth.csv"
    truth.write_text("\n".join(["id,label", *rows]))
    found = evaluate_predictions(tmp_path / "predictions.csv", truth)
    assert found.accuracy == outcome.fits[-1].scores.accuracy
    assert found.scores.nll == pytest.approx(outcome.fits[-1].scores.nll, abs=1e-4)
    assert (found.nodes, found.known) == (1000, 30)
    words = ["--predictions", str(tmp_path / "predictions.csv"), "--truth", str(truth)]
    assert cli.main(["evaluate", *words]) == 0
    assert f"{outcome.fits[-1].scores.accuracy:.1%}"[:-1] in capsys.readouterr().out


def test_the_same_seed_writes_the_same_bytes(outcome: FitOutcome, tmp_path: Path) -> None:
    again = fitted()
    for folder, one in (("a", outcome), ("b", again)):
        write_fit_report(one, tmp_path / folder)
    for name in ("report.md", "predictions.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_wrong_names() -> None:
    with pytest.raises(SplitError, match="unknown split 'fixd'; did you mean 'fixed'"):
        fit_builtin("cora", 5, "fixd")
    with pytest.raises(DatasetError, match="unknown dataset 'corra'; did you mean 'cora'"):
        fit_builtin("corra", 5)
