"""Deletion curves: what predictions lose where the named evidence is removed.

    OMP_NUM_THREADS=1 python -m benchmarks.explanations [--trials 3] [--only cora]
    python -m benchmarks.explanations --show --page docs/explanations.md

The default is fitted to 20 labels per class, and 40 nodes without a label are explained, no two of
them neighbours. From each, 1, 3, 5 or 10 pieces of evidence are removed: edges, or own
words. The fitted model then predicts the changed graph (`predict_on`), without fitting again. All
40 nodes are changed in one graph. Drops are those of the probability of the class that was
predicted, in points. The row "time" has the median CPU milliseconds of `explain` for one node, and
the row "sum" how far the waterfalls of 1,000 random nodes end from log p_a / p_b of the prediction,
and how much of it is not divided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.compared import Comparison, Key, Row, ScoredTask, main, shared_rows
from benchmarks.markdown import markdown_rows
from benchmarks.measure import cpu_seconds
from benchmarks.synthetic_graphs import split_problem
from nodecopy import Graph, NodeCopyClassifier
from nodecopy.core.rng import stream
from nodecopy.read.synthetic import planted_partition
from nodecopy.trust.explanation import Explanation

REMOVED = (1, 3, 5, 10)
NODES = 40
SUMMED = 1000
TIME, SUM = "time", "sum"

# Kind and number of each piece of a node, in the order of removal.
Pieces = list[tuple[str, int]]


class Explained(NamedTuple):
    """A fit, and explanations of some nodes."""

    classifier: NodeCopyClassifier
    nodes: list[int]
    explanations: list[Explanation]


@lru_cache(maxsize=1)
def explained(problem: ScoredTask) -> Explained:
    """Fit, and explain nodes of which no two are neighbours."""
    task = problem.task
    y = np.full(task.graph.num_nodes, -1)
    y[task.train] = problem.truth[task.train]
    classifier = NodeCopyClassifier(random_state=0).fit(task.graph, task.features, y)
    chosen: list[int] = []
    taken: set[int] = set()
    for node in stream(len(y), "explained").permutation(problem.test).tolist():
        if len(chosen) < NODES and node not in taken:
            chosen.append(node)
            taken.update(task.graph.neighbours(node).tolist())
    return Explained(classifier, chosen, classifier.result_.explanations(chosen))


def top(why: Explanation, candidates: Pieces, rng: np.random.Generator) -> Pieces:
    """Return the evidence for the class, the strongest first."""
    order = sorted(why.evidence, key=lambda row: -row.log_odds)
    pieces = [(row.source, row.number) for row in order if row.log_odds > 0]
    return [piece for piece in pieces if piece in candidates]


def same_kinds(why: Explanation, candidates: Pieces, rng: np.random.Generator) -> Pieces:
    """Return random pieces in place of those of `top`, each of the same kind."""
    drawn: dict[str, Pieces] = {}
    for at in rng.permutation(len(candidates)):
        drawn.setdefault(candidates[at][0], []).append(candidates[at])
    return [drawn[kind].pop() for kind, _ in top(why, candidates, rng)]


def neighbour_list(why: Explanation, candidates: Pieces, rng: np.random.Generator) -> Pieces:
    """Return the neighbours in the order of the graph; there may be fewer than are to go."""
    return [piece for piece in candidates if piece[0] == "neighbour"]


WAYS: dict[str, Callable[[Explanation, Pieces, np.random.Generator], Pieces]] = {
    "named evidence": top,
    "random, as many edges and words": same_kinds,
    "first neighbours": neighbour_list,
}
SHOWN = ("named evidence", "random, as many edges and words", "first neighbours")
SHOWN_COUNTS = (1, 3, 10)


def measure(problem: ScoredTask, way: str, trial: int) -> Row:
    """Remove more and more pieces of every node."""
    fit, task = explained(problem), problem.task
    if way == TIME:
        # Other nodes than those that were explained: nothing of them is kept.
        others = np.setdiff1d(problem.test, fit.nodes)[:NODES].tolist()
        times = [cpu_seconds(partial(fit.classifier.explain, node)) for node in others]
        return {"milliseconds": round(1000 * float(np.median(times)), 1)}
    if way == SUM:
        return _summed(fit.classifier, trial)
    x = sp.csr_array(task.features)
    pieces = []
    for node, why in zip(fit.nodes, fit.explanations, strict=True):
        candidates: Pieces = [("neighbour", i) for i in task.graph.neighbours(node).tolist()]
        candidates += [("column", d) for d in x[[node]].indices.tolist()]
        pieces.append(WAYS[way](why, candidates, stream(trial, "removed", way, node)))
    before = fit.classifier.predict_proba(fit.nodes)
    predicted = before.argmax(1)
    drops, changed = [], []
    for count in REMOVED:
        removed = dict(zip(fit.nodes, (some[:count] for some in pieces), strict=True))
        p = fit.classifier.predict_on(*without(task.graph, x, removed)).probabilities[fit.nodes]
        at = np.arange(len(p)), predicted
        drops.append(round(100 * float(np.mean(before[at] - p[at])), 2))
        changed.append(round(100 * float(np.mean(p.argmax(1) != predicted)), 1))
    return {"drops": drops, "changed": changed}


def _summed(classifier: NodeCopyClassifier, trial: int) -> Row:
    """Compare waterfalls with predictions."""
    p = classifier.predict_proba()
    nodes = stream(trial, "summed").choice(len(p), SUMMED, replace=False)
    first, second = np.sort(p[nodes], axis=1)[:, :-3:-1].T
    target = np.log(first / second)
    several = classifier.result_.explanations(nodes.tolist())
    ends = np.array([why.bars[-1].end for why in several])
    left = [
        row.log_odds for why in several for row in why.evidence if row.source == "not explained"
    ]
    parts = {"log_odds": float(np.mean(target)), "not_divided": float(np.mean(np.abs(left)))}
    return {"error": float(np.abs(ends - target).max())} | parts


def without(graph: Graph, x: sp.csr_array, removed: Mapping[int, Pieces]) -> tuple:
    """Return the graph and the features without some edges and words of some nodes."""
    edges, features = graph.to_scipy().tolil(), x.tolil()
    for node, pieces in removed.items():
        for kind, number in pieces:
            if kind == "neighbour":
                edges[node, number] = edges[number, node] = 0
            else:
                features[node, number] = 0
    kept = sp.csr_array(edges)
    kept.eliminate_zeros()
    left = sp.csr_array(features)
    left.eliminate_zeros()
    return Graph.from_scipy(kept), left


def synthetic(homophily: float, labels: int, trial: int) -> ScoredTask:
    data = planted_partition(2000, 5, homophily=homophily, mean_degree=5, seed=trial)
    return split_problem(data, labels, trial)


COMPARISON = Comparison(
    cases={name: partial(split_problem, name) for name in ("cora", "citeseer", "pubmed")}
    | {f"homophily {h}": partial(synthetic, h) for h in (0.8, 0.1)},
    methods={way: lambda _, way=way: way for way in (*WAYS, TIME, SUM)},
    labels=(20,),
    rows=Path("results/explanations.jsonl"),
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return a line for each case: mean drops, and what the last removal changes."""
    cases = {case: shared_rows(COMPARISON, rows, case, 20) for case in COMPARISON.cases}
    cases = {case: held for case, held in cases.items() if held}
    lines = [[case, *(_drops(held[way]) for way in SHOWN)] for case, held in cases.items()]
    times = [
        f"{case} {np.mean([row['milliseconds'] for row in held[TIME]]):.0f}"
        for case, held in cases.items()
    ]
    sums = [row for held in cases.values() for row in held[SUM]]
    divided = [
        f"{case} {mean('not_divided', held[SUM]):.2f} of {mean('log_odds', held[SUM]):.1f}"
        for case, held in cases.items()
    ]
    counts = ", ".join(map(str, SHOWN_COUNTS))
    return "\n\n".join(
        [
            markdown_rows([f"{counts} removed", *SHOWN], lines),
            f"Median CPU milliseconds for one node: {', '.join(times)}.",
            f"Waterfalls of {SUMMED * len(sums):,} random nodes end within "
            f"{max(row['error'] for row in sums):.0e} of the log-odds of the prediction. Of these, "
            f"on average, not divided: {', '.join(divided)}.",
        ]
    )


def mean(name: str, rows: list[Row]) -> float:
    return float(np.mean([row[name] for row in rows]))


def _drops(rows: list[Row]) -> str:
    drops, changed = (np.mean([row[name] for row in rows], 0) for name in ("drops", "changed"))
    shown = ", ".join(f"{drops[REMOVED.index(count)]:.0f}" for count in SHOWN_COUNTS)
    return f"{shown} ({changed[-1]:.0f} %)"


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables)
