"""New nodes: nodes are held out with their edges and predicted later, without fitting again.

    OMP_NUM_THREADS=1 python -m benchmarks.new_nodes [--trials 3] [--only cora]
    python -m benchmarks.new_nodes --show --page docs/new-nodes.md

*Accuracy*: 1 % or 10 % of the nodes, none of them labelled, are held out with all of their edges.
The default is fitted to the rest and predicts them with `predict_new`; beside it, the accuracy on
the same nodes of a fit to the whole graph with the same labels, and accuracy and confidence if the
edges of the new nodes are not given. Debian's programs (`benchmarks.debian_tables`) go through
files, as `nodecopy predict RUN` reads them. *Sizes*: graphs
of `benchmarks.large`; a model is saved with its graph and loaded, and ten new nodes are predicted
five times. CPU seconds of loading and of a prediction, and the largest difference of a probability
from `predict_on` of the whole grown graph; likewise for 1,000 new nodes at once. *Another graph*: a
graph is cut into two halves, of random nodes or along its second eigenvector ("far"); the default
is fitted to one half with 20 labels per class, and predicts the other as a graph of other nodes;
beside it, what held-out labels let expect, and a fit to the other half with 20 labels per class.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks.compared import (
    Comparison,
    Key,
    Row,
    ScoredTask,
    arguments,
    compute,
    publish,
    shared_rows,
)
from benchmarks.debian_tables import Programs
from benchmarks.debian_tables import problem as debian
from benchmarks.large import made_graph
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import as_problem, split_problem
from nodecopy import NodeCopyClassifier
from nodecopy.core.rng import child_seed, stream
from nodecopy.core.saving import save
from nodecopy.graph import Graph
from nodecopy.problem.stored import StoredNodes
from nodecopy.result import GRAPH_FILE, MODEL_FILE
from nodecopy.run import FitSettings, label_tables
from nodecopy.run.folder import save_model
from nodecopy.run.predict import predict_tables

DATASETS = ("cora", "citeseer", "pubmed")
KINDS = ("homophily 0.3", "power-law degrees", "digits")
SHARES = {"1 %": 0.01, "10 %": 0.1}
SIZES = (10_000, 100_000, 1_000_000)
FEW, MANY, REPEATS = 10, 1000, 5
RANDOM, FAR = "random halves", "far halves"
ROWS = Path("results", "new-nodes.jsonl")


def measured(problem: ScoredTask | Programs, share: float, trial: int) -> Row:
    """Predict held-out nodes later, and with a fit to the whole graph."""
    of = of_tables if isinstance(problem, Programs) else of_arrays
    frames, truth = of(problem, share, trial)
    row: Row = {"new": len(truth)}
    for name, frame in frames.items():
        row[name] = round(float(np.mean(frame["predicted"].to_numpy() == truth)), 5)
        row[f"{name}, confidence"] = round(float(frame["confidence"].mean()), 5)
    return row


Frames = tuple[dict[str, pd.DataFrame], np.ndarray]


def of_arrays(problem: ScoredTask, share: float, trial: int) -> Frames:
    """Return predictions of the new nodes: later, by a fit to the whole graph, without edges."""
    task, truth = problem.task, problem.truth
    others = np.setdiff1d(np.arange(len(truth)), task.train)
    new = stream(trial, "held out").permutation(others)[: round(share * len(truth))]
    y = np.full(len(truth), -1)
    y[task.train] = task.labels[task.train]
    old, graph, edges = without(task.graph, new)
    method = NodeCopyClassifier(random_state=child_seed(trial, "method"), progress=False)
    clf = method.fit(graph, task.features[old], y[old])
    x = task.features[new]
    frames = {"later": clf.predict_new(x, edges), "no edges": clf.predict_new(x, [])}
    whole = method.fit(task.graph, task.features, y).to_frame().loc[new]
    return frames | {"whole": whole}, truth[new]


def without(graph: Graph, new: np.ndarray) -> tuple[np.ndarray, Graph, np.ndarray]:
    """Return the other nodes, their graph, and the edges of the new nodes, numbered after them."""
    old = np.setdiff1d(np.arange(graph.num_nodes), new)
    place = np.argsort(np.concatenate([old, new]))
    edges = place[graph.edges()]
    return old, graph.induced(old), edges[(edges >= len(old)).any(1)]


def of_tables(given: Programs, share: float, trial: int) -> Frames:
    """Hold out rows of files, and return what `of_arrays` does."""
    files = {name: given.folder / f"{name}.csv" for name in ("edges", "programs", "libraries")}
    edges, programs = pd.read_csv(files["edges"]), pd.read_csv(files["programs"])
    drawn = stream(trial, "held out").permutation(given.others.index)
    new = drawn[: round(share * len(programs))]
    is_new = programs["package"].isin(new)
    touched = edges["package"].isin(new) | edges["other"].isin(new)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = {"old": programs[~is_new], "new": programs[is_new]}
        rows |= {"old_edges": edges[~touched], "new_edges": edges[touched]}
        for name, frame in rows.items():
            frame.to_csv(folder / f"{name}.csv", index=False)
        labels = folder / "labels.csv"
        given.known.to_csv(labels)

        def fitted(links: Path, nodes: Path) -> Any:
            both = str(nodes), str(files["libraries"])
            settings = FitSettings(str(links), str(labels), both, random_state=trial)
            return label_tables(settings, progress=False)

        save_model(fitted(folder / "old_edges.csv", folder / "old.csv"), folder / "model")
        added = FitSettings(str(folder / "new_edges.csv"), nodes=str(folder / "new.csv"))
        later = predict_tables(folder / "model", added, only_new=True)[1].frame()
        whole = fitted(files["edges"], files["programs"]).result.predictions.frame()
    return {"later": later.loc[new], "whole": whole.loc[new]}, given.others[new].to_numpy()


def other_graph(problem: ScoredTask, how: str, trial: int) -> Row:
    """Fit to one half of a graph, and predict the other, of which no node is known."""
    graph, x, truth = problem.task.graph, problem.task.features, problem.truth
    order = stream(trial, "halves").permutation(len(truth))
    if how == FAR:
        order = np.argsort(second_eigenvector(graph, trial))
    halves = [np.sort(part) for part in np.array_split(order, 2)]
    method = NodeCopyClassifier(random_state=child_seed(trial, "method"), progress=False)
    fits, known = [], []
    for number, nodes in enumerate(halves):
        split = twenty_of_each(truth[nodes], stream(trial, "labels", number))
        known.append(split)
        y = np.where(split, truth[nodes], -1)
        fits.append(clone(method).fit(graph.induced(nodes), x[nodes], y))
    there, test = halves[1], ~known[1]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "none of these nodes")
        posterior = fits[0].predict_on(graph.induced(there), x[there], numbers=-1)
    right = fits[0].classes_[posterior.probabilities.argmax(1)] == truth[there]
    trust = fits[0].result_.elsewhere(posterior)
    said = trust.accuracy
    own = fits[1].predict() == truth[there]
    return {
        "there": round(float(right[test].mean()), 5),
        "expected": [round(float(v), 5) for v in (said.accuracy, said.low, said.high)],
        "confidence": round(trust.confidence, 5),
        "own fit": round(float(own[test].mean()), 5),
        "unseen": round(float(np.mean(~np.isin(truth[there], fits[0].classes_))), 5),
    }


def twenty_of_each(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of 20 random nodes of each class, or all of a smaller one."""
    known = np.zeros(len(truth), bool)
    for number in np.unique(truth):
        known[rng.permutation(np.flatnonzero(truth == number))[:20]] = True
    return known


