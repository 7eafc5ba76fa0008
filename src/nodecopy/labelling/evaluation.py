"""Evaluation: predictions in a file against a file of true labels."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables import read_label_table
from nodecopy.data.tables.wording import listed
from nodecopy.errors import DatasetError, FormatError, shown
from nodecopy.labelling.set_column import coverage_of, split_set
from nodecopy.metrics import ReliabilityCurve, Scores, reliability_curve, score_predictions
from nodecopy.regular_file import regular_file

PROBABILITY = "p_"
_ROUNDING = 0.01
_SHOWN = 10
_BINS = 10
ID, KNOWN, PREDICTED = "id", "known", "predicted"


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Predictions as `nodecopy fit` and `nodecopy predict` write them.

    Attributes:
        ids: of the nodes [N].
        known: whether the label was known when the model was fitted [N].
        class_names: [K].
        probabilities: [N, K].
        sets: which classes the prediction set of each node holds [N, K]; None without sets.
        coverage: what the sets were asked for.
    """

    ids: NDArray[np.object_]
    known: NDArray[np.bool_]
    class_names: tuple[str, ...]
    probabilities: NDArray[np.float64]
    sets: NDArray[np.bool_] | None = None
    coverage: float | None = None


@dataclass(frozen=True)
class ClassScore:
    """How one class fared: its true nodes, those predicted to be in it, and those in both."""

    name: str
    true: int
    predicted: int
    right: int


@dataclass(frozen=True)
class SetScore:
    """How prediction sets fared.

    Attributes:
        asked: the coverage that they were made for.
        coverage: the share of the nodes whose true class is in their set; one of a class that the
            model does not know is in none.
        size: how many classes a set holds on average.
    """

    asked: float
    coverage: float
    size: float


@dataclass(frozen=True)
class Evaluation:
    """How predictions fared against true labels.

    Attributes:
        scores: over the nodes whose label the model did not know.
        nodes: how many these are.
        known: how many further labels the model knew; they do not count.
        foreign: how many nodes are of classes that the model does not know; they count as errors
            in the accuracy and are left out of the other scores.
        foreign_classes: these classes.
        accuracy: the share of the nodes that are predicted right.
        classes: by class.
        confidence: mean confidence of the nodes that ``scores`` are over.
        reliability: how often these are right, in ten bins of their confidence.
        sets: how prediction sets fared; None if the file has none.
        notes: remarks on the file of labels.
    """

    scores: Scores
    nodes: int
    known: int
    foreign: int
    foreign_classes: tuple[str, ...]
    accuracy: float
    classes: tuple[ClassScore, ...]
    confidence: float
    reliability: ReliabilityCurve
    sets: SetScore | None
    notes: tuple[str, ...]


def evaluate_predictions(
    predictions: str | os.PathLike[str],
    truth: str | os.PathLike[str],
    label_columns: Sequence[str] | None = None,
) -> Evaluation:
    """Score a file of predictions against a table of id and label.

    Args:
        predictions: CSV or Parquet file, as `nodecopy fit` and `nodecopy predict` write it.
        truth: file of the labels.
        label_columns: names of its columns of the id and of the label; None finds them.
    """
    table = read_predictions(predictions)
    found = read_label_table(truth, table.ids, label_columns)
    number = {name: k for k, name in enumerate(table.class_names)}
    names = [number.get(name, len(number)) for name in found.class_names]
    label = np.array([*names, -1])[found.labels]  # K for classes that the model does not know
    given = np.flatnonzero(label >= 0)
    tested = given[~table.known[given]]
    if len(tested) == 0:
        raise DatasetError(
            f"{truth}: all {len(given):,} labels were known when the model was fitted; "
            "nothing is left to evaluate"
        )
    scored = tested[label[tested] < len(number)]
    if len(scored) == 0:
        raise DatasetError(
            f"{truth}: none of its classes, {_some(found.class_names)}, is one of the model's: "
            f"{_some(table.class_names)}"
        )
    said, actual = table.probabilities.argmax(1)[tested], label[tested]
    counts = (np.bincount(of, minlength=len(number)) for of in (actual, said, said[said == actual]))
    p = table.probabilities[scored]
    return Evaluation(
        score_predictions(p, label[scored]),
        len(tested),
        len(given) - len(tested),
        len(tested) - len(scored),
        tuple(name for name in found.class_names if name not in number),
        float(np.mean(said == actual)),
        tuple(map(ClassScore, table.class_names, *(count.tolist() for count in counts))),
        float(p.max(1).mean()),
        reliability_curve(p, label[scored], n_bins=_BINS),
        _set_score(table, tested, label),
        (*found.notes, *_namesakes(found.class_names, table.class_names)),
    )


