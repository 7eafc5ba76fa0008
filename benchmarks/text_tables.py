"""Text by its words and by its meaning: Debian's programs, and tables in four languages.

    OMP_NUM_THREADS=1 python -m benchmarks.text_tables [--trials 10] [--only "Debian's programs"]
    python -m benchmarks.text_tables --show --page docs/text.md

Needs the extra ``text``. Debian's programs are those of benchmarks/debian_tables.py, with all
columns and relations; 1, 2, 5 and 20 programs of each of 14 sections are known, and none at all
where names of the sections are. The other tables are tasks of benchmarks/regret_tasks.py, and
Debian's packages by section with their descriptions in German, Russian and Japanese, which apt
fetches once; a graph of more than 1,500 nodes is sampled. *Words* is the default with
``text_model`` "none"; *meaning* gives words a hundredth of what both count; *names* are those of
the classes, as ``class_descriptions``. Peers see the vectors of the same text model; on two tables
one fine-tunes the model first.
"""

from __future__ import annotations

import argparse
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from benchmarks.compared import (
    Comparison,
    Key,
    Row,
    arguments,
    compute,
    pooled_error,
    publish,
    scored,
    shared_rows,
)
from benchmarks.debian import lines_of
from benchmarks.debian_tables import TOPICS, Programs, by_propagation, fitted
from benchmarks.debian_tables import problem as programs
from benchmarks.markdown import markdown_rows
from benchmarks.regret_graphs import Table
from benchmarks.regret_tasks import REAL, data_folder, names_in, packages, table
from nodecopy import NodeCopyClassifier
from nodecopy.core.rng import stream
from nodecopy.features.text_model import PACKAGED, TextModel, read_texts
from nodecopy.read.tables import read_tables

DEBIAN = "Debian's programs"
LANGUAGES = {"German": "de", "Russian": "ru", "Japanese": "ja"}
TASKS = {
    **dict.fromkeys(("Debian by language", "Debian by maintainer", "manual pages by section")),
    **dict.fromkeys(("Python modules by package", "moves by type")),
    **{f"Debian by section, in {language}": code for language, code in LANGUAGES.items()},
}
WORDS, MEANING, BOTH, NAMES = "words", "meaning", "both", "both, with names"
LEAST = 5


@dataclass(frozen=True)
class Ours:
    """The default with some arguments; ``share`` of a text is that of its meaning, if given."""

    arguments: Mapping[str, Any]
    names: bool = False
    share: float | None = None

    def classifier(self, trial: int, names: tuple[str, ...]) -> NodeCopyClassifier:
        described = names if self.names else ()
        return NodeCopyClassifier(
            random_state=trial, progress=False, class_descriptions=described, **self.arguments
        )

    def fit(self, clf: NodeCopyClassifier, *given: Any) -> NodeCopyClassifier:
        share = "nodecopy.features.scaling.meaning_share"
        patched = mock.patch(share, return_value=self.share)
        with nullcontext() if self.share is None else patched:
            return clf.fit(*given)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table of a task, the classes of its nodes, and which are known."""

    table: Table
    known: np.ndarray

    @property
    def y(self) -> np.ndarray:
        return np.where(self.known, self.table.classes, -1)

    @property
    def tested(self) -> np.ndarray:
        return np.flatnonzero(~self.known & (self.table.classes >= 0))


def drawn(name: str, labels: int, trial: int) -> Drawn:
    """Draw nodes of each class; a class of few more nodes has no label, and is not tested."""
    made = loaded(name)
    sizes = np.bincount(made.classes)
    large = np.flatnonzero(sizes >= labels + LEAST)
    numbers = np.full(len(sizes), -1)
    numbers[large] = np.arange(len(large))
    names = tuple(made.names[k] for k in large)
    made = replace(made, classes=numbers[made.classes], names=names)
    rng = stream(trial, "text tables", name, labels)
    pools = [rng.permutation(np.flatnonzero(made.classes == k)) for k in range(len(large))]
    known = np.concatenate([pool[:labels] for pool in pools])
    return Drawn(made, np.isin(np.arange(len(made.classes)), known))


@cache
def loaded(name: str) -> Table:
    language = TASKS[name]
    return REAL[name]() if language is None else translated(language)


def translated(language: str) -> Table:
    """Return Debian's packages with a description in another language, tied by dependencies."""
    data, lists = pd.DataFrame(packages()).T, data_folder() / "translations"
    if not any(lists.glob(f"*_Translation-{language}*")):
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        languages = f"Acquire::Languages={','.join(LANGUAGES.values())}"
        command = ["apt-get", "-q", "-o", languages, "-o", f"Dir::State::Lists={lists}", "update"]
        subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
    texts, name = {}, ""
    for line in lines_of(lists, f"*_main_i18n_Translation-{language}*"):
        key, _, value = line.partition(": ")
        name = value if key == "Package" else name
        if key == f"Description-{language}":
            texts[name] = value
    data = data[data["Section"].isin(TOPICS) & data.index.isin(texts)]
    needs = data["Depends"].fillna("") + ", " + data["Recommends"].fillna("")
    edges = [(name, other) for name, text in needs.items() for other in names_in(text)]
    columns = pd.DataFrame({"description": pd.Series(texts).reindex(data.index)})
    return table(edges, columns, data["Section"], "apt lists")


