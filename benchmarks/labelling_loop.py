"""The labelling loop: what its suggestions bring, and how long an answer takes.

    OMP_NUM_THREADS=1 python -m benchmarks.labelling_loop [--only cora] [--trials 10]
    OMP_NUM_THREADS=1 python -m benchmarks.labelling_loop --wait cora [--answers 40]
    python -m benchmarks.labelling_loop --show [--page docs/guide/label.md]

The first simulates an annotator who knows all labels: two random labels of each class to begin
with; in every round each rule chooses K more nodes among those that are not set aside for testing,
until there are ten per class; the default method is fitted again after each. Accuracy is that on
1,000 test nodes. The three rules begin with the same labels and test nodes, so differences are
paired.

The second starts the server, answers as the page does, and notes the time from the key to the next
node, and to probabilities that know of the answer; the next answer follows a second after these.
"""

from __future__ import annotations

import csv
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared import (
    Comparison,
    Key,
    Row,
    add_row,
    arguments,
    compute,
    publish,
    shared_rows,
    standard_error,
)
from benchmarks.markdown import markdown_rows
from nodecopy.data import NodeDataset, load_dataset
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.paper.study import DATASET_TITLES
from nodecopy.rng import stream

START, END, TEST = 2, 10, 1000
RULES = ("random", "entropy", "nodecopy")


def simulated(name: str, rule: str, repeat: int) -> Row:
    """Return accuracies on test nodes, and estimates, before the first round and after each."""
    dataset, rng = load_dataset(name), stream(repeat, "labels", name)
    known = np.flatnonzero(dataset.labels >= 0)
    test = rng.choice(known, TEST, replace=False)
    pool = np.setdiff1d(known, test)
    labels = np.full(dataset.num_nodes, -1)
    for k in range(dataset.num_classes):
        first = rng.choice(pool[dataset.labels[pool] == k], START, replace=False)
        labels[first] = k
    clf = NodeCopyClassifier(random_state=repeat, progress=False)
    clf.fit(dataset.graph, dataset.features, labels)
    forbidden = np.setdiff1d(np.arange(dataset.num_nodes), pool)
    row: Row = {"counts": [], "accuracy": [], "estimate": []}
    labelled = np.flatnonzero(labels >= 0)
    for step in range(START, END + 1):
        estimate = clf.estimated_accuracy()
        row["counts"].append(len(labelled))
        row["accuracy"].append(round(clf.score(test, dataset.labels[test]), 4))
        row["estimate"].append(round(estimate.accuracy, 4))
        if step < END:
            taken = np.union1d(forbidden, labelled)
            more = choose(rule, clf, dataset.num_classes, taken, stream(repeat, "choice", step))
            clf.add_labels({node: dataset.labels[node] for node in more})
            labelled = np.concatenate([labelled, more])
    return row


