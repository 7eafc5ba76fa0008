"""Fits to tables for tests of the page: a real one with awkward names, and made-up large ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.fit import Fit
from nodecopy.estimator.names import NodeNames
from nodecopy.estimator.saved import FittedState
from nodecopy.features.scaling import Scaling
from nodecopy.graph import Graph
from nodecopy.posterior import Posterior
from nodecopy.problem.dataset import NodeDataset
from nodecopy.read.inspection import inspect_dataset
from nodecopy.read.tables import TableDataset
from nodecopy.run import FitSettings, LabelledGraph
from nodecopy.run.fit import analyse_fit, read_source
from nodecopy.trust.assessment import Validation
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


def fit_awkward_tables(folder: Path) -> LabelledGraph:
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
    settings = FitSettings(*files, method="paper", calibrate=True, folds=2)
    quick = NodeCopyClassifier(short_gcn(10, 2, 2), calibrate=True, folds=2, random_state=0)
    table = read_source(settings)
    return analyse_fit(settings, table, quick.fit(table))


def make_result(
    num_nodes: int,
    num_classes: int = 3,
    *,
    ids: Sequence[str] | None = None,
    edges: Iterable[tuple[int, int]] | None = None,
    validation: Validation | None = None,
    suggestions: int = 5,
    suspects: int = 4,
) -> LabelledGraph:
    """Make up a fit: a ring of nodes, the first of which are labelled, and random predictions."""
    rng = np.random.default_rng(1)
    ring = [(i, (i + 1) % num_nodes) for i in range(num_nodes)] if edges is None else list(edges)
    graph = Graph.from_edges(num_nodes, np.array(ring).reshape(-1, 2))
    labels = np.where(np.arange(num_nodes) < 2 * num_classes, np.arange(num_nodes), -1)
    labels = np.where(labels >= 0, labels % num_classes, -1)
    names = tuple(f"class {k}" for k in range(num_classes))
    dataset = NodeDataset("edges", graph, np.ones((num_nodes, 1)), labels, names)
    given = [f"n{i}" for i in range(num_nodes)] if ids is None else ids
    table = TableDataset(dataset, np.array(given, object), ())
    classifier, posterior = NodeCopyClassifier(), _posterior(num_nodes, num_classes, rng)
    p = posterior.probabilities
    model: Any = SimpleNamespace(probabilities=p, posterior=posterior, predict=Posterior)
    state = FittedState(np.array(names), 1, Scaling(), None, model)
    seen: Any = SimpleNamespace(
        graph=graph,
        features=dataset.features,
        novelty=lambda posterior: np.linspace(0, 1, num_nodes),
    )
    classifier.fit_ = Fit(state, NodeNames(None, num_nodes), seen)
    return LabelledGraph(
        FitSettings("edges.csv", "labels.csv", calibrate=validation is not None),
        table,
        inspect_dataset(dataset),
        classifier,
        validation,
        NextLabels(np.arange(num_nodes)[::-1][:suggestions].copy(), np.ones(suggestions)),
        SuspectEdges(graph.edges()[:suspects], np.full(suspects, 9.5), 0.05),
    )


def contradicted(labels: int, wrong: int, k: int = 3) -> Validation:
    """Held-out predictions of the first nodes: right and sure, but for the last few."""
    truth = np.arange(labels) % k
    predicted = np.where(np.arange(labels) < labels - wrong, truth, (truth + 1) % k)
    return Validation(np.arange(labels), truth, 0.97 * np.eye(k)[predicted] + 0.03 / k, 5)


def _posterior(n: int, k: int, rng: np.random.Generator) -> Posterior:
    p = rng.dirichlet(np.full(k, 0.5), n)
    entropy = -(p * np.log(np.maximum(p, 1e-12))).sum(1)
    return Posterior(p, 0.4 * entropy, 0.3 * entropy, 0.2 * entropy, 3, 2, 0.1 * entropy)