def measure(given: Programs | Drawn, method: Any, trial: int) -> Row:
    """Fit a method and score it on the nodes whose class is not known."""
    seconds = -time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p, truth = (on_programs if isinstance(given, Programs) else on_task)(given, method, trial)
    seconds += time.process_time()
    return scored(p, truth) | {"seconds": round(seconds, 2)}


def on_programs(given: Programs, method: Any, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of the other programs, and their sections."""
    truth = np.array([TOPICS.index(topic) for topic in given.others])
    if not isinstance(method, Ours):
        return method(given, trial), truth
    files = [given.folder / "programs.csv", given.folder / "libraries.csv"]
    read = read_tables(given.folder / "edges.csv", nodes=files)
    known = given.known.to_dict() or None
    clf = method.fit(method.classifier(trial, TOPICS), read, None, known)
    frame = clf.to_frame().loc[given.others.index, [f"p_{topic}" for topic in TOPICS]]
    return frame.to_numpy(), truth


def on_task(given: Drawn, method: Any, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of the other nodes, and their classes."""
    made, tested = given.table, given.tested
    if not isinstance(method, Ours):
        return method(given, trial), made.classes[tested]
    y = {node: made.names[k] for node, k in enumerate(given.y) if k >= 0}
    clf = method.classifier(trial, made.names)
    method.fit(clf, made.adjacency, made.columns, y)
    order = [clf.classes_.tolist().index(name) for name in made.names]
    return clf.predict_proba()[tested][:, order], made.classes[tested]


@cache
def vectors() -> tuple[np.ndarray, pd.DataFrame]:
    """Return the vectors of the descriptions of programs, and their table."""
    frame = pd.read_csv(Path("debian", "programs.csv"), index_col=0)
    found = read_texts(frame["description"].fillna("").tolist(), "auto").vectors
    assert found is not None
    return found, frame


def regression(given: Programs, trial: int) -> np.ndarray:
    """Logistic regression on the vectors."""
    return fitted(LogisticRegression(C=10.0, max_iter=1000), *vectors(), given)


def boosting(given: Programs, trial: int) -> np.ndarray:
    """Gradient boosting on the vectors."""
    model = HistGradientBoostingClassifier(
        min_samples_leaf=3, max_iter=50, early_stopping=False, random_state=trial
    )
    return fitted(model, *vectors(), given)


def on_texts(given: Drawn, trial: int) -> np.ndarray:
    """Logistic regression on the vectors of the texts of a task."""
    return regressed(TextModel.of(PACKAGED).embed(joined(given)), given)


def fine_tuned(given: Drawn, trial: int) -> np.ndarray:
    """Logistic regression on vectors of a text model that was fine-tuned on pairs of texts.

    Tunstall et al. 2022, "Efficient few-shot learning without prompts" (SetFit), with its defaults:
    a pair of the same class and one of two classes for each text, 20 times; cosine similarity is
    to be 1 or 0; batches of 16 pairs, AdamW, a learning rate of 2e-5.
    """
    from sentence_transformers import SentenceTransformer

    torch.manual_seed(trial)
    folder = TextModel.of(PACKAGED).encode.folder
    model, texts = (
        SentenceTransformer(str(folder), local_files_only=True, device="cpu"),
        joined(given),
    )
    pairs = drawn_pairs(given.y, stream(trial, "pairs"))
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-5)
    model.train()
    for start in range(0, len(pairs), 16):
        batch = pairs[start : start + 16]
        read = model.preprocess([texts[i] for i in batch[:, :2].T.ravel()])
        first, second = model(read)["sentence_embedding"].chunk(2)
        near = torch.cosine_similarity(first, second)
        loss = functional.mse_loss(near, torch.from_numpy(batch[:, 2]).float())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return regressed(model.eval().encode(texts, show_progress_bar=False), given)


def drawn_pairs(y: np.ndarray, rng: np.random.Generator, times: int = 20) -> np.ndarray:
    """Return pairs of labelled nodes and whether they are of one class, in random order [n, 3]."""
    known = np.flatnonzero(y >= 0)
    pairs = [
        (i, rng.choice(known[(y[known] == y[i]) == same]), same)
        for i in known
        for same in (True, False)
        for _ in range(times)
    ]
    return rng.permutation(np.array(pairs, np.int64))


def joined(given: Drawn) -> list[str]:
    """Return the sentences of each node of a task."""
    columns = given.table.columns.select_dtypes(exclude="number").fillna("").astype(str)
    return columns.agg(". ".join, axis=1).tolist()


def regressed(x: Any, given: Drawn) -> np.ndarray:
    model = LogisticRegression(C=10.0, max_iter=1000)
    p: np.ndarray = model.fit(x[given.known], given.y[given.known]).predict_proba(x[given.tested])
    return p


