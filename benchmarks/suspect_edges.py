"""Suspect edges: edges between random nodes are planted into a graph; how many are found?

    OMP_NUM_THREADS=1 python -m benchmarks.suspect_edges [--trials 3] [--only cora]
    python -m benchmarks.suspect_edges --show --page docs/wrong-graphs.md

As many edges as 5 % of those there are, between random nodes. The default is fitted to the graph
with them, and all edges are ranked by the rule of `nodecopy.trust.suspect_edges`, by features, and
by how often the true classes are neighbours. A row says how many planted edges each rule has among
its first 50, and its first n and 2 n, with n the number planted. Features made from the graph are
made after planting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared import Comparison, Key, Row, ScoredTask, main
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import KINDS, as_problem, split_problem
from nodecopy.classifiers import fit_one
from nodecopy.core.rng import child_seed, stream
from nodecopy.features.matrix import stored_by_content, structural_features, ties_to
from nodecopy.features.scaling import scaling_of
from nodecopy.graph import Graph
from nodecopy.presets import best
from nodecopy.read.synthetic import planted_partition
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.trust.edge_model import EdgeModel, PairEvidence
from nodecopy.trust.suspect_edges import SuspectEdges, suspect_edges

SHARE = 0.05
NO_FEATURES = "no features"
DATASETS = ("cora", "citeseer", "pubmed")
MADE = (
    *(f"homophily {share:g}" for share in (0.1, 0.3, 0.7, 0.9)),
    *("power-law degrees", "citations of the next class", "points of the plane"),
    *("grown by copying", "digits", NO_FEATURES),
)
LARGER = "8,000 nodes, homophily 0.8"
RULES = {"all": "all evidence", "features": "features", "truth": "lift, true classes"}


@dataclass(frozen=True)
class Planted:
    """What the rules find of edges planted into the graph of a problem."""

    stack: StackedClassifier
    share: float

    def measure(self, problem: ScoredTask, trial: int) -> Row:
        task = problem.task
        own_features = problem.calibration is None  # see `made_problem`
        graph, wrong = planted(task.graph, self.share, stream(trial, "planted"))
        given, on = task.features, lambda _: task.features
        if not own_features:
            values, hubs = structural_features(graph)
            scaling = scaling_of(values, "auto")
            on = lambda g: stored_by_content(scaling.apply(g, ties_to(g, hubs)))  # noqa: E731
            given = on(graph)
        fitted = fit_one(
            self.stack, replace(task, graph=graph, features=given), child_seed(trial, "method")
        )
        predict = lambda g: fitted.predict(g, on(g)).probabilities  # noqa: E731
        model = EdgeModel(graph, given if own_features else None, predict, seed=trial)
        suspects = suspect_edges(model, graph.num_edges)
        first = replace(suspects, surprise=suspects.surprise[:50])
        count = int(wrong.sum())
        return {
            "planted": count,
            "edges": len(wrong),
            "said": round(first.expected_wrong(wrong.mean()) / 50, 4),
            "at most": round(suspects.at_most, 4),
            "found": {
                rule: [int(wrong[order[:n]].sum()) for n in (50, count, 2 * count)]
                for rule, order in orders(model, suspects, problem.truth, trial)
            },
        }


def planted(graph: Graph, share: float, rng: np.random.Generator) -> tuple[Graph, np.ndarray]:
    """Return the graph with edges between random nodes, and a mask of them among its edges."""
    wanted = round(share * graph.num_edges)
    pairs = np.sort(rng.integers(graph.num_nodes, size=(2 * wanted + 100, 2)), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.unique(pairs[~graph.contains(pairs[:, 0], pairs[:, 1])], axis=0)
    new = rng.permutation(pairs)[:wanted]
    larger = Graph.from_edges(graph.num_nodes, np.concatenate([graph.edges(), new]))
    ends = larger.edges()
    return larger, ~graph.contains(ends[:, 0], ends[:, 1])


def orders(
    model: EdgeModel, ranked: SuspectEdges, truth: np.ndarray, trial: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the edges in the order of each rule, the most suspect first."""
    ends = model.graph.edges()
    where = {tuple(edge): n for n, edge in enumerate(ends.tolist())}
    yield "all", np.array([where[tuple(edge)] for edge in ranked.nodes.tolist()])
    whole, classes = model.whole, np.eye(truth.max() + 1)[truth]
    scores = {"truth": PairEvidence(whole.graph, None, classes).columns(ends)[:, -2]}
    if whole.reduced is not None:
        scores["features"] = whole.columns(ends)[:, 5]
    mixed = stream(trial, "ties").permutation(len(ends))  # equal scores in random order
    for rule, score in scores.items():
        yield rule, mixed[np.argsort(score[mixed], kind="stable")]


def dataset_problem(name: str, labels: int, trial: int) -> ScoredTask:
    return replace(split_problem(name, labels, trial), calibration=None)


def larger_problem(labels: int, trial: int) -> ScoredTask:
    data = planted_partition(8000, 5, homophily=0.8, seed=trial)
    return replace(split_problem(data, labels, trial), calibration=None)


def made_problem(name: str, labels: int, trial: int) -> ScoredTask:
    """Make a kind of graph; one without features is marked by nodes for calibration."""
    problem = as_problem(name, labels, trial)
    return replace(problem, calibration=problem.test) if name == NO_FEATURES else problem


BLOCK = "suspects"
COMPARISON = Comparison(
    cases={
        **{name: partial(dataset_problem, name) for name in DATASETS},
        LARGER: larger_problem,
        **{name: partial(made_problem, name) for name in MADE if name in KINDS},
    },
    methods={"5 % planted": lambda _: Planted(best(), SHARE)},
    labels=(5, 20),
    rows=Path("results", "suspect-edges.jsonl"),
    measure=lambda problem, method, trial: method.measure(problem, trial),
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return how many planted edges each rule finds, and the precision of the first 50."""
    cells = {
        case: several
        for case in COMPARISON.cases
        if (several := [row for key, row in rows.items() if key[0] == case])
    }
    return markdown_rows(
        ["%", *(RULES[rule] for rule in RULES), "precision of 50"],
        [[case, *_found(some)] for case, some in cells.items()],
    )


def _found(rows: list[Row]) -> list[str]:
    """Return the share of planted edges among the first n, the number planted, and of 50."""
    means = {
        rule: np.mean([100 * row["found"][rule][1] / row["planted"] for row in rows])
        for rule in RULES
        if rule in rows[0]["found"]
    }
    best = max(mean for rule, mean in means.items() if rule != "truth")
    texts = {rule: f"**{m:.0f}**" if m == best else f"{m:.0f}" for rule, m in means.items()}
    precision = 100 * np.mean([row["found"]["all"][0] / 50 for row in rows])
    return [*(texts.get(rule, "") for rule in RULES), f"{precision:.0f}"]


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block=BLOCK)
