r"""Tags: several labels of a node as one value, a string such as ``cat|dog``; ``[]`` has none.

So tags are kept, saved and answered as any other label is. Tags are in order, and a ``|`` or ``\``
within a tag has a ``\`` in front.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, shown
from nodecopy.features.columns import (
    BRACKETS,
    NodeColumns,
    Strings,
    list_separator,
    list_values,
    missing_in,
)
from nodecopy.features.label_values import UNKNOWN_TEXTS, is_known
from nodecopy.features.matrix import to_matrix

NO_TAGS = "[]"
_ACCEPTED = (
    "a list or set of tags for each node, a string such as 'cat|dog', or an indicator matrix "
    "[N, T]; None, NaN or '' where tags are unknown, and an empty list where a node has none"
)


class Tags(NamedTuple):
    """Different tags, and which of them each combination has."""

    names: tuple[str, ...]  # [T]
    members: NDArray[np.bool_]  # [C, T]


def join_tags(tags: Iterable[Any]) -> str:
    r"""Return tags as one string; `split_tags` undoes it.

    >>> join_tags(["dog", "cat", "dog"]), join_tags([]), split_tags(join_tags(["a|b"]))
    ('cat|dog', '[]', ('a|b',))
    """
    names = in_order({str(tag).strip() for tag in tags} - {""})
    written = "|".join(re.sub(r"([\\|])", r"\\\1", name) for name in names)
    return NO_TAGS if not names else f"\\{written}" if written == NO_TAGS else written


def split_tags(value: str) -> tuple[str, ...]:
    """Return the tags of a string that `join_tags` wrote."""
    if value == NO_TAGS:
        return ()
    return tuple(re.sub(r"\\(.)", r"\1", one) for one in re.findall(r"(?:[^\\|]|\\.)+", value))


def in_order(names: Collection[str]) -> list[str]:
    """Return names in order: by value where all are integers, else as strings."""
    integers = all(re.fullmatch("-?[0-9]+", name) for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if integers else None)


def tags_of(combinations: Sequence[str]) -> Tags:
    """Return the different tags of combinations.

    >>> tags = tags_of(["[]", "cat", "cat|dog"])
    >>> tags.names, tags.members.astype(int).tolist()
    (('cat', 'dog'), [[0, 0], [1, 0], [1, 1]])
    """
    own = [split_tags(one) for one in combinations]
    names = tuple(in_order({name for tags in own for name in tags}))
    place = {name: at for at, name in enumerate(names)}
    members = np.zeros((len(own), len(names)), bool)
    for row, tags in zip(members, own, strict=True):
        row[[place[name] for name in tags]] = True
    return Tags(names, members)


def enough_tags(tags: Tags, labels: NDArray[np.int64], least: int) -> NDArray[np.bool_]:
    """Tell which tags so many labelled nodes have, and so many do not [T].

    Args:
        tags: of the combinations.
        labels: the combination of each node, -1 where it is unknown [N].
        least: how many.
    """
    has = tags.members[labels[labels >= 0]].sum(0)
    known = np.count_nonzero(labels >= 0)
    return np.asarray((has >= least) & (known - has >= least))


def written_tags(y: Any) -> Any:
    """Return tags of nodes as one string each, None where they are unknown, in the same container.

    Args:
        y: a list, a set, a string or None for each node, in a list, an array, a pandas Series or a
            mapping; or an indicator matrix [N, T], whose unknown rows are NaN, and whose tags are
            called 0, 1, …, or as the columns of a DataFrame.

    >>> written_tags([["dog", "cat"], None, [], "cat|dog"]).tolist()
    ['cat|dog', None, '[]', 'cat|dog']
    >>> written_tags(np.array([[1, 0], [1, 1], [0, 0]])).tolist()
    ['0', '0|1', '[]']
    """
    if isinstance(y, Mapping):
        return dict(zip(y, tag_strings(y.values()).tolist(), strict=True))
    matrix = getattr(y, "ndim", 1) == 2
    strings = _from_indicator(y) if matrix else tag_strings(y)
    if not hasattr(y, "iloc"):
        return strings
    import pandas

    return pandas.Series(strings, index=y.index, dtype=object)


def tag_strings(values: Iterable[Any]) -> NDArray[np.object_]:
    """Return the tags of each node as `join_tags` writes them, None where they are unknown [N].

    Strings are lists in cells, as files have them; what separates their values is found.
    """
    cells = list(values)
    written = [one for one in cells if isinstance(one, str) and is_known(one)]
    mark = cell_separator(np.array(written, object))
    strings = np.empty(len(cells), object)
    strings[:] = [_string_of(one, mark) for one in cells]
    return strings


def cell_separator(cells: Strings) -> str:
    """Return what separates the tags in cells: | unless it is never there, and ; or brackets are.

    >>> cell_separator(np.array(["a;b", "c"], object)), cell_separator(np.array(["a"], object))
    (';', '|')
    """
    if any("|" in cell for cell in cells):
        return "|"
    if mark := list_separator(cells):
        return mark
    bracketed = any(cell.startswith("[") and cell != NO_TAGS for cell in cells)
    return BRACKETS if bracketed else ";" if any(";" in cell for cell in cells) else "|"


def cell_tags(cell: str, mark: str) -> str:
    """Return the tags in a cell as `join_tags` writes them."""
    if cell.strip() == NO_TAGS:
        return NO_TAGS
    return join_tags(split_tags(cell) if mark == "|" else list_values(cell, mark))


def columns_with_tags(columns: NodeColumns, labels: Strings) -> list[str]:
    """Return the columns that hold the tags of every node whose tags are known, or one of them.

    See `NodeColumns.holding`; lists of the same tags in another order or writing hold them, too.

    Args:
        columns: of the nodes.
        labels: tags of each node, None where they are unknown [N].
    """
    lists = {
        name: tag_strings(values)
        for name, values in columns.values.items()
        if columns.types[name] == "list"
    }
    held = replace(columns, values={**columns.values, **lists}).holding(labels)
    known = ~missing_in(labels)
    tags = tags_of(labels[known].tolist())
    few = {name: own for name, own in columns.values.items() if _is_pair(own[known])}
    pairs = replace(columns, values=few)
    for has in tags.members.T if few else ():
        own = np.full(len(labels), None, object)
        own[known] = np.where(has, "yes", "no")
        held += pairs.holding(own)
    return list(dict.fromkeys(held))


def _is_pair(cells: NDArray[Any]) -> bool:
    """Tell whether cells have two values; missing is one."""
    return len({str(cell) for cell in cells.tolist()}) == 2


def _from_indicator(values: Any) -> NDArray[np.object_]:
    """Return the tags of each row of an indicator matrix; None where it is NaN throughout."""
    names = [str(name) for name in getattr(values, "columns", range(np.shape(values)[1]))]
    try:
        matrix = np.asarray(to_matrix(values), np.float64)
    except (TypeError, ValueError):
        raise DatasetError(f"tags must be {_ACCEPTED}; got {shown(values)}") from None
    unknown = np.isnan(matrix) | (matrix == -1)
    rows = unknown.all(1)
    if np.any(unknown[~rows]) or not np.isin(matrix[~rows], (0, 1)).all():
        wrong = int(np.flatnonzero(~rows & ~np.isin(matrix, (0, 1)).all(1))[0])
        raise DatasetError(
            "an indicator matrix of tags must have 0 and 1 in each row, or NaN throughout where "
            f"tags are unknown; row {wrong} is {shown(matrix[wrong].tolist())}"
        )
    strings = np.full(len(matrix), None, object)
    for at in np.flatnonzero(~rows):
        strings[at] = join_tags(np.array(names, object)[matrix[at] == 1])
    return strings


def _string_of(value: Any, mark: str) -> str | None:
    if isinstance(value, str):
        return cell_tags(value, mark) if value.strip().lower() not in UNKNOWN_TEXTS else None
    if isinstance(value, (Sequence, Set, np.ndarray)) and not isinstance(value, bytes):
        return join_tags(value)
    if not is_known(value):
        return None
    raise DatasetError(f"tags must be {_ACCEPTED}; got {shown(value)} for a node")
