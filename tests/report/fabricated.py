"""Fits to tables for tests of the page: a real one with awkward names, and made-up large ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from nodecopy.classifiers import Posterior
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.graph import Graph
from nodecopy.lists import Lists
from nodecopy.problem.problem import Problem
from nodecopy.read.tables import read_tables
from nodecopy.result import ClassResult, Result
from nodecopy.stack.held_out import HeldOut
from nodecopy.trust.missing_edges import MissingEdges
from nodecopy.trust.next_labels import NextLabels
from nodecopy.trust.suspect_edges import SuspectEdges
from tests.csv_files import write_csv
from tests.problems import short_gcn

SCRIPT = "<script>alert(1)</script>"
HOSTILE_IDS = (
    SCRIPT,
    "</script><img src=x onerror=alert(2)>",
    "<!--<script>",
    "{{style}} &lt;b&gt; 'q' \"Q\"",
    "two\nlines",
    "שלום עולם",
    "🙂 #node=%zz",
    "long" * 75,
    "9007199254740993",  # beyond what a number of JavaScript can hold
)
HOSTILE_CLASSES = ("</script>" + SCRIPT, "عربي", ("name " * 60).strip())


def fit_awkward_tables(folder: Path) -> Result:
    """Fit three classes of 20 nodes each, then an isolated one; every name tries to break out."""
    ids = [*HOSTILE_IDS, *(f"v{i}" for i in range(61 - len(HOSTILE_IDS)))]
    kind = np.arange(60) % 3
    rng = np.random.default_rng(0)
    ring = [(i, (i + 3) % 60) for i in range(60)]
    chords = [(i, int(rng.choice(np.flatnonzero(kind == kind[i])))) for i in range(60)]
    star = [(0, 3 * i) for i in range(1, 20)]
    edges = [(a, b) for a, b in [*ring, *chords, *star, (1, 2)] if a != b]
    noise = rng.random((61, 6))
    features = noise + np.vstack([np.repeat(np.eye(3)[kind], 2, axis=1), np.zeros(6)])
    write_csv(folder / "edges.csv", ["source", "target"], [(ids[a], ids[b]) for a, b in edges])
    known = [(ids[i], HOSTILE_CLASSES[kind[i]]) for i in range(24)]
    write_csv(folder / "labels.csv", ["id", "label"], known)
    names = ["id", *(f"f{d}" for d in range(6))]
    write_csv(folder / "features.csv", names, [[i, *x] for i, x in zip(ids, features, strict=True)])
    files = [str(folder / f"{name}.csv") for name in ("edges", "labels", "features")]
    quick = NodeCopyClassifier(short_gcn(10, 2, 2), calibrate=True, folds=2, random_state=0)
    return quick.fit(read_tables(*files)).result_


def make_result(
    num_nodes: int,
    num_classes: int = 3,
    *,
    ids: Sequence[str] | None = None,
    edges: Iterable[tuple[int, int]] | None = None,
    held_out: HeldOut | None = None,
    per_class: int = 2,
    suggestions: int = 5,
    suspects: int = 4,
) -> Result:
    """Make up a fit: a ring of nodes, the first of which are labelled, and random predictions."""
    rng = np.random.default_rng(1)
    ring = [(i, (i + 1) % num_nodes) for i in range(num_nodes)] if edges is None else list(edges)
    graph = Graph.from_edges(num_nodes, np.array(ring).reshape(-1, 2))
    labels = np.where(np.arange(num_nodes) < per_class * num_classes, np.arange(num_nodes), -1)
    labels = np.where(labels >= 0, labels % num_classes, -1)
    names = np.array([f"n{i}" for i in range(num_nodes)] if ids is None else ids, object)
    classes, ones = [f"class {k}" for k in range(num_classes)], np.ones((num_nodes, 1))
    given = Problem("made up", graph, ones, labels, classes, names=names).scaled_by("none")
    posterior = _posterior(num_nodes, num_classes, rng)
    model: Any = SimpleNamespace(
        probabilities=posterior.probabilities,
        posterior=posterior,
        predict=Posterior,
        held_out=held_out,
    )
    result = ClassResult(given, model, {"method": "best", "random_state": 0})
    vars(result)["lists"] = Lists(result)
    vars(result.lists).update(  # cached properties that are not computed again
        next_labels=NextLabels(
            np.arange(num_nodes)[::-1][:suggestions].copy(), np.ones(suggestions)
        ),
        missing_edges=MissingEdges(
            np.array([[0, 2], [1, 3]])[:suspects],
            np.array([0.5, 0.25])[:suspects],
            np.full(min(suspects, 2), None, object),
        ),
        suspect_edges=SuspectEdges(graph.edges()[:suspects], np.full(suspects, 9.5), 0.05),
        novelty=np.linspace(0, 1, num_nodes),
    )
    return result


def contradicted(labels: int, wrong: int, k: int = 3) -> HeldOut:
    """Held-out predictions of the first nodes: right and sure, but for the last few."""
    truth = np.arange(labels) % k
    predicted = np.where(np.arange(labels) < labels - wrong, truth, (truth + 1) % k)
    p, folds = 0.97 * np.eye(k)[predicted] + 0.03 / k, np.arange(labels) % 5
    return HeldOut(np.arange(labels), truth, p, folds)


def _posterior(n: int, k: int, rng: np.random.Generator) -> Posterior:
    p = rng.dirichlet(np.full(k, 0.5), n)
    entropy = -(p * np.log(np.maximum(p, 1e-12))).sum(1)
    return Posterior(p, 0.4 * entropy, 0.3 * entropy, 0.2 * entropy, 3, 2, 0.1 * entropy)