def second_eigenvector(graph: Graph, trial: int) -> np.ndarray:
    """Return where nodes are along the largest division of a graph, by power iterations [N]."""
    a = sp.csr_array(graph.symmetrise().to_scipy() != 0, dtype=float) + sp.eye_array(
        graph.num_nodes
    )
    degrees = np.asarray(a.sum(1)).ravel()
    v = stream(trial, "eigenvector").standard_normal(graph.num_nodes)
    for _ in range(60):
        v = a @ v / degrees
        v -= degrees @ v / degrees.sum()
    return v


def sized(nodes: int, labels: int, trial: int) -> Any:
    return made_graph(nodes + MANY, trial)


def timed(made: Any, count: int, trial: int) -> Row:
    """Fit, save and load; predict ``count`` new nodes some times."""
    graph, features, _, y = made
    new = stream(trial, "held out").permutation(np.flatnonzero(y < 0))[:MANY]
    old, kept, edges = without(graph, new)
    x = features[np.concatenate([old, new])]
    clf = NodeCopyClassifier(random_state=trial, progress=False).fit(kept, x[: len(old)], y[old])
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder, MODEL_FILE))
        save(Path(folder, GRAPH_FILE), StoredNodes.of(clf.result_.given))
        size = Path(folder, GRAPH_FILE).stat().st_size
        loading, loaded = cpu(lambda: NodeCopyClassifier.load(folder))
    seconds, differences = [], []
    for some in np.arange(MANY).reshape(-1, count)[:REPEATS]:
        of = edges[(edges < len(old) + some[-1] + 1).all(1) & (edges >= len(old) + some[0]).any(1)]
        of = of[((of < len(old)) | (of >= len(old) + some[0])).all(1)]
        of = np.where(of >= len(old), of - some[0], of)
        own = x[len(old) + some]
        spent, table = cpu(partial(loaded.predict_new, own, of))
        seconds.append(spent)
        grown = Graph.from_edges(len(old) + count, np.concatenate([kept.edges(), of]))
        whole = clf.predict_on(grown, np.concatenate([x[: len(old)], own])).probabilities
        columns = [f"p_{name}" for name in clf.classes_]
        differences.append(np.abs(table[columns].to_numpy() - whole[len(old) :]).max())
    return {
        "nodes": len(old),
        "edges": kept.num_edges,
        "graph file": size,
        "loading": round(loading, 3),
        "first": round(seconds[0], 3),
        "seconds": round(float(np.median(seconds)), 3),
        "difference": round(float(np.max(differences)), 6),
        "mean difference": round(float(np.mean(differences)), 6),
    }