OURS = {
    WORDS: Ours({"text_model": "none"}),
    MEANING: Ours({}, share=0.99),
    BOTH: Ours({}),
    NAMES: Ours({}, names=True),
}
PEERS: dict[str, Callable[[Programs, int], np.ndarray]] = {
    "logistic regression on vectors": regression,
    "gradient boosting on vectors": boosting,
    "label propagation": by_propagation,
}


TEXTS = {"logistic regression on vectors": on_texts, "fine-tuned vectors (SetFit)": fine_tuned}


def comparison(
    cases: Mapping[str, Any], methods: Mapping[str, Any], labels: tuple[int, ...]
) -> Comparison:
    made = {name: lambda _, method=method: method for name, method in methods.items()}
    return Comparison(cases, made, labels, Path("results", "text-tables.jsonl"), measure)


NOTHING = comparison({DEBIAN: programs}, {NAMES: OURS[NAMES]}, (0,))
LARGE = comparison({DEBIAN: programs}, OURS | PEERS, (1, 2, 5, 20))
TUNED = comparison({name: partial(drawn, name) for name in list(TASKS)[:4:3]}, TEXTS | OURS, (5,))
SMALL = comparison({name: partial(drawn, name) for name in TASKS}, OURS, (5, 20))


def tables(rows: Mapping[Key, Row]) -> str:
    """Return accuracy and calibration error on Debian's programs, and accuracies on the others."""
    parts = [debian_table(rows), small_table(rows), tuned_table(rows)]
    return "\n\n".join(part for part in parts if part)


def debian_table(rows: Mapping[Key, Row]) -> str:
    """Return a line for each method on Debian's programs."""
    cells = {n: shared_rows(LARGE, rows, DEBIAN, n) for n in LARGE.labels}
    cells = {0: shared_rows(NOTHING, rows, DEBIAN, 0)} | cells
    heads = [f"{n} labels ({_count(cell)})" for n, cell in cells.items()]
    lines = [
        [name, *(_cell(cell[name]) if name in cell else "–" for cell in cells.values())]
        for name in LARGE.methods
    ]
    return markdown_rows(["accuracy, %; ECE, % (trials)", *heads], lines)


def small_table(rows: Mapping[Key, Row]) -> str:
    """Return a line for each other table: words, what is gained by meaning, and by names."""
    lines = [line for case in SMALL.cases for line in _small_lines(rows, case)]
    heads = ["accuracy, % (trials)", WORDS, f"{BOTH}, minus words", "worst trial", "with names"]
    return markdown_rows(heads, lines)


def tuned_table(rows: Mapping[Key, Row]) -> str:
    """Return accuracy and CPU seconds of methods that see texts alone, and of ours."""
    cells = {case: shared_rows(TUNED, rows, case, 5) for case in TUNED.cases}
    names = [name for name in TUNED.methods if any(name in cell for cell in cells.values())]
    lines = [
        [f"{case} ({_count(cell)})", *(_with_seconds(cell.get(name, [])) for name in names)]
        for case, cell in cells.items()
        if cell
    ]
    return markdown_rows(["5 labels, accuracy, %; CPU s (trials)", *names], lines) if lines else ""


def _with_seconds(several: list[Row]) -> str:
    if not several:
        return "–"
    seconds = np.median([row["seconds"] for row in several])
    return f"{_accuracies(several).mean():.1f}; {seconds:.0f}"


def _small_lines(rows: Mapping[Key, Row], case: str) -> Iterator[list[str]]:
    for labels in SMALL.labels:
        cell = shared_rows(SMALL, rows, case, labels)
        if {WORDS, BOTH} <= cell.keys():
            words, both = (_accuracies(cell[name]) for name in (WORDS, BOTH))
            names = f"{_accuracies(cell[NAMES]).mean():.1f}" if NAMES in cell else "–"
            gain, worst = (both - words).mean(), (both - words).min()
            what = f"{case}, {labels} labels ({len(words)})"
            yield [what, f"{words.mean():.1f}", f"{gain:+.1f}", f"{worst:+.1f}", names]


def _accuracies(several: list[Row]) -> np.ndarray:
    return 100 * np.array([row["accuracy"] for row in several])


def _cell(several: list[Row]) -> str:
    return f"{_accuracies(several).mean():.1f}; {100 * pooled_error(several):.1f}"


def _count(cell: Mapping[str, list[Row]]) -> int:
    return len(next(iter(cell.values()), []))


if __name__ == "__main__":
    torch.set_num_threads(1)
    chosen = arguments(LARGE, __doc__).parse_args()
    for part in (NOTHING, LARGE, SMALL, TUNED):
        own = tuple(part.labels)
        asked = [n for n in chosen.labels or own if n in own]
        if asked:
            found = compute(part, argparse.Namespace(**vars(chosen) | {"labels": asked}))
    publish(tables(found), chosen.page)
