"""The report of one fit: a page of Markdown and a table of predictions."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from nodecopy.data.tables.wording import counted
from nodecopy.estimator.assessment import Assessment
from nodecopy.experiment.fit import FitOutcome
from nodecopy.metrics import Scores
from nodecopy.report.labelled.tables import PredictionRows, Sets, write_predictions
from nodecopy.whole_file import write_whole

_LEAST_SURE = 10
_COVERAGE = 0.9


def write_fit_report(outcome: FitOutcome, folder: str | os.PathLike[str]) -> Path:
    """Write ``report.md`` and ``predictions.csv`` into a folder; return the path of the page."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_predictions(_predictions(outcome), target / "predictions.csv")
    page = target / "report.md"
    write_whole(page, _page(outcome))
    return page


def score_rows(outcome: FitOutcome) -> list[tuple[str, ...]]:
    """Return (method, accuracy, NLL, ECE, CPU seconds) of every fit."""
    return [(fit.title, *_cells(fit.scores), f"{fit.cpu_seconds:.1f}") for fit in outcome.fits]


def assessment_lines(outcome: FitOutcome) -> list[str]:
    """Return what the last fit says of itself beside the truth; nothing if none were held out."""
    found = _assessment(outcome)
    if found is None:
        return []
    test, truth = outcome.split.test, outcome.dataset.labels[outcome.split.test]
    sets, estimate = _sets(found).held[test], found.accuracy()
    covered = sets[np.arange(len(test)), truth].mean()
    return [
        f"From {estimate.num_labels:,} labels alone, the accuracy was estimated as "
        f"{estimate.accuracy:.0%} (95 % interval {estimate.low:.0%} to {estimate.high:.0%}); it is "
        f"{outcome.fits[-1].scores.accuracy:.0%}.",
        f"Of the {_COVERAGE:.0%} sets of the test nodes, {covered:.0%} hold the true class; they "
        f"have {sets.sum(1).mean():.2f} classes on average.",
    ]


def _assessment(outcome: FitOutcome) -> Assessment | None:
    return Assessment.of(outcome.fits[-1].fitted, outcome.posterior.probabilities)


def _sets(found: Assessment) -> Sets:
    return Sets(found.sets.sets(found.probabilities, _COVERAGE), _COVERAGE)


def _cells(scores: Scores) -> tuple[str, str, str]:
    return (
        f"{scores.accuracy * 100:.1f} %",
        f"{scores.nll:.3f}",
        f"{scores.ece_width * 100:.1f} %",
    )


def _page(outcome: FitOutcome) -> str:
    dataset, split, posterior = outcome.dataset, outcome.split, outcome.posterior
    test = posterior.take(split.test)
    total = test.entropy.mean()
    # Without times, so that the same seed writes the same page.
    rows = "\n".join("| " + " | ".join(row[:-1]) + " |" for row in score_rows(outcome))
    return f"""# {dataset.name}, split {split.name}

{dataset.num_nodes:,} nodes, {dataset.graph.num_edges:,} edges, {len(split.train)} labelled nodes.

| on {len(split.test):,} test nodes | accuracy | NLL | ECE |
|---|---|---|---|
{rows}

The rest is about {outcome.fits[-1].title}: {counted(posterior.num_members, "network")},
{counted(posterior.num_draws, "weight draw")} each.
{"".join(f"{line}{chr(10)}" for line in assessment_lines(outcome))}
## Where the uncertainty of the test nodes comes from

Mean predictive entropy {total:.3f} nats, of which

- {_share(test.expected_entropy.mean(), total)} stays even if graph and weights were known;
- {_share(test.graph_information.mean(), total)} comes from graph and initial weights of a network;
- {_share(test.weight_information.mean(), total)} comes from weight draws within a network;
- {_share(test.model_information.mean(), total)} comes from the choice of method.

## The {_LEAST_SURE} least certain nodes

| node | predicted | probability | entropy |
|---|---|---|---|
{_least_sure(outcome)}

Every node is in `predictions.csv`.
"""


def _share(part: float, total: float) -> str:
    return f"{part:.3f} ({part / total * 100:.0f} %)" if total > 0 else f"{part:.3f}"


def _least_sure(outcome: FitOutcome) -> str:
    posterior = outcome.posterior
    order = np.argsort(-posterior.entropy, kind="stable")[:_LEAST_SURE]
    lines = []
    for node in order:
        k = int(posterior.probabilities[node].argmax())
        name, p = outcome.dataset.class_names[k], posterior.probabilities[node, k]
        lines.append(f"| {node} | {name} | {p:.3f} | {posterior.entropy[node]:.3f} |")
    return "\n".join(lines)


def _predictions(outcome: FitOutcome) -> PredictionRows:
    """Return the columns of `nodecopy fit` on tables; known are the labels of training nodes."""
    dataset = outcome.dataset
    known = np.full(dataset.num_nodes, -1)
    known[outcome.split.train] = dataset.labels[outcome.split.train]
    ids, posterior, found = np.arange(dataset.num_nodes), outcome.posterior, _assessment(outcome)
    sets = None if found is None else _sets(found)
    names = dataset.class_names
    return PredictionRows(ids, known, names, posterior, names, sets)
