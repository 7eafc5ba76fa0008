"""Which nodes to label next: learning curves of our rule and of random choice.

    OMP_NUM_THREADS=1 python -m benchmarks.acquisition [--trials 4] [--only cora] [--labels 5]
    python -m benchmarks.acquisition --show --page docs/acquisition.md \
        --figure docs/images/acquisition.svg

Two or five random labels of each class to begin with; in every round either rule chooses K more
nodes among those that are not set aside for testing, the default is fitted again, and its accuracy
on the test nodes is noted. Both rules begin with the same labels and test nodes, so differences are
paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared import (
    Comparison,
    Key,
    Problem,
    Row,
    draw_curve,
    legend_above,
    main,
    shared_rows,
    standard_error,
)
from benchmarks.kinds import as_problem
from benchmarks.markdown import markdown_rows
from nodecopy.active import next_labels
from nodecopy.calibration import StackedClassifier
from nodecopy.data import Task, load_dataset
from nodecopy.paper.figures import BLUE, GREY, draw
from nodecopy.posterior import Posterior
from nodecopy.presets import best
from nodecopy.rng import child_seed, stream

ROUNDS, TESTED = 3, 1000
DATASETS = ("cora", "citeseer")
MADE = ("homophily 0.7", "power-law degrees", "units of all sizes")
RANDOM, OURS = "random", "nodecopy"


@dataclass(frozen=True)
class Curve:
    """A rule, and what is fitted after each round."""

    rule: str
    model: StackedClassifier
    rounds: int = ROUNDS

    def measure(self, problem: Problem, trial: int) -> Row:
        """Return accuracies before the first round and after each, and how sure the chosen are."""
        task, truth = problem.task, problem.truth
        labelled, accuracies, sure = task.train, [], []
        for step in range(self.rounds + 1):
            posterior = self._fit(task, truth, labelled, child_seed(trial, "fit", step))
            p = posterior.probabilities
            right = p[problem.test].argmax(1) == truth[problem.test]
            accuracies.append(round(float(right.mean()), 5))
            if step < self.rounds:
                allowed = np.ones(len(truth), bool)
                allowed[problem.test], allowed[labelled] = False, False
                rng = stream(trial, "choice", step)
                more = chosen(self.rule, task, posterior, labelled, allowed & (truth >= 0), rng)
                sure.append(round(float(p[more].max(1).mean()), 4))
                labelled = np.concatenate([labelled, more])
        return {"accuracy": accuracies, "confidence": sure, "classes": task.num_classes}

    def _fit(self, task: Task, truth: np.ndarray, labelled: np.ndarray, seed: int) -> Posterior:
        shown = Task.of(
            task.graph, task.features, truth, np.sort(labelled), num_classes=task.num_classes
        )
        return self.model.fit(shown, seed).posterior


def chosen(
    rule: str,
    task: Task,
    posterior: Posterior,
    labelled: np.ndarray,
    allowed: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the K nodes that a rule chooses."""
    count = task.num_classes
    if rule == RANDOM:
        return rng.choice(np.flatnonzero(allowed), count, replace=False)
    found = next_labels(task.graph, task.features, posterior, labelled, count, allowed=allowed)
    return found.nodes


def dataset_problem(name: str, start: int, trial: int) -> Problem:
    """Return a dataset with random labels of each class and random test nodes."""
    data, rng = load_dataset(name), stream(trial, "labels", name, start)
    known = rng.permutation(np.flatnonzero(data.labels >= 0))
    test, pool = known[:TESTED], known[TESTED:]
    parts = [pool[data.labels[pool] == k][:start] for k in range(data.num_classes)]
    train = np.sort(np.concatenate(parts))
    task = Task.of(data.graph, data.features, data.labels, train, num_classes=data.num_classes)
    return Problem(task, data.labels, np.sort(test))


def made_problem(name: str, start: int, trial: int) -> Problem:
    """Return a synthetic graph; half of its test nodes are tested, so some can be chosen."""
    problem = as_problem(name, start, trial)
    half = stream(trial, "tested").permutation(problem.test)[: len(problem.test) // 2]
    return Problem(problem.task, problem.truth, np.sort(half))


COMPARISON = Comparison(
    cases={
        **{name: partial(made_problem, name) for name in MADE},
        **{name: partial(dataset_problem, name) for name in DATASETS},
    },
    methods={rule: partial(lambda rule, _: Curve(rule, best()), rule) for rule in (RANDOM, OURS)},
    labels=(5, 2),
    rows=Path("results", "acquisition.jsonl"),
    measure=lambda problem, method, trial: method.measure(problem, trial),
)

Curves = dict[str, np.ndarray]


def curves_of(rows: Mapping[Key, Row], case: str, start: int) -> Curves:
    """Return the curves of each rule in the trials that all rules have, in per cent [n, rounds]."""
    shared = shared_rows(COMPARISON, rows, case, start)
    return {rule: 100 * np.array([r["accuracy"] for r in some]) for rule, some in shared.items()}


def tables(rows: Mapping[Key, Row]) -> str:
    """Return a line for each graph and number of labels to begin with: our rule minus random."""
    lines = [
        _line(rows, case, start, curves)
        for start in sorted({key[1] for key in rows})
        for case in COMPARISON.cases
        if OURS in (curves := curves_of(rows, case, start))
    ]
    heads = ["accuracy, %", "repeats", "at the start"]
    heads += [f"+ {step + 1} per class" for step in range(ROUNDS)]
    return markdown_rows([*heads, "confidence of the chosen"], lines)


def _line(rows: Mapping[Key, Row], case: str, start: int, curves: Curves) -> list[str]:
    ours = curves[OURS]
    gain = ours - curves[RANDOM]
    first, *cells = (
        f"{mean:.1f} ({g:+.1f} ± {e:.1f})"
        for mean, g, e in zip(ours.mean(0), gain.mean(0), standard_error(gain), strict=True)
    )
    sure = [
        np.mean([r["confidence"] for k, r in rows.items() if (*k[:2], k[3]) == (case, start, rule)])
        for rule in (OURS, RANDOM)
    ]
    shares = " and ".join(f"{100 * one:.0f} %" for one in sure)
    return [f"{case}, {start} labels", f"{len(ours)}", first.split()[0], *cells, shares]


def figure(rows: Mapping[Key, Row]) -> bytes:
    """Draw the mean curves with a band of one standard error; a line of panels for each start."""
    colours = {RANDOM: GREY, OURS: BLUE}
    starts, cases = sorted({key[1] for key in rows}), list(COMPARISON.cases)

    def paint(drawing) -> None:
        drawing.set_size_inches(2.1 * len(cases), 2.1 * len(starts) + 0.3)
        axes = drawing.subplots(len(starts), len(cases), squeeze=False)
        for line, start in zip(axes, starts, strict=True):
            for ax, case in zip(line, cases, strict=True):
                for rule, values in curves_of(rows, case, start).items():
                    x = start + np.arange(values.shape[1])
                    draw_curve(ax, x, list(values.T), color=colours[rule], label=rule)
                ax.set_title(case)
            line[0].set_ylabel("accuracy, %")
        for ax in axes[-1]:
            ax.set_xlabel("labels per class")
        legend_above(drawing, axes[0][0])

    return draw("acquisition", "Learning curves", "", paint).svg


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, figure)
