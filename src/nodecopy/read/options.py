"""How tables are read: arguments of `read_tables`, keys of config.toml, options of the commands.

An option is declared here, once: its name, type, default, and its text for ``--help``. The command
line takes it from here (`nodecopy.cli.reading`), and so do the settings of a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_type_hints

from nodecopy.core.errors import DatasetError, shown

# Files, which messages name as they name options.
FILES = ("edges", "labels", "nodes")
RepeatedEdges = Literal["largest", "sum"]

# Words for a missing value: those of pandas, of spreadsheets and of R, and two in German.
NA_WORDS = (
    *("", "na", "n/a", "n.a.", "nan", "-nan", "null", "none", "nil", "<na>", "#n/a", "#na"),
    *("#n/a n/a", "1.#ind", "1.#qnan", "-1.#ind", "-1.#qnan", "nat", "?", ".", "-", "--"),
    *("k.a.", "k. a.", "missing", r"\n"),
)
# Marks of a missing id that programs write: hardly ever names, as NA, Nan and Null may be.
NA_IDS = ("", r"\N", "NULL", "null", "NaN", "nan", "None", "<NA>", "#N/A")
# What a column of a table of nodes may be. The last three are of its id, and of the feature and its
# value where a row is (id, feature, value).
COLUMN_TYPES = (
    *("number", "category", "list", "text", "date", "boolean", "name", "skip"),
    *("id", "feature", "value"),
)
# What relation is where all edges are of one.
NO_RELATION = "none"
# How many columns or characters an option may name.
_LENGTHS = {"edge_columns": (2, 3), "label_columns": (2,), "delimiter": (1,)}


def _option(help: str) -> Any:
    """Return a field that is None by default, with its text for ``--help``."""
    return field(default=None, metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How tables are read.

    Columns are given by name, or by number from 1 in a file without a header row.

    Attributes:
        edge_columns: columns of the two ids and, if there is one, of the weight.
        relation: column of the relation of each edge, "none" for one; None is a column named
            kind, type or relation, if there is one, and the name of the file where there are
            several files of edges.
        directed: whether the direction of an edge tells something: who cites is then distinguished
            from who is cited.
        label_columns: columns of the id and of the label.
        label_type: node type that classes belong to, the name of its first file; None is the
            one that has labels.
        predict: column of the tables of nodes that has the labels, instead of a table of labels:
            filled cells are known, empty ones are predicted, and it is not a feature.
        target: what labels are: "class", "number", or "tags", several for each node; None takes
            numbers with a fraction, or more than 50 that are mostly different, for numbers, lists
            in cells and several rows of many ids for tags, and all else for classes.
        column_types: types of columns of the nodes, such as ``"age=number"``; others are
            detected. See `COLUMN_TYPES`; ``"*=skip"`` leaves out all others.
        header: whether the first row names the columns; None detects it.
        delimiter: character between cells; None detects it.
        encoding: of text files, as Python calls it; None detects UTF-8, UTF-16 and Windows-1252.
        decimal: "." or "," as the decimal mark, with thousands grouped by the other one, by spaces
            or by apostrophes; None reads plain numbers with a decimal point.
        na_values: words for a missing value besides an empty cell; None is `NA_WORDS`.
        repeated_edges: weight of an edge with several rows: the "largest" of theirs or the "sum",
            where a row without a weight counts 1.
    """

    edge_columns: tuple[str, ...] | None = _option("Columns of --edges: id,id or id,id,weight.")
    relation: str | None = _option(
        "Column of --edges with the relation of each edge, or none. (default: detect)"
    )
    directed: bool | None = _option("The direction of edges tells something. (default: no)")
    label_columns: tuple[str, ...] | None = _option("Columns of the labels: id,label.")
    label_type: str | None = _option(
        "Node type to predict, of several --nodes files. (default: the one with labels)"
    )
    predict: str | None = _option("Column of --nodes to predict where empty: instead of --labels.")
    target: Literal["class", "number", "tags"] | None = _option(
        "What labels are: class, number or tags. (default: detect)"
    )
    column_types: tuple[str, ...] | None = _option(
        "Types of columns of --nodes: age=number,city=category,x=skip. (default: detect)"
    )
    header: bool | None = _option("The first row names the columns, or not. (default: detect)")
    delimiter: str | None = _option("Character between cells. (default: detect)")
    encoding: str | None = _option("Encoding of text files, e.g. cp1252. (default: detect)")
    decimal: Literal[".", ","] | None = _option(
        "Decimal mark, if thousands are grouped or it is a comma: . or ,"
    )
    na_values: tuple[str, ...] | None = _option(
        "Words for a missing value, e.g. k.A.,? (default: NA, null and others)"
    )
    repeated_edges: RepeatedEdges = field(
        default="largest",
        metadata={"help": "Weight of repeated edges: largest or sum. (default: largest)"},
    )

    def __post_init__(self) -> None:
        """Check every option."""
        from nodecopy.core.typed import check_value  # it imports NumPy, which --help does not need

        hints = get_type_hints(type(self), include_extras=True)
        for name in (declared.name for declared in fields(self)):
            value = getattr(self, name)
            if isinstance(value, (list, tuple)):
                value = tuple(one.strip() if isinstance(one, str) else one for one in value)
                object.__setattr__(self, name, value)
            check_value(name, value, hints[name], DatasetError)
            lengths = _LENGTHS.get(name, ())
            if value is not None and lengths and len(value) not in lengths:
                accepted = f"of length {' or '.join(map(str, lengths))}"
                raise DatasetError(f"{name} must be {accepted}; got {shown(value)}")
        for column, column_type in self.settled_types.items():
            if not column or column_type not in COLUMN_TYPES:
                given = shown(f"{column}={column_type}".lstrip("="))
                types = ", ".join(COLUMN_TYPES)
                raise DatasetError(
                    f"column_types must be NAME=TYPE; got {given}; types are {types}"
                )

    @property
    def settled_types(self) -> dict[str, str]:
        """The type of each column that was named."""
        pairs = (one.rpartition("=") for one in self.column_types or ())
        return {column.strip(): column_type.strip() for column, _, column_type in pairs}

    @property
    def na_words(self) -> tuple[str, ...]:
        """Words for a missing value, in lower case."""
        if self.na_values is None:
            return NA_WORDS
        return ("", *map(str.lower, self.na_values))

    @property
    def na_ids(self) -> tuple[str, ...]:
        """Words for a missing id, as they are written."""
        return NA_IDS if self.na_values is None else ("", *self.na_values)


def with_flags(message: str) -> str:
    """Return a message with the options that it names as the command line writes them.

    >>> with_flags("`label_type` NAME says which node type to predict")
    '--label-type NAME says which node type to predict'
    """
    names = (*FILES, *(option.name for option in fields(TableOptions)))
    return re.sub(f"`({'|'.join(names)})`", lambda name: f"--{name[1].replace('_', '-')}", message)
