r"""Predictions of all nodes, and their table: predictions.csv and predictions.parquet.

A prediction set is one column of text: ``set_90`` holds ``cat|dog`` for a set of two classes, in
the order of their probability. A ``|`` or ``\`` within a name has a ``\`` in front.
"""

from __future__ import annotations

import csv
import glob
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import FormatError, InputError, RunError
from nodecopy.files import regular_file, replacing
from nodecopy.machine import usable_memory
from nodecopy.posterior import Posterior
from nodecopy.tables import TableDataset

ID, NAME, KNOWN, PREDICTED, CONFIDENCE = "id", "name", "known", "predicted", "confidence"
NONE = "none_of_these"
_PROBABILITY, _SET = "p_", "set_"
BLOCK_ROWS = 1 << 16
_DECIMALS = 6
# Bytes that DuckDB may use before it writes rows to temporary files.
_MEMORY = 2**30
_FORMATS = (".csv", ".parquet")
_ROUNDING = 0.01
_SET_NAME = re.compile(r"(?:[^\\|]|\\.)+", re.S)

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What is predicted for each node.

    Attributes:
        ids: of the nodes [N].
        class_names: [K].
        probabilities: [N, K].
        known: the labels that the model was given, as numbers of classes, -1 for none [N].
        sets: which classes the prediction set of each node holds [N, K]; None without sets.
        coverage: that the sets were made for.
        posterior: the uncertainty of the nodes; None where predictions were read from a file.
        names: what people call the nodes [N]; None without such a column, or from a file.
        novelty: how probable none of the classes is [N]; None where it is not known.
        abstain: from which novelty on nothing is predicted; None always predicts.
    """

    ids: Any
    class_names: tuple[str, ...]
    probabilities: NDArray[np.floating]
    known: NDArray[np.int64]
    sets: NDArray[np.bool_] | None = None
    coverage: float | None = None
    posterior: Posterior | None = None
    names: NDArray[np.object_] | None = None
    novelty: NDArray[np.float64] | None = None
    abstain: float | None = None

    @classmethod
    def of(
        cls,
        table: TableDataset,
        posterior: Posterior,
        sets: NDArray[np.bool_] | None = None,
        coverage: float | None = None,
    ) -> Predictions:
        """Return the predictions of the nodes of a table."""
        data, p, n = table.dataset, posterior.probabilities, table.num_classified
        names = None if table.names is None else table.names[:n]
        parts = table.ids[:n], data.class_names, p, data.labels[:n], sets, coverage, posterior
        return cls(*parts, names)

    def blocks(self) -> Iterator[Columns]:
        """Yield the columns of the table, some rows at a time."""
        for start in range(0, len(self.ids), BLOCK_ROWS):
            yield self._columns(slice(start, min(start + BLOCK_ROWS, len(self.ids))))

    def _columns(self, nodes: slice) -> Columns:
        assert self.posterior is not None
        posterior, p = self.posterior.take(nodes), self.probabilities[nodes]
        names = np.array([*self.class_names, ""], object)
        columns: dict[str, NDArray[Any]] = {
            ID: self.ids[nodes],
            **({} if self.names is None else {NAME: self.names[nodes]}),
            KNOWN: names[self.known[nodes]],
            PREDICTED: names[np.where(self._abstains(nodes), -1, p.argmax(1))],
            CONFIDENCE: p.max(1),
        }
        if self.sets is not None:
            name = f"{_SET}{100 * (self.coverage or 0):.10g}"
            columns[name] = set_texts(self.sets[nodes], p, self.class_names)
        if self.novelty is not None:
            columns[NONE] = self.novelty[nodes]
        columns["entropy"] = posterior.entropy
        columns["disagreement"] = posterior.mutual_information
        return columns | {
            f"{_PROBABILITY}{name}": p[:, k] for k, name in enumerate(self.class_names)
        }

    def _abstains(self, nodes: slice) -> NDArray[np.bool_] | bool:
        """Tell for which nodes nothing is predicted, as they are likely of no known class."""
        if self.novelty is None or self.abstain is None:
            return False
        return self.novelty[nodes] >= self.abstain


def check_predictions_file(path: str) -> Path:
    """Return a file that may be written: a new one, or one that holds predictions."""
    target = Path(os.path.realpath(path))
    wrong_kind = target.is_dir() or target.suffix.casefold() not in _FORMATS
    if wrong_kind or not target.parent.is_dir():
        raise InputError(f"--out must be a CSV or Parquet file in an existing folder; got {path}")
    if target.exists() and not _may_be_replaced(target):
        raise InputError(f"{path} holds something else than predictions and is not overwritten")
    return target


def _may_be_replaced(target: Path) -> bool:
    try:
        return target.stat().st_size == 0 or _is_table(_read_columns(target, rows=0))
    except FormatError:
        return False


def write_predictions(predictions: Predictions, target: Path) -> None:
    """Write predictions to a CSV or Parquet file; nobody sees half of it."""
    try:
        with replacing(target) as part:
            write_table(predictions.blocks(), part)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error}") from error


def read_predictions(path: str | os.PathLike[str]) -> Predictions:
    """Read a CSV or Parquet file of predictions."""
    file = Path(path)
    columns = _read_columns(file)
    if not _is_table(columns) or not columns[ID]:
        raise FormatError(
            f"{file} is not a table of predictions: it needs rows with the columns {ID}, "
            f"{PREDICTED} and {_PROBABILITY}… for every class, as nodecopy fit writes them"
        )
    try:
        return _parsed(columns)
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError(f"{file} is damaged: {error}") from error


def _parsed(columns: dict[str, Sequence[Any]]) -> Predictions:
    names = tuple(c.removeprefix(_PROBABILITY) for c in columns if c.startswith(_PROBABILITY))
    p = np.array([columns[f"{_PROBABILITY}{name}"] for name in names], np.float64).T
    total = p.sum(1, keepdims=True)
    if not np.all((p >= 0) & (abs(total - 1) <= _ROUNDING)):  # nor is NaN
        raise ValueError("the probabilities of a node must add up to 1")
    number = {name: k for k, name in enumerate(names)}
    ids = np.array([str(id) for id in columns[ID]], object)
    known = np.array([number.get(name, -1) for name in columns.get(KNOWN, [""] * len(ids))])
    for name, cells in columns.items():
        if (coverage := _coverage(name)) is not None:
            sets = np.zeros(p.shape, bool)
            for row, text in enumerate(cells):
                sets[row, [number[held] for held in split_set(text or "")]] = True
            return Predictions(ids, names, p / total, known, sets, coverage)
    return Predictions(ids, names, p / total, known)


def set_texts(
    sets: NDArray[np.bool_], probabilities: NDArray[np.floating], class_names: Sequence[str]
) -> NDArray[np.object_]:
    r"""Return the sets of nodes as text [N].

    >>> p = np.array([[0.2, 0.7, 0.1], [0.0, 0.0, 1.0]])
    >>> set_texts(p > 0.15, p, ("a", "b|c", "d")).tolist()
    ['b\\|c|a', 'd']
    """
    names = [re.sub(r"([\\|])", r"\\\1", name) for name in class_names]
    texts = np.array(names, object)[sets.argmax(1)]  # right where there is one class
    many = np.flatnonzero(sets.sum(1) != 1)
    order = np.argsort(-probabilities[many], axis=1, kind="stable")  # [n, K]
    ranked = np.where(np.take_along_axis(sets[many], order, 1), order, -1)
    different, which = np.unique(ranked, axis=0, return_inverse=True)
    joined = ["|".join(names[k] for k in row if k >= 0) for row in different]
    texts[many] = np.array(joined, object)[which.ravel()]
    return texts


def split_set(text: str) -> list[str]:
    r"""Return the names in the text of a set; an empty text is an empty set.

    >>> split_set("b\\|c|a"), split_set("")
    (['b|c', 'a'], [])
    """
    return [re.sub(r"\\(.)", r"\1", name, flags=re.S) for name in _SET_NAME.findall(text)]


def _coverage(column: str) -> float | None:
    """Return the coverage that a column of sets is for; None if it is another column."""
    try:
        percent = float(column.removeprefix(_SET)) if column.startswith(_SET) else 0.0
    except ValueError:
        return None
    return percent / 100 if 0 < percent < 100 else None


def _is_table(columns: dict[str, Sequence[Any]]) -> bool:
    return {ID, PREDICTED} <= columns.keys() and any(c.startswith(_PROBABILITY) for c in columns)


def _read_columns(file: Path, rows: int | None = None) -> dict[str, Sequence[Any]]:
    """Return the columns of a CSV or Parquet file, which is known by its content."""
    import duckdb

    regular_file(file)
    try:
        with file.open("rb") as stream:
            is_parquet = stream.read(4) == b"PAR1"
        if is_parquet:
            with duckdb.connect() as connection:
                source = glob.escape(str(file.absolute()))
                limit = "" if rows is None else f" LIMIT {rows}"
                table = connection.execute(f"SELECT * FROM read_parquet(?){limit}", [source])
                header, cells = [column[0] for column in table.description], table.fetchall()
        else:
            with file.open(encoding="utf-8", newline="") as text:
                reader = csv.reader(text)
                header = next(reader, [])
                cells = [tuple(row) for row in reader if row] if rows is None else []
    except (OSError, UnicodeDecodeError, csv.Error, duckdb.Error) as error:
        raise FormatError(f"{file} cannot be read: {error}") from error
    for number, row in enumerate(cells, 1):
        if len(row) != len(header):
            raise FormatError(f"{file}: row {number} is damaged: it has {len(row)} cells")
    return dict(
        zip(header, zip(*cells, strict=True) if cells else ((),) * len(header), strict=True)
    )


def write_table(blocks: Iterable[Columns], *files: Path) -> None:
    """Write columns by name to files, as CSV or Parquet according to their suffix.

    Real numbers are rounded to six decimals, and NaN is an empty cell. An empty string is missing
    in Parquet.

    Args:
        blocks: one or more, all with the same columns of integers, floats or strings.
        files: what to write.
    """
    import duckdb

    limit = max(min(_MEMORY, usable_memory() // 4) // 2**20, 1)
    with (
        tempfile.TemporaryDirectory(prefix="nodecopy-") as folder,
        duckdb.connect(config={"memory_limit": f"{limit}MiB", "temp_directory": folder}) as rows,
    ):
        kinds: dict[str, str] = {}
        for block in blocks:
            # Class names may be anything, so columns are called c0, c1, … here.
            columns = {f"c{i}": column for i, column in enumerate(block.values())}
            values = ", ".join(f"{_value(c, column)} AS {c}" for c, column in columns.items())
            into = "INSERT INTO rows" if kinds else "CREATE TEMP TABLE rows AS"
            rows.register("block", columns)
            rows.execute(f"{into} SELECT {values} FROM block")
            rows.unregister("block")
            kinds = {name: column.dtype.kind for name, column in block.items()}
        for file in files:
            cells = [
                f"{_text(f'c{i}') if kind == 'f' and _is_csv(file) else f'c{i}'} AS {_quoted(name)}"
                for i, (name, kind) in enumerate(kinds.items())
            ]
            target = "'" + str(file).replace("'", "''") + "'"
            form = "csv, HEADER" if _is_csv(file) else "parquet"
            try:
                rows.execute(
                    f"COPY (SELECT {', '.join(cells)} FROM rows) TO {target} (FORMAT {form})"
                )
            except duckdb.IOException as error:
                reason = re.search(r'": ([A-Z][\w ,-]+)', str(error))
                raise OSError(f"{file.name}: {reason[1] if reason else error}") from error


def _is_csv(file: Path) -> bool:
    return file.suffix.casefold() == ".csv"


def _value(name: str, column: NDArray[Any]) -> str:
    if column.dtype.kind == "O":
        return f"nullif(CAST({name} AS VARCHAR), '')"
    return (
        f"round(nullif(CAST({name} AS DOUBLE), 'nan'), {_DECIMALS})"
        if column.dtype.kind == "f"
        else name
    )


def _text(name: str) -> str:
    """Return a float as text; decimals print ten times faster, but hold no more than 18 digits."""
    decimal = f"CAST(TRY_CAST({name} AS DECIMAL(18,{_DECIMALS})) AS VARCHAR)"
    return f"coalesce({decimal}, format('{{:.{_DECIMALS}f}}', {name}))"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
