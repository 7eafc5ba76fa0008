"""Debian's programs as tables: text, categories, numbers, four relations, two node types.

    OMP_NUM_THREADS=1 python -m benchmarks.debian_tables [--trials 10]
    python -m benchmarks.debian_tables --show --page docs/tables.md

Writes files of the release that this system is to the folder debian, from the lists that apt keeps,
unless they are there: programs.csv and libraries.csv (name, description, priority, maintainer,
size), and edges.csv with a column that says depends, recommends, suggests or conflicts. The class
of a program is its section, of 14 that are topics; it is in no table. Libraries are packages of
other sections that at least five programs name. The tables are read without any option. Peers:
logistic regression on TF-IDF of the description, gradient boosting on all columns (64 components of
the TF-IDF), label propagation.
"""

from __future__ import annotations

import csv
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    main,
    pooled_error,
    scored,
    shared_rows,
    trials_per_cell,
)
from benchmarks.debian import described, names_in
from benchmarks.markdown import markdown_rows
from nodecopy import NodeCopyClassifier
from nodecopy.classifiers import LabelPropagation, fit_one
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.problem.task import Task
from nodecopy.read.tables import read_tables

TOPICS = (
    *("admin", "database", "editors", "electronics", "games", "graphics", "mail"),
    *("math", "net", "science", "sound", "text", "video", "web"),
)
KINDS = {"Depends": "depends", "Recommends": "recommends", "Suggests": "suggests"}
KINDS |= {"Conflicts": "conflicts", "Breaks": "conflicts"}
USED_BY = 5
LISTS = Path("/var/lib/apt/lists")


def write_files(folder: Path, lists: Path = LISTS) -> None:
    """Write the tables of programs, libraries and edges, and the sections of programs."""
    packages = described(lists)
    programs = {name: one for name, one in packages.items() if one.get("Section") in TOPICS}
    named = [
        (name, other, kind)
        for name, one in programs.items()
        for field, kind in KINDS.items()
        for other in names_in(one.get(field, ""))
        if other in packages and other != name
    ]
    often = Counter(other for _, other, _ in named if other not in programs)
    libraries = {name: packages[name] for name, count in often.items() if count >= USED_BY}
    folder.mkdir(parents=True, exist_ok=True)
    edges = sorted({edge for edge in named if edge[1] in programs or edge[1] in libraries})
    write(folder / "edges.csv", ["package", "other", "kind"], edges)
    for file, some in (("programs.csv", programs), ("libraries.csv", libraries)):
        titles = ["package", "description", "priority", "maintainer", "installed_size"]
        write(folder / file, titles, [[name, *columns(one)] for name, one in some.items()])
    sections = [(name, one["Section"]) for name, one in programs.items()]
    write(folder / "sections.csv", ["package", "section"], sections)


def columns(package: Mapping[str, str]) -> list[str]:
    """Return the cells of a package."""
    maintainer = re.sub(r"\s*<.*", "", package.get("Maintainer", ""))
    fields = package.get("Description", ""), package.get("Priority", ""), maintainer
    return [*fields, package.get("Installed-Size", "")]


def write(path: Path, titles: list[str], rows: list) -> None:  # type: ignore[type-arg]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([titles, *rows])


@dataclass(frozen=True)
class Programs:
    """The files, and which programs have a known section."""

    folder: Path
    known: pd.Series
    others: pd.Series


def problem(labels: int, trial: int) -> Programs:
    """Draw programs of each section."""
    folder = Path("debian")
    if not (folder / "edges.csv").exists():
        write_files(folder)
    sections = pd.read_csv(folder / "sections.csv", index_col=0)["section"]
    rng = stream(trial, "debian", labels)
    pools = [rng.permutation(np.flatnonzero(sections == topic)) for topic in TOPICS]
    known = np.isin(np.arange(len(sections)), np.concatenate([pool[:labels] for pool in pools]))
    return Programs(folder, sections[known], sections[~known])


Method = Callable[[Programs, int], np.ndarray]


@dataclass(frozen=True)
class Tables:
    """The default, from the files, with options of reading."""

    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, given: Programs, trial: int) -> np.ndarray:
        """Return the probabilities of the other programs [n, K]."""
        files = [given.folder / "programs.csv", given.folder / "libraries.csv"]
        with tempfile.TemporaryDirectory() as folder:
            labels = Path(folder, "labels.csv")
            given.known.to_csv(labels)
            table = read_tables(given.folder / "edges.csv", labels, files, **self.options)
        clf = NodeCopyClassifier(random_state=trial, progress=False).fit(table)
        return clf.to_frame().loc[given.others.index, [f"p_{t}" for t in TOPICS]].to_numpy()


