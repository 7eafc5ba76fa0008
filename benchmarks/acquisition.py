"""Labelling from nothing, simulated: which nodes to ask about, and what is known meanwhile.

    OMP_NUM_THREADS=1 python -m benchmarks.acquisition [--trials 10] [--only cora]
    python -m benchmarks.acquisition --show --page docs/acquisition.md \
        --figure docs/images/acquisition.svg

No node has a label at first. Every rule chooses nodes among those that are not set aside for
testing, until there are 2, 3, 5, 7, 10, 14 and 20 labels per class in all, of whatever class; the
default is fitted again at each of these stages. *random*, *entropy* (the most uncertain nodes,
after a random first stage) and *PageRank* (the largest first) are what others do; *suggested* are
the nodes of `suggest`, and *with audit* is the labelling page: one in four is drawn at random. Two
more rules do the same with a person whose answers are wrong in 20 % of the cases, also when asked
again: *wrong* never asks again, *wrong, asked again* spends up to a fifth of the answers on labels
that are more likely wrong than right.

Debian's packages by section (benchmarks/regret_tasks.py; needs the extra ``text``) have
descriptions, and their classes names: *with names* is the labelling page with ``--classes``, which
begins with guesses, at 0, 1, 2 and 5 labels per class, against *with audit*, the page without.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.compared import (
    Comparison,
    Key,
    Row,
    ScoredTask,
    arguments,
    compute,
    draw_curve,
    legend_above,
    publish,
    shared_rows,
    standard_error,
)
from benchmarks.markdown import markdown_rows
from benchmarks.regret_tasks import debian
from benchmarks.synthetic_graphs import as_problem
from nodecopy.core.rng import stream
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.graph import Graph
from nodecopy.paper.figures import BLUE, GREY, draw
from nodecopy.problem.dataset import load_dataset
from nodecopy.problem.task import Task
from nodecopy.trust.accuracy import EstimatedAccuracy, forecast

STAGES, SHOWN, TESTED = (2, 3, 5, 7, 10, 14, 20), (2, 5, 10, 20), 1000
DESCRIBED, NAMED, FROM_NOTHING = "Debian by section", "with names", (0, 1, 2, 5)
AUDIT, AGAIN, WRONG, LIKELY = 4, 5, 0.2, 0.5
DATASETS = ("cora", "citeseer", "pubmed")
MADE = ("homophily 0.7", "power-law degrees", "units of all sizes")
RANDOM, SUGGESTED, AUDITED = "random", "suggested", "with audit"
NOISY, ASKED = "wrong", "wrong, asked again"
RULES = (RANDOM, "entropy", "PageRank", SUGGESTED, AUDITED)


@dataclass
class Session:
    """A simulated session: what was answered so far."""

    problem: ScoredTask
    rule: str
    trial: int

    def __post_init__(self) -> None:
        task, truth = self.problem.task, self.problem.truth
        names = dict(enumerate(self.problem.names)) if self.rule == NAMED else {}
        self.classifier = NodeCopyClassifier(
            random_state=self.trial, progress=False, class_descriptions=names
        )
        columns = self.problem.columns
        self.nodes = task.graph, task.features if columns is None else columns
        self.given: dict[int, int] = {}
        self.suggested: list[int] = []
        self.looked, self.wrong_among = set(), 0
        self.rng = stream(self.trial, "session", self.rule)
        self.never = np.union1d(self.problem.test, np.flatnonzero(truth < 0))
        self.classes = int(truth.max()) + 1
        self.rank = page_rank(task.graph) if self.rule == "PageRank" else None

    def row(self) -> Row:
        """Label to the last stage; return what was true and what was estimated at each."""
        row: Row = {"counts": [], "accuracy": [], "rest": [], "estimate": []}
        truth, answers = self.problem.truth, 0
        for stage in FROM_NOTHING if self.problem.names else STAGES:
            if stage == 0:
                row["accuracy"].append(self._guessed())
                continue
            more = stage * self.classes - answers
            if self.rule == ASKED and answers:
                more -= self._look_again(more // AGAIN)
            for node in self._choose(more):
                self.given[node] = self._answer(node)
            answers = stage * self.classes
            y = np.full(len(truth), -1)
            y[list(self.given)] = list(self.given.values())
            self.classifier.fit(*self.nodes, y, suggested=self.suggested)
            right = self.classifier.predict() == truth
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # shares of classes that differ
                estimate = self.classifier.estimated_accuracy()
            row["counts"].append(len(self.given))
            row["accuracy"].append(round(float(right[self.problem.test].mean()), 4))
            row["rest"].append(round(float(right[(y < 0) & (truth >= 0)].mean()), 4))
            values = estimate.accuracy, estimate.low, estimate.high
            row["estimate"].append([round(value, 4) for value in values])
        return row | {"again": [len(self.looked), self.wrong_among]}

    def _guessed(self) -> float | None:
        """Guess from names alone, where there are any; return the accuracy."""
        if self.rule != NAMED:
            return None
        right = self.classifier.fit(*self.nodes).predict() == self.problem.truth
        return round(float(right[self.problem.test].mean()), 4)

    def _choose(self, count: int) -> list[int]:
        taken = np.union1d(self.never, list(self.given)).astype(np.int64)
        free = np.setdiff1d(np.arange(len(self.problem.truth)), taken)
        if self.rule == RANDOM or (self.rule == "entropy" and not self.given):
            return self.rng.choice(free, count, replace=False).tolist()
        if self.rule in ("entropy", "PageRank"):
            score = self.classifier.posterior_.entropy if self.rank is None else self.rank
            return free[np.argsort(-score[free], kind="stable")[:count]].tolist()
        drawn: list[int] = []
        given = () if self.given or self.rule == NAMED else self.nodes
        if self.rule != SUGGESTED:
            target = (len(self.given) + count) // AUDIT
            audit = target - (len(self.given) - len(self.suggested))
            drawn = self.classifier.suggest(audit, *given, exclude=taken, random=True).tolist()
        taken = np.union1d(taken, drawn).astype(np.int64)
        best = self.classifier.suggest(count - len(drawn), *given, exclude=taken).tolist()
        self.suggested += best
        return [*drawn, *best]

    def _answer(self, node: int) -> int:
        right = int(self.problem.truth[node])
        rng = stream(self.trial, "answer", node, int(node in self.looked))  # the same in both rules
        if self.rule not in (NOISY, ASKED) or rng.random() >= WRONG:
            return right
        return int((right + rng.integers(1, self.classes)) % self.classes)

    def _look_again(self, most: int) -> int:
        suspects = [s.node for s in self.classifier.suspect_labels() if s.probability >= LIKELY]
        suspects = [node for node in suspects if node not in self.looked][:most]
        for node in suspects:
            self.wrong_among += int(self.given[node] != self.problem.truth[node])
            self.looked.add(node)
            self.given[node] = self._answer(node)
        return len(suspects)


def page_rank(graph: Graph) -> np.ndarray:
    """Return PageRank with damping 0.85 after 50 iterations [N]."""
    n = graph.num_nodes
    walk = sp.csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(n, n))
    rank = np.full(n, 1 / n)
    for _ in range(50):
        rank = 0.15 / n + 0.85 * (walk.T @ (rank / np.maximum(graph.degrees, 1)))
    return rank


def dataset_problem(name: str, _: int, trial: int) -> ScoredTask:
    """Return a dataset without labels, and random test nodes."""
    data, rng = load_dataset(name), stream(trial, "tested", name)
    test = rng.permutation(np.flatnonzero(data.labels >= 0))[:TESTED]
    task = Task.of(data.graph, data.features, data.labels, [0], num_classes=data.num_classes)
    return ScoredTask(task, data.labels, np.sort(test))


def made_problem(name: str, _: int, trial: int) -> ScoredTask:
    """Return a synthetic graph; half of its test nodes are tested, so some can be chosen."""
    problem = as_problem(name, 2, trial)
    half = stream(trial, "tested").permutation(problem.test)[: len(problem.test) // 2]
    return ScoredTask(problem.task, problem.truth, np.sort(half))


def described_problem(_: int, trial: int) -> ScoredTask:
    """Return Debian's packages by section, without labels, and half of them as test nodes."""
    table = debian("section")
    truth, graph = table.classes, Graph.from_scipy(table.adjacency)
    test = stream(trial, "tested", DESCRIBED).permutation(len(truth))[: len(truth) // 2]
    none = np.zeros((len(truth), 1), np.float32)
    task = Task.of(graph, none, truth, [0], num_classes=len(table.names))
    return ScoredTask(task, truth, np.sort(test), columns=table.columns, names=table.names)


COMPARISON = Comparison(
    cases={
        **{name: partial(dataset_problem, name) for name in DATASETS},
        **{name: partial(made_problem, name) for name in MADE},
    },
    methods={rule: partial(lambda rule, _: rule, rule) for rule in (*RULES, NOISY, ASKED)},
    labels=(0,),
    rows=Path("results", "acquisition.jsonl"),
    measure=lambda problem, rule, trial: Session(problem, rule, trial).row(),
)
NAMES = replace(
    COMPARISON,
    cases={DESCRIBED: described_problem},
    methods={rule: partial(lambda rule, _: rule, rule) for rule in (AUDITED, NAMED)},
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return tables of accuracy, of the estimates on the way, of wrong answers and of names."""
    without = {key: row for key, row in rows.items() if key[0] != DESCRIBED}
    parts = [accuracies(without), *estimates(without), *wrong_answers(without)]
    return "\n\n".join([*parts, *from_names(rows)])


def from_names(rows: Mapping[Key, Row]) -> Iterator[str]:
    """Yield a table of accuracy where classes have names, against sessions without."""
    cell = shared_rows(NAMES, rows, DESCRIBED, 0)
    lines = [
        [f"{rule} ({len(several)})", *(_mean(one) for one in zip(*several, strict=True))]
        for rule, several in ((r, [row["accuracy"] for row in many]) for r, many in cell.items())
    ]
    if lines:
        heads = [f"{stage} per class" for stage in FROM_NOTHING]
        yield markdown_rows([f"{DESCRIBED}, accuracy, % (repeats)", *heads], lines)


def _mean(values: tuple[float | None, ...]) -> str:
    return "–" if None in values else f"{100 * np.mean(values):.1f}"  # type: ignore[arg-type]


def _curves(rows: Mapping[Key, Row], case: str, rules: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return accuracies in the trials that all of these rules have, in per cent [n, stages]."""
    some = {key: row for key, row in rows.items() if key[3] in rules}
    shared = shared_rows(COMPARISON, some, case, 0)
    return {rule: 100 * np.array([r["accuracy"] for r in many]) for rule, many in shared.items()}


def accuracies(rows: Mapping[Key, Row]) -> str:
    """Return lines of our rules for each graph, and of others over all, with gains over random."""
    at, lines = [STAGES.index(stage) for stage in SHOWN], []
    others: dict[str, list[np.ndarray]] = {}
    for case in COMPARISON.cases:
        for rule in RULES:
            curves = _curves(rows, case, (RANDOM, rule))
            if not {RANDOM, rule} <= curves.keys():
                continue
            values = curves[rule]
            cells = _with_gains(values, values - curves[RANDOM])
            if rule not in (RANDOM, SUGGESTED, AUDITED):
                others.setdefault(rule, []).append(np.stack([values, values - curves[RANDOM]]))
                continue
            if rule == RANDOM:
                cells = [f"{mean:.1f}" for mean in values.mean(0)]
            lines.append([f"{case} ({len(values)})", rule, *(cells[n] for n in at)])
    for rule, several in others.items():
        cells = _with_gains(*np.concatenate(several, axis=1))
        sessions = sum(values.shape[1] for values in several)
        lines.append([f"all graphs ({sessions})", rule, *(cells[n] for n in at)])
    heads = [f"{stage} per class" for stage in SHOWN]
    return markdown_rows(["accuracy, % (repeats)", "rule", *heads], lines)


def _with_gains(values: np.ndarray, gains: np.ndarray) -> list[str]:
    """Return the mean at each stage, with its gain and, of several repeats, the error of that."""
    errors = [f" ±{e:.1f}" if np.isfinite(e) else "" for e in standard_error(gains)]
    cells = zip(values.mean(0), gains.mean(0), errors, strict=True)
    return [f"{mean:.1f} ({gain:+.1f}{error})" for mean, gain, error in cells]


def estimates(rows: Mapping[Key, Row]) -> Iterator[str]:
    """Yield a table: bias and coverage of the estimate, and coverage of the forecast."""
    lines = []
    for rule in (RANDOM, AUDITED):
        some = [row for key, row in rows.items() if key[3] == rule]
        if not some:
            continue
        values, rest = (np.array([row[name] for row in some]) for name in ("estimate", "rest"))
        bias = 100 * (values[..., 0] - rest).mean(0)
        holds = 100 * ((values[..., 1] <= rest) & (rest <= values[..., 2])).mean(0)
        width = 100 * (values[..., 2] - values[..., 1]).mean(0)
        cells = [f"{b:+.1f}, {h:.0f}, {w:.0f}" for b, h, w in zip(bias, holds, width, strict=True)]
        lines.append([f"{rule}, {len(some)} sessions", *cells])
    audited = [row for key, row in rows.items() if key[3] == AUDITED]
    if audited:
        held = 100 * np.array([_forecasts_hold(row) for row in audited]).mean(0)
        lines.append(["forecast to the next stage holds", *(f"{one:.0f}" for one in held), ""])
    yield markdown_rows(["bias, interval holds, its width", *map(str, STAGES)], lines)


def _forecasts_hold(row: Row) -> list[bool]:
    gains = np.diff(row["rest"])
    held = []
    for now, gain in enumerate(gains):
        count, after = row["counts"][now : now + 2]
        estimate = EstimatedAccuracy(*row["estimate"][now], 0.95, 0)
        low, high = forecast(estimate, count, after - count)
        held.append(low <= gain <= high)
    return held


def wrong_answers(rows: Mapping[Key, Row]) -> Iterator[str]:
    """Yield a table of accuracy with wrong answers, and of what was asked again."""
    at, lines = [STAGES.index(stage) for stage in SHOWN], []
    for case in COMPARISON.cases:
        curves = _curves(rows, case, (NOISY, ASKED))
        if ASKED not in curves or NOISY not in curves:
            continue
        gain = curves[ASKED] - curves[NOISY]
        again = [row["again"] for key, row in rows.items() if (key[0], key[3]) == (case, ASKED)]
        looked, wrong = np.sum(again, 0)
        cells = _with_gains(curves[ASKED], gain)
        share = f"{wrong} of {looked}"
        lines.append([f"{case}, {len(gain)} repeats", *(cells[n] for n in at), share])
    heads = [f"{stage} per class" for stage in SHOWN]
    if lines:
        yield markdown_rows(["asked again, accuracy, %", *heads, "wrong of those asked"], lines)


def figure(rows: Mapping[Key, Row]) -> bytes:
    """Draw the mean curves of random choice and of the page, with a band of one standard error."""
    colours = {RANDOM: GREY, AUDITED: BLUE}
    cases = [case for case in COMPARISON.cases if _curves(rows, case, tuple(colours))]

    def paint(drawing) -> None:
        drawing.set_size_inches(2.1 * len(cases), 2.4)
        axes = drawing.subplots(1, len(cases), squeeze=False)[0]
        for ax, case in zip(axes, cases, strict=True):
            for rule, values in _curves(rows, case, tuple(colours)).items():
                draw_curve(ax, STAGES, list(values.T), color=colours[rule], label=rule)
            ax.set_title(case)
            ax.set_xlabel("labels per class")
        axes[0].set_ylabel("accuracy, %")
        legend_above(drawing, axes[0])

    return draw("acquisition", "Learning curves", "", paint).svg


if __name__ == "__main__":
    parser = arguments(COMPARISON, __doc__)
    parser.add_argument("--figure", type=Path, help="draw the curves into this SVG file")
    chosen = parser.parse_args()
    compute(COMPARISON, chosen)
    rows = compute(NAMES, chosen)
    publish(tables(rows), chosen.page)
    if chosen.figure:
        chosen.figure.write_bytes(figure(rows))
