"""What the columns of a table are called, and what each of them means.

Three kinds of table: edges, labels and features. A column is known by its name where the file has
a header, else by its place. Names count without case, spaces and punctuation: ``Node_ID`` is
``nodeid``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodecopy.data.tables.numbers import NA_WORDS
from nodecopy.errors import DatasetError

_NUMBER = re.compile(r"[+-]?(\d+([.,' ’\u00a0\u202f\u2009]\d+)*[.,]?|[.,]\d+)")


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes:
        what: it is called.
        roles: of its columns, and the names that give a column each role.
        choice: how many columns one may ask for by name: at least, at most; 0 for any number.
        wanted: what these are, in words.
    """

    what: str
    roles: Mapping[str, frozenset[str]]
    choice: tuple[int, int]
    wanted: str

    def checked(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns that were asked for by name, without spaces around them.

        >>> LABELS.checked(["customer", " segment"]), LABELS.checked(None)
        (('customer', 'segment'), ())
        """
        if columns is None:
            return ()
        given = (columns,) if isinstance(columns, str) else tuple(columns)
        if not all(isinstance(name, str) for name in given):
            raise DatasetError(f"{self.what} columns must be names; got {list(given)!r}")
        names = tuple(name.strip() for name in given)
        least, most = self.choice
        fits = least <= len(names) <= (most or len(names))
        if not fits or len(set(names)) < len(names) or "" in names:
            got = ", ".join(map(repr, names)) or "none"
            raise DatasetError(f"{self.what} columns must be {self.wanted}; got {got}")
        return names

    def role(self, name: str) -> str | None:
        """Return the role of a column of this name, None where the name says nothing.

        >>> EDGES.role("Source ID"), EDGES.role("year")
        ('source', None)
        """
        plain = "".join(filter(str.isalnum, name.casefold()))
        return next((role for role, names in self.roles.items() if plain in names), None)

    def roles_of(self, names: Sequence[str]) -> list[str | None]:
        """Return the role of each column; a first column without a name is the id."""
        roles = [self.role(name) for name in names]
        if "id" in self.roles and names and not names[0].strip():
            roles[0] = "id"
        return roles

    def is_named(self, names: Sequence[str]) -> bool:
        """Tell whether two of the names, or the first as an id, say what they stand for."""
        roles = [self.role(name) for name in names]
        return roles[:1] == ["id"] or len([role for role in roles if role]) >= 2

    def is_header(self, first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
        """Tell whether the first row of a file names its columns.

        It does if two of its cells, or the first as an id, have a role in this kind of table; if
        its first cell is empty where there should be an id; or if none of its cells is empty or a
        number, while some column below holds numbers only.

        >>> EDGES.is_header(["from", "to"], [["ann", "bob"]])
        True
        >>> EDGES.is_header(["ann", "bob"], [["bob", "eve"]])
        False
        >>> EDGES.is_header(["paper", "cites"], [["17", "4"]])
        True
        """
        if self.is_named(first) or self.roles_of(first)[:1] == ["id"]:
            return True
        ends_in_separator = len(first) > 2 and not first[-1].strip()
        named = first[:-1] if ends_in_separator else first
        if not rest or any(not cell.strip() or is_number(cell) for cell in named):
            return False
        below = zip(*(row for row in rest if len(row) == len(first)), strict=True)
        return any(holds_numbers(column) for column in below)


_IDS = frozenset({"id", "node", "nodeid", "nodename", "index", "key", "name"})

EDGES = Kind(
    "edge",
    {
        "source": frozenset(
            {"source", "sourceid", "sourcenode", "src", "from", "fromid", "fromnode", "fromnodeid"}
            | {"node1", "id1", "nodea", "ida", "citing", "start", "startid"}
        ),
        "target": frozenset(
            {"target", "targetid", "targetnode", "tgt", "dst", "dest", "destination"}
            | {"to", "toid", "tonode", "tonodeid", "node2", "id2", "nodeb", "idb", "cited"}
            | {"end", "endid"}
        ),
        "weight": frozenset({"weight", "weights", "edgeweight", "w"}),
    },
    (2, 3),
    "two different names, of the ids, and perhaps a third, of the weight",
)
LABELS = Kind(
    "label",
    {
        "id": _IDS,
        "label": frozenset({"label", "labels", "class", "classname", "category", "y", "target"}),
    },
    (2, 2),
    "two different names, of the id and of the label",
)
FEATURES = Kind(
    "feature",
    {
        "id": _IDS,
        "feature": frozenset({"feature", "featureid", "featurename", "attribute", "word", "term"}),
        "value": frozenset({"value", "val", "count"}),
    },
    (1, 0),
    "different names, of the id and, unless all others are features, of the features",
)


def is_number(cell: str) -> bool:
    """Tell whether a cell looks like a number, whatever its marks; NaN and infinity do.

    >>> [is_number(cell) for cell in ("1.234,5", "1 234", "1e5", "nan", "12-05", "x1")]
    [True, True, True, True, False, False]
    """
    try:
        float(cell)
    except ValueError:
        return _NUMBER.fullmatch(cell.strip()) is not None
    return True


def holds_numbers(cells: Sequence[str]) -> bool:
    """Tell whether all cells that say anything are numbers, True or False, and some do."""
    given = [cell for cell in cells if cell.strip().casefold() not in NA_WORDS]
    truths = ("true", "false")
    return bool(given) and all(is_number(one) or one.strip().casefold() in truths for one in given)
