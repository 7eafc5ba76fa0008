r"""Predictions of all nodes, and their table: predictions.csv and predictions.parquet.

A prediction set is one column of text: ``set_90`` holds ``cat|dog`` for a set of two classes, in
the order of their probability. A ``|`` or ``\`` within a name has a ``\`` in front.
"""

from __future__ import annotations

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

from nodecopy.core.errors import InputError, RunError
from nodecopy.core.files import guarded_sql, replacing
from nodecopy.core.machine import usable_memory
from nodecopy.posterior import Posterior
from nodecopy.read.tables import TableDataset

ID, NAME, KNOWN, PREDICTED, CONFIDENCE = "id", "name", "known", "predicted", "confidence"
NONE = "none_of_these"
_PROBABILITY, _SET = "p_", "set_"
BLOCK_ROWS = 1 << 16
_DECIMALS = 6
# Bytes that DuckDB may use before it writes rows to temporary files.
_MEMORY = 2**30
_FORMATS = (".csv", ".parquet")

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What is predicted for each node.

    Attributes:
        ids: of the nodes [N].
        class_names: [K].
        posterior: probabilities [N, K] and uncertainty of the nodes.
        known: the labels that the model was given, as numbers of classes, -1 for none [N].
        sets: which classes the prediction set of each node holds [N, K]; None without sets.
        coverage: that the sets were made for.
        names: what people call the nodes [N]; None without such a column.
        novelty: how probable none of the classes is [N]; None where it is not known.
        abstain: from which novelty on nothing is predicted; None always predicts.
    """

    ids: Any
    class_names: tuple[str, ...]
    posterior: Posterior
    known: NDArray[np.int64]
    sets: NDArray[np.bool_] | None = None
    coverage: float | None = None
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
        data, n = table.dataset, table.num_classified
        names = None if table.names is None else table.names[:n]
        parts = table.ids[:n], data.class_names, posterior, data.labels[:n], sets, coverage
        return cls(*parts, names)

    def blocks(self) -> Iterator[Columns]:
        """Yield the columns of the table, some rows at a time."""
        for start in range(0, len(self.ids), BLOCK_ROWS):
            yield self._columns(slice(start, min(start + BLOCK_ROWS, len(self.ids))))

    def _columns(self, nodes: slice) -> Columns:
        posterior = self.posterior.take(nodes)
        p = posterior.probabilities
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
    """Tell whether a file is empty, or has columns of predictions."""
    import duckdb

    if not target.is_file() or target.stat().st_size == 0:
        return target.is_file()
    read = (
        "read_csv(?, header = true, all_varchar = true, hive_partitioning = false)"
        if _is_csv(target)
        else "read_parquet(?, hive_partitioning = false)"
    )
    try:
        with duckdb.connect() as connection:
            source = [glob.escape(str(target))]
            table = connection.execute(f"SELECT * FROM {read} LIMIT 0", source)
            return {ID, PREDICTED, CONFIDENCE} <= {column[0] for column in table.description}
    except duckdb.Error:
        return False


def write_predictions(predictions: Predictions, target: Path) -> None:
    """Write predictions to a CSV or Parquet file; nobody sees half of it."""
    try:
        with replacing(target) as part:
            write_table(predictions.blocks(), part)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error}") from error


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


def write_table(blocks: Iterable[Columns], *files: Path) -> None:
    """Write columns by name to files, as CSV or Parquet according to their suffix.

    Real numbers are rounded to six decimals, and NaN is an empty cell. An empty string is missing
    in Parquet. In CSV, a string that a spreadsheet would take for a formula has a ' in front.

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
            written = {"f": _text, "O": guarded_sql} if _is_csv(file) else {}
            cells = [
                f"{written.get(kind, str)(f'c{i}')} AS {_quoted(name)}"
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
