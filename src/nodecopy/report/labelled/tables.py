"""What a fit to one's own tables found, as tables: predictions, what to label, what to doubt."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables import TableDataset
from nodecopy.errors import FormatError, InputError, RunError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.labelling import FitSettings, LabelledGraph
from nodecopy.labelling.evaluation import ID, KNOWN, PREDICTED, PROBABILITY, read_columns
from nodecopy.labelling.set_column import column_name, set_texts
from nodecopy.labelling.settings import Formulas
from nodecopy.posterior import Posterior
from nodecopy.whole_file import replacing, write_whole

_DIGITS = 6
# What a formula begins with; the last four are wide forms, which some spreadsheets take for it.
_FORMULA = tuple("=+-@＝＋－＠")
_SPECIAL = re.compile(r'[,"\r\n]')
_FORMATS = (".csv", ".parquet")


class Sets(NamedTuple):
    """Prediction sets of nodes: which classes each holds [N, K], and the coverage asked for."""

    held: NDArray[np.bool_]
    coverage: float


def sets_of(
    classifier: NodeCopyClassifier, posterior: Posterior, coverage: float | None
) -> Sets | None:
    """Return the sets of nodes of a graph that a model was applied to.

    Args:
        classifier: the model.
        posterior: what it says of the nodes.
        coverage: of the sets; None takes 0.9, and gives none where no label was held out.
    """
    if coverage is None and classifier.held_out_ is None:
        return None
    asked = FitSettings.coverage if coverage is None else coverage
    return Sets(classifier.assessment().sets.sets(posterior.probabilities, asked), asked)


class Table(NamedTuple):
    """Columns by name, all of one length: whole numbers, real numbers or text."""

    columns: dict[str, NDArray[Any]]

    def csv(self, formulas: Formulas = "keep") -> str:
        """Return the table as CSV; real numbers have six digits after the point.

        Args:
            formulas: "quote" puts a ' in front of texts that a spreadsheet would run as a formula.
        """
        columns: list[Sequence[Any]] = [list(self.columns)]
        columns += map(_texts, self.columns.values())
        if formulas == "quote":
            columns = [[_quoted(cell) for cell in column] for column in columns]
        head, *cells = ([_cell(cell) for cell in column] for column in columns)
        rows = [head, *zip(*cells, strict=True)]
        return "".join(",".join(row) + "\n" for row in rows)

    def write_parquet(self, path: Path, name: Path | None = None) -> None:
        """Write the table as Parquet: numbers as numbers, an empty text as missing.

        Args:
            path: the file.
            name: what it is called in the end, for messages, where it is renamed afterwards.
        """
        import duckdb

        names = list(self.columns)
        # Columns get plain names on the way: the names of classes may be anything.
        plain = {f"c{i}": _rounded(column) for i, column in enumerate(self.columns.values())}
        picked = ", ".join(
            f"{_missing(f'c{i}', plain[f'c{i}'])} AS {_identifier(name)}"
            for i, name in enumerate(names)
        )
        target = "'" + str(path).replace("'", "''") + "'"
        with duckdb.connect() as connection:
            connection.register("plain", plain)
            try:
                connection.execute(
                    f"COPY (SELECT {picked} FROM plain) TO {target} (FORMAT parquet)"
                )
            except duckdb.IOException as error:
                raise RunError(f"cannot write {name or path}: {_reason(error)}") from error


def check_predictions_file(path: str) -> Path:
    """Return a file that may be written: a new one, or one that holds predictions."""
    target = Path(os.path.realpath(path))
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"--out must be a file in a folder that is there; got {path}")
    if target.exists() and not _may_be_replaced(target):
        raise InputError(f"{path} holds something else than predictions and is not overwritten")
    if target.suffix.casefold() not in _FORMATS:
        raise InputError(f"--out must be a file that ends in {' or '.join(_FORMATS)}; got {path}")
    return target


def write_predictions(table: Table, target: Path, formulas: Formulas = "keep") -> None:
    """Write a table to a file as its name says, CSV or Parquet; nobody sees half of it."""
    if target.suffix.casefold() == ".csv":
        write_whole(target, table.csv(formulas))
        return
    with replacing(target) as part:
        table.write_parquet(part, target)


def _may_be_replaced(target: Path) -> bool:
    """Tell whether a file is empty, or one that holds predictions."""
    if not target.is_file():
        return False
    if target.stat().st_size == 0:
        return True
    try:
        return read_columns(target)[:3] == [ID, KNOWN, PREDICTED]
    except FormatError:
        return False


def predictions_table(
    table: TableDataset,
    posterior: Posterior,
    class_names: Sequence[str],
    sets: Sets | None = None,
) -> Table:
    """Return a row for each node of a table of one's own."""
    own = np.array([*table.dataset.class_names, ""], object)
    return node_predictions(table.ids, own[table.dataset.labels], posterior, class_names, sets)