def read_predictions(path: str | os.PathLike[str]) -> PredictionTable:
    """Read a CSV or Parquet file of predictions."""
    file = Path(path)
    ids: list[str] = []
    known: list[bool] = []
    numbers: list[list[float]] = []
    texts: list[str] = []
    with _opened(file) as (header, rows):
        columns = [name for name in header if name.startswith(PROBABILITY)]
        if ID not in header or PREDICTED not in header or not columns:
            raise FormatError(
                f"{file} is not a table of predictions: it needs the columns {ID}, {PREDICTED} "
                f"and {PROBABILITY}… for every class, as nodecopy fit writes them"
            )
        held = next((name for name in header if coverage_of(name) is not None), None)
        for row in rows:
            try:
                numbers.append([float(row[name]) for name in columns])
            except (TypeError, ValueError) as error:
                raise FormatError(f"{file}: row {len(ids) + 1} is damaged: {error}") from error
            ids.append(str(row[ID]))
            known.append(bool(row.get(KNOWN)))
            if held is not None:
                texts.append(str(row[held] or ""))
    if not ids:
        raise FormatError(f"{file} has no rows")
    probabilities = np.array(numbers)
    total = probabilities.sum(1, keepdims=True)
    if not np.all((probabilities >= 0) & np.isfinite(probabilities)) or np.any(
        abs(total - 1) > _ROUNDING
    ):
        raise FormatError(f"{file}: the probabilities of a node must add up to 1")
    names = tuple(name.removeprefix(PROBABILITY) for name in columns)
    table = np.array(ids, object), np.array(known), names, probabilities / total
    if held is None:
        return PredictionTable(*table)
    return PredictionTable(*table, _sets(file, texts, names), coverage_of(held))


def _sets(file: Path, texts: Sequence[str], names: Sequence[str]) -> NDArray[np.bool_]:
    """Return which classes each text of a set names [N, K]."""
    number = {name: k for k, name in enumerate(names)}
    sets = np.zeros((len(texts), len(names)), bool)
    for row, text in enumerate(texts):
        for name in split_set(text):
            # One that a spreadsheet would have run as a formula may have been quoted.
            k = number.get(name, number.get(name.removeprefix("'")))
            if k is None:
                raise FormatError(
                    f"{file}: row {row + 1} has {shown(name)} in its set, which is no class; "
                    f"classes are {_some(names)}"
                )
            sets[row, k] = True
    return sets


def _set_score(
    table: PredictionTable, tested: NDArray[np.int64], label: NDArray[np.int64]
) -> SetScore | None:
    """Return how the sets of the tested nodes fared; a label of K is of no class of the model."""
    if table.sets is None or table.coverage is None:
        return None
    sets = table.sets[tested]
    wider = np.pad(sets, ((0, 0), (0, 1)))  # no set holds a class that the model does not know
    covered = wider[np.arange(len(tested)), label[tested]]
    return SetScore(table.coverage, float(covered.mean()), float(sets.sum(1).mean()))


def read_columns(file: Path) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file."""
    with _opened(file) as (header, _):
        return header


def _namesakes(found: Sequence[str], own: Sequence[str]) -> list[str]:
    """Return notes on classes that differ from the model's in case or spaces only."""
    plain = {name.strip().casefold(): name for name in own}
    return [
        f"the class {name!r} is not the model's {plain[name.strip().casefold()]!r}"
        for name in found
        if name not in own and name.strip().casefold() in plain
    ]


def _some(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names[:_SHOWN]], len(names))


@contextmanager
def _opened(file: Path) -> Iterator[tuple[list[str], Iterator[dict[str, Any]]]]:
    """Open a table by its content: its columns, and its rows by column."""
    import duckdb

    regular_file(file)
    try:
        with file.open("rb") as stream:
            packed = stream.read(4) == b"PAR1"
        if packed:
            with duckdb.connect() as connection:
                source = glob.escape(str(file.absolute()))
                answer = connection.execute("SELECT * FROM read_parquet(?)", [source])
                header = [column[0] for column in answer.description]
                found = iter(answer.fetchone, None)
                yield header, (dict(zip(header, row, strict=True)) for row in found)
            return
        with file.open(encoding="utf-8", newline="") as text:
            reader = csv.DictReader(text)
            yield list(reader.fieldnames or ()), reader
    except (OSError, UnicodeDecodeError, csv.Error, duckdb.Error) as error:
        raise FormatError(f"{file} cannot be read: {error}") from error
