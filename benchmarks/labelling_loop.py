"""The labelling loop: what its suggestions bring, and how long an answer takes.

    OMP_NUM_THREADS=1 python -m benchmarks.labelling_loop [--datasets cora] [--repeats 10]
    OMP_NUM_THREADS=1 python -m benchmarks.labelling_loop --wait cora [--answers 40]
    python -m benchmarks.labelling_loop --show [--page docs/guide/label.md]

The first simulates an annotator who knows all labels: two random labels of each class to begin
with; in every round each rule chooses K more nodes among those that are not set aside for testing,
until there are ten per class; the default method is fitted again after each. Accuracy is that on
1,000 test nodes. The three rules begin with the same labels and test nodes, so differences are
paired.

The second starts the server, answers as the page does, and notes the time from the key to the next
node, and to probabilities that know of the answer; the next answer follows a second after these.
Rows are kept in a JSON-lines file and are not computed twice.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks.paper_tables import replace_block
from nodecopy.data import NodeDataset, load_dataset
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.paper.study import DATASET_TITLES
from nodecopy.rng import stream

START, END, TEST = 2, 10, 1000
RULES = ("random", "entropy", "nodecopy")
ROWS = Path("results", "labelling-loop.jsonl")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--wait", metavar="DATASET", help="measure how long an answer takes")
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    chosen = parser.parse_args(words)
    torch.set_num_threads(1)
    rows = read_rows(chosen.rows)
    if chosen.wait:
        keep(chosen.rows, rows, ("wait", chosen.wait, 0), waits(chosen.wait, chosen.answers))
    for repeat in range(0 if chosen.show or chosen.wait else chosen.repeats):
        for key in [(name, rule, repeat) for name in chosen.datasets for rule in RULES]:
            if key not in rows:
                keep(chosen.rows, rows, key, simulated(*key))
    text = tables(rows)
    print(text)
    if chosen.page:
        chosen.page.write_text(replace_block(chosen.page.read_text(), text))


def tables(rows: dict) -> str:
    return "\n".join([*curve_tables(rows), *wait_table(rows)]).strip()


def read_rows(path: Path) -> dict:
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(row["key"]): row for row in map(json.loads, lines)}


def keep(path: Path, rows: dict, key: tuple, row: dict) -> None:
    rows[key] = {"key": key, **row}
    with path.open("a") as file:
        file.write(json.dumps(rows[key]) + "\n")


def simulated(name: str, rule: str, repeat: int) -> dict:
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
    row: dict = {"labels": [], "accuracy": [], "estimate": []}
    labelled = np.flatnonzero(labels >= 0)
    for step in range(START, END + 1):
        estimate = clf.estimated_accuracy()
        row["labels"].append(len(labelled))
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


def curve_tables(rows: dict) -> Iterator[str]:
    """Yield a table of mean accuracies for each dataset, with gains over random choice."""
    for name, title in DATASET_TITLES.items():
        held = [{r for n, rule, r in rows if (n, rule) == (name, wanted)} for wanted in RULES]
        repeats = sorted(set.intersection(*held))
        if not repeats:
            continue
        curves = {
            rule: np.array([rows[name, rule, r]["accuracy"] for r in repeats]) for rule in RULES
        }
        labels, shown = rows[name, "random", repeats[0]]["labels"], slice(0, None, 2)
        times = f"{len(repeats)} repeat{'s' if len(repeats) > 1 else ''}"
        yield f"**{title}**, accuracy %, {times}\n"
        yield "| labels | " + " | ".join(map(str, labels[shown])) + " |"
        yield "|---" * (len(labels[shown]) + 1) + "|"
        for rule, values in curves.items():
            gains = 100 * (values - curves["random"])[:, shown]
            cells = [f"{a:.1f}" for a in 100 * values.mean(0)[shown]]
            if rule != "random":
                told = zip(cells[1:], gains.T[1:], strict=True)
                cells = [cells[0], *(f"{cell} ({with_error(gain)})" for cell, gain in told)]
            yield f"| {rule} | " + " | ".join(cells) + " |"
        yield ""


def with_error(gains: np.ndarray) -> str:
    """Return a mean, with its standard error where there are several."""
    if len(gains) < 2:
        return f"{gains.mean():+.1f}"
    return f"{gains.mean():+.1f} ± {gains.std(ddof=1) / np.sqrt(len(gains)):.1f}"


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


def wait_table(rows: dict) -> Iterator[str]:
    held = [
        (title, rows["wait", name, 0])
        for name, title in DATASET_TITLES.items()
        if ("wait", name, 0) in rows
    ]
    if held:
        yield "| from the key to | the next node | probabilities | of the full fit |"
        yield "|---|---|---|---|"
    for title, row in held:
        cells = [
            f"{np.median(row[what]):,.0f} ms, {np.quantile(row[what], 0.95):,.0f} ms"
            for what in ("next", "refit", "full")
        ]
        yield f"| {title}, {len(row['next'])} answers | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