def cpu(work: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


COMPARISON = Comparison(
    cases={
        **{name: partial(split_problem, name) for name in DATASETS},
        **{name: partial(as_problem, name) for name in KINDS},
        "Debian's programs": debian,
    },
    methods={name: lambda _, share=share: share for name, share in SHARES.items()},
    labels=(20,),
    rows=ROWS,
    measure=measured,
)
OTHERS = Comparison(
    cases={name: COMPARISON.cases[name] for name in (*DATASETS, *KINDS)},
    methods={name: lambda _, name=name: name for name in (RANDOM, FAR)},
    labels=(20,),
    rows=ROWS,
    measure=other_graph,
)
TIMES = Comparison(
    cases={f"{n:,} nodes": partial(sized, n) for n in SIZES},
    methods={f"{count:,} new nodes": lambda _, count=count: count for count in (FEW, MANY)},
    labels=(20,),
    rows=ROWS,
    measure=timed,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return the accuracy on new nodes, and what a prediction of them costs."""
    accuracy = []
    for case in COMPARISON.cases:
        cell = shared_rows(COMPARISON, rows, case, 20)
        if cell:
            counts = "{} and {} ({})".format(*(cell[s][0]["new"] for s in SHARES), len(cell["1 %"]))
            alone = _alone(cell["10 %"])
            accuracy.append([case, counts, *(_accuracies(cell[share]) for share in SHARES), alone])
    times = []
    for case in TIMES.cases:
        cell = shared_rows(TIMES, rows, case, 20)
        for name, several in cell.items():
            row = several[0]
            size = f"{row['graph file'] / 2**20:.1f} MiB"
            spent = (f"{row[key]:.2f}" for key in ("loading", "first", "seconds"))
            times.append([case, name, size, *spent, f"{row['difference']:.4f}"])
    heads = [
        "accuracy, %",
        "new nodes (trials)",
        *(f"{share}: later, whole, difference" for share in SHARES),
        "10 %, without edges: accuracy, confidence",
    ]
    others = []
    for case in OTHERS.cases:
        for how, several in shared_rows(OTHERS, rows, case, 20).items():
            others.append([f"{case}, {how} ({len(several)})", *_elsewhere(several)])
    columns = ["another graph, %", "accuracy", "own fit", "expected (95% holds)", "confidence"]
    costs = ["CPU s", "", "graph file", "loading", "first", "median", "largest difference"]
    pairs = (heads, accuracy), (costs, times), (columns, others)
    return "\n\n".join(markdown_rows(*pair) for pair in pairs)


def _accuracies(several: list[Row]) -> str:
    later, whole = (100 * np.mean([row[key] for row in several]) for key in ("later", "whole"))
    return f"{later:.1f}, {whole:.1f}, {later - whole:+.1f}"


def _elsewhere(several: list[Row]) -> list[str]:
    """Return the accuracy on another graph, that of a fit to it, what was expected, confidence."""
    there, own, said = (
        100 * np.mean([row[key] for row in several]) for key in ("there", "own fit", "confidence")
    )
    expected = 100 * np.mean([row["expected"][0] for row in several])
    holds = np.mean([r["expected"][1] <= r["there"] <= r["expected"][2] for r in several])
    return [f"{there:.1f}", f"{own:.1f}", f"{expected:.1f} ({holds:.0%})", f"{said:.1f}"]


def _alone(several: list[Row]) -> str:
    """Return accuracy and confidence of new nodes whose edges are not given."""
    if "no edges" not in several[0]:
        return ""
    names = "no edges", "no edges, confidence"
    return ", ".join(f"{100 * np.mean([row[name] for row in several]):.1f}" for name in names)


def main() -> None:
    """Compute what is missing, and publish it."""
    chosen = arguments(COMPARISON, str(__doc__)).parse_args()
    compute(TIMES, chosen)
    compute(OTHERS, chosen)
    publish(tables(compute(COMPARISON, chosen)), chosen.page)


if __name__ == "__main__":
    main()