def choose(
    rule: str, clf: NodeCopyClassifier, count: int, taken: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    if rule == "nodecopy":
        return clf.suggest(count, exclude=taken)
    free = np.ones(len(clf.posterior_.entropy), bool)
    free[taken] = False
    if rule == "random":
        return rng.choice(np.flatnonzero(free), count, replace=False)
    return np.argsort(-np.where(free, clf.posterior_.entropy, -1.0))[:count]


COMPARISON = Comparison(
    cases={name: partial(lambda name, *_: name, name) for name in DATASET_TITLES},
    methods={rule: partial(lambda rule, _: rule, rule) for rule in RULES},
    labels=(START,),
    rows=Path("results", "labelling-loop.jsonl"),
    measure=simulated,
)


def tables(rows: Mapping[Key, Row]) -> str:
    return "\n\n".join([*curve_tables(rows), *wait_table(rows)])


def curve_tables(rows: Mapping[Key, Row]) -> Iterator[str]:
    """Yield a table of mean accuracies for each dataset, with gains over random choice."""
    for name, title in DATASET_TITLES.items():
        shared = shared_rows(COMPARISON, rows, name, START)
        if not shared:
            continue
        curves = {r: 100 * np.array([x["accuracy"] for x in some]) for r, some in shared.items()}
        lines = []
        for rule, values in curves.items():
            gains = values - curves["random"]
            cells = [f"{mean:.1f}" for mean in values.mean(0)]
            if rule != "random":
                errors = zip(gains.mean(0), standard_error(gains), strict=True)
                gained = ["", *[f" ({gain:+.1f} ± {error:.1f})" for gain, error in errors][1:]]
                cells = [cell + more for cell, more in zip(cells, gained, strict=True)]
            lines.append([rule, *cells[::2]])
        counts = shared["random"][0]["counts"][::2]
        yield f"**{title}**, accuracy %, {len(shared['random'])} repeats"
        yield markdown_rows(["labels", *map(str, counts)], lines)


def waits(name: str, answers: int) -> dict:
    """Return milliseconds from the key to the next node and to a fit that knows of the answer."""
    dataset = load_dataset(name)
    with tempfile.TemporaryDirectory() as folder:
        files = write_tables(dataset, Path(folder))
        command = [sys.executable, "-m", "nodecopy", "label", *files, "--no-browser"]
        command += ["--classes", ",".join(dataset.class_names), "--out", f"{folder}/run"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            try:
                lines = iter(program.stdout.readline, "")
                url = next(
                    found[1] for line in lines if (found := re.search(r"at (http\S+)", line))
                )
                return answered(url, dataset, answers)
            finally:
                program.kill()


def write_tables(dataset: NodeDataset, folder: Path) -> list[str]:
    words = dataset.features.tocoo()
    cells = zip(words.row.tolist(), words.col.tolist(), words.data.tolist(), strict=True)
    rng, first = np.random.default_rng(0), []
    for k in range(dataset.num_classes):
        first += rng.choice(np.flatnonzero(dataset.labels == k), START, replace=False).tolist()
    tables = {
        "edges": [("source", "target"), *dataset.graph.edges().tolist()],
        "features": [("id", "feature", "value"), *((i, f"w{j}", x) for i, j, x in cells)],
        "labels": [("id", "label"), *((i, dataset.class_names[dataset.labels[i]]) for i in first)],
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return [word for name in tables for word in (f"--{name}", str(folder / f"{name}.csv"))]


def answered(url: str, dataset: NodeDataset, answers: int) -> dict:
    _, _, host, token, _ = url.split("/")
    link = http.client.HTTPConnection(host, timeout=600)

    def ask(path: str, body: dict | None = None) -> dict | None:
        content = None if body is None else json.dumps(body)
        kind = {"Content-Type": "application/json"}
        link.request("GET" if body is None else "POST", f"/{token}/api/{path}", content, kind)
        raw = link.getresponse().read()
        return json.loads(raw) if raw else None

    def until(stamp: int, true) -> dict:
        while True:
            state = ask(f"state?stamp={stamp}")
            if state is not None and true(state):
                return state
            time.sleep(0.02)

    state = until(-1, lambda s: s["next"] and s["fit"] == "full")
    row: dict = {"next": [], "refit": [], "full": []}
    for _ in range(answers):
        id = state["next"][0]
        label = dataset.class_names[dataset.labels[int(id)]]
        start = time.perf_counter()
        said = ask("answer", {"do": "label", "id": id, "label": label, "seen": None})
        row["next"].append(round(1000 * (time.perf_counter() - start), 1))
        version = said["state"]["version"]
        state = until(-1, lambda s, v=version: s["fitted"] >= v)
        row["refit"].append(round(1000 * (time.perf_counter() - start), 1))
        state = until(-1, lambda s, v=version: s["fitted"] >= v and s["fit"] == "full")
        row["full"].append(round(1000 * (time.perf_counter() - start), 1))
        time.sleep(1.0)
    return row


def wait_table(rows: Mapping[Key, Row]) -> Iterator[str]:
    lines = []
    for name, title in DATASET_TITLES.items():
        if row := rows.get((name, START, 0, "wait")):
            cells = [
                f"{np.median(row[what]):,.0f} ms, {np.quantile(row[what], 0.95):,.0f} ms"
                for what in ("next", "refit", "full")
            ]
            lines.append([f"{title}, {len(row['next'])} answers", *cells])
    if lines:
        heads = ["from the key to", "the next node", "probabilities", "of the full fit"]
        yield markdown_rows(heads, lines)


def main() -> None:
    parser = arguments(COMPARISON, __doc__)
    parser.add_argument("--wait", metavar="DATASET", help="measure how long an answer takes")
    parser.add_argument("--answers", type=int, default=40)
    options = parser.parse_args()
    options.show |= bool(options.wait)
    rows = compute(COMPARISON, options)
    if options.wait:
        key = options.wait, START, 0, "wait"
        add_row(options.rows, rows, key, waits(options.wait, options.answers))
    publish(tables(rows), options.page)


if __name__ == "__main__":
    main()