def on_description(given: Programs, trial: int) -> np.ndarray:
    """Logistic regression on TF-IDF of the description."""
    frame = pd.read_csv(given.folder / "programs.csv", index_col=0)
    words = TfidfVectorizer(sublinear_tf=True).fit_transform(frame["description"].fillna(""))
    return fitted(LogisticRegression(C=10.0, max_iter=1000), sp.csr_array(words), frame, given)


def on_columns(given: Programs, trial: int) -> np.ndarray:
    """Gradient boosting on all columns; the 200 most frequent maintainers are categories."""
    frame = pd.read_csv(given.folder / "programs.csv", index_col=0)
    words = TfidfVectorizer(sublinear_tf=True).fit_transform(frame["description"].fillna(""))
    parts = TruncatedSVD(64, random_state=0).fit_transform(words)
    often = frame["maintainer"].value_counts().index[:200]
    codes = [
        often.get_indexer(frame["maintainer"]),
        pd.Categorical(frame["priority"]).codes,
    ]
    x = np.column_stack([np.array(codes).T, frame["installed_size"], parts])
    model = HistGradientBoostingClassifier(
        categorical_features=[0, 1], max_iter=100, random_state=trial
    )
    return fitted(model, x, frame, given)


def fitted(model: Any, x: Any, frame: pd.DataFrame, given: Programs) -> np.ndarray:
    """Return the probabilities of the other programs [n, K]; the classes are in order."""
    rows, others = (frame.index.get_indexer(one.index) for one in (given.known, given.others))
    p: np.ndarray = model.fit(x[rows], given.known).predict_proba(x[others])
    return p


def by_propagation(given: Programs, trial: int) -> np.ndarray:
    """Label propagation over all edges."""
    edges = pd.read_csv(given.folder / "edges.csv")
    names = pd.Index(pd.unique(edges[["package", "other"]].to_numpy().ravel()))
    names = names.union(given.known.index).union(given.others.index, sort=False)
    ends = np.stack([names.get_indexer(edges[end]) for end in ("package", "other")], axis=1)
    labels, known = np.full(len(names), -1), names.get_indexer(given.known.index)
    labels[known] = [TOPICS.index(topic) for topic in given.known]
    none = np.ones((len(names), 1), np.float32)
    task = Task.of(Graph.from_edges(len(names), ends), none, labels, np.sort(known))
    return fit_one(LabelPropagation(), task).probabilities[names.get_indexer(given.others.index)]


def measure(given: Programs, method: Method, trial: int) -> Row:
    """Score what a method predicts."""
    seconds = -time.process_time()
    p = method(given, trial)
    seconds += time.process_time()
    truth = np.array([TOPICS.index(topic) for topic in given.others])
    return scored(p, truth) | {"seconds": round(seconds, 2)}


METHODS: dict[str, Method] = {
    DEFAULT: Tables(),
    "without the text": Tables({"column_types": ("description=skip",)}),
    "without categories": Tables({"column_types": ("priority=skip", "maintainer=skip")}),
    "all edges of one kind": Tables({"edge_columns": ("package", "other")}),
    "logistic regression on TF-IDF": on_description,
    "gradient boosting on the columns": on_columns,
    "label propagation": by_propagation,
}
COMPARISON = Comparison(
    cases={"Debian": problem},
    methods={name: lambda _, method=method: method for name, method in METHODS.items()},
    labels=(5, 20),
    rows=Path("results", "debian-tables.jsonl"),
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return the accuracy of every method, the pooled calibration error, and CPU seconds."""
    cells = [shared_rows(COMPARISON, rows, "Debian", labels) for labels in COMPARISON.labels]
    heads = ["5 and 20 labels per section", "accuracy, %", "balanced, %", "ECE, %", "CPU s"]
    lines = []
    for name in METHODS:
        held = [cell[name] for cell in cells if name in cell]
        means = [
            [f"{scale * np.mean([row[key] for row in some]):.1f}" for some in held]
            for key, scale in (("accuracy", 100), ("balanced accuracy", 100), ("seconds", 1))
        ]
        errors = [f"{100 * pooled_error(some):.1f}" for some in held]
        lines.append([name, *map(", ".join, (*means[:2], errors, means[2]))])
    return trials_per_cell(cells) + "\n\n" + markdown_rows(heads, lines)


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block="debian")