def node_predictions(
    ids: NDArray[Any],
    known: NDArray[np.object_],
    posterior: Posterior,
    class_names: Sequence[str],
    sets: Sets | None = None,
) -> Table:
    """Return a row for each node: what is known, what is predicted, and how surely.

    Args:
        ids: of the nodes [N].
        known: the label that the model was given, "" where it was not [N].
        posterior: of the nodes.
        class_names: [K].
        sets: prediction sets; None where there are none, and no column of them.
    """
    p = posterior.probabilities
    held = {}
    if sets is not None:
        held = {column_name(sets.coverage): set_texts(sets.held, p, class_names)}
    return Table(
        {
            ID: ids,
            KNOWN: known,
            PREDICTED: np.array(class_names, object)[p.argmax(1)],
            "confidence": p.max(1),
            **held,
            "entropy": posterior.entropy,
            "graph_information": posterior.graph_information,
            "weight_information": posterior.weight_information,
            "model_information": posterior.model_information,
            **{f"{PROBABILITY}{name}": p[:, k] for k, name in enumerate(class_names)},
        }
    )


def next_labels_table(found: LabelledGraph) -> Table:
    """Return the nodes most worth labelling, the best first."""
    nodes, p = found.next_labels.nodes, found.posterior.probabilities
    return Table(
        {
            "rank": np.arange(1, len(nodes) + 1),
            ID: found.table.ids[nodes],
            PREDICTED: _classes(found)[p[nodes].argmax(1)],
            "confidence": p[nodes].max(1),
            "gain": found.next_labels.gain,
        }
    )


def suspect_edges_table(found: LabelledGraph) -> Table:
    """Return the edges that may be wrong, the most suspect first; most probable labels."""
    p, names = found.posterior.probabilities, _classes(found)
    source, target = found.suspects.nodes.T
    return Table(
        {
            "source": found.table.ids[source],
            "target": found.table.ids[target],
            "source_label": names[p[source].argmax(1)],
            "target_label": names[p[target].argmax(1)],
            "source_confidence": p[source].max(1),
            "target_confidence": p[target].max(1),
            "probability": found.suspects.probability,
        }
    )


def suspect_labels_table(found: LabelledGraph) -> Table:
    """Return the known labels that are contradicted, the most suspect first; none may be."""
    suspects, names = found.suspect_labels, _classes(found)
    none = np.zeros(0, np.int64)
    nodes, given, suggested = (
        (none, none, none)
        if suspects is None
        else (suspects.nodes, suspects.given, suspects.suggested)
    )
    return Table(
        {
            ID: found.table.ids[nodes],
            "given": names[given],
            "suggested": names[suggested],
            "probability": np.zeros(0) if suspects is None else suspects.probability,
        }
    )


def _reason(error: Exception) -> str:
    """Return what the system said to DuckDB, which stands behind the name of a file."""
    said = re.search(r'": ([A-Z][\w ,-]+)', str(error))
    return said[1] if said else str(error)


def _classes(found: LabelledGraph) -> NDArray[np.object_]:
    return np.array(found.class_names, object)


def _texts(column: NDArray[Any]) -> Sequence[Any]:
    return [f"{x:.{_DIGITS}f}" for x in column] if column.dtype.kind == "f" else column.tolist()


def _cell(value: object) -> str:
    # Not csv.writer, which leaves a carriage return bare, and readers take it for the end of a row.
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def _quoted(cell: object) -> str:
    """Put a ' in front of a text that a spreadsheet would run; it shows the text, then."""
    text = str(cell)
    if text.lstrip()[:1] not in _FORMULA or not text:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _rounded(column: NDArray[Any]) -> NDArray[Any]:
    return column.round(_DIGITS) if column.dtype.kind == "f" else column


def _missing(name: str, column: NDArray[Any]) -> str:
    return name if column.dtype.kind != "O" else f"nullif(CAST({name} AS VARCHAR), '')"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
