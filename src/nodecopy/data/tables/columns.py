"""Which column of a table is what: as asked for, by name where there is a header, or by place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.kinds import LABELS, holds_numbers, is_number
from nodecopy.errors import DatasetError


@dataclass(frozen=True)
class FeatureColumns:
    """Where a feature table keeps the id, and the features.

    Attributes:
        id: position of the id.
        features: positions of the numeric columns; of a table of triples, the name and the value.
        triples: whether a row is (id, feature, value) rather than an id and all its features.
    """

    id: int
    features: tuple[int, ...]
    triples: bool


def edge_columns(table: TableFile) -> list[int]:
    """Return where an edge table has its source, its target and, perhaps, its weight."""
    return _assign(table, ("source", "target"), ("weight",))


def label_columns(table: TableFile) -> list[int]:
    """Return where a label table has its id and its label."""
    return _assign(table, ("id", "label"))


def feature_columns(table: TableFile) -> FeatureColumns:
    """Tell an id with its features from triples (id, feature, value).

    They are triples if the header says so; or if the columns are three, without a header or asked
    for by name, and the second does not hold numbers. Three columns of numbers without a header
    might be either, which is an error.
    """
    everything = range(len(table.names) - table.last_is_blank)
    if table.chosen:
        return _chosen_features(table)
    if table.header:
        _refuse_repeats(table, [name.strip() for name in table.names])
        roles = table.kind.roles_of([table.names[place] for place in everything])
        if sorted(role or "" for role in roles) == ["feature", "id", "value"]:
            places = roles.index("feature"), roles.index("value")
            return FeatureColumns(roles.index("id"), places, triples=True)
        at = roles.index("id") if "id" in roles else 0
        others = tuple(place for place in everything if place != at)
        return FeatureColumns(at, others, triples=False)
    if len(everything) == 3:
        if all(len(row) == len(table.names) and is_number(row[1]) for row in table.sample):
            raise DatasetError(
                f"{table.path}: three columns of numbers without a header may be id, feature and "
                "value, or an id and two features; name them in a first row: id,feature,value or "
                "id,<name>,<name>"
            )
        return FeatureColumns(0, (1, 2), triples=True)
    return FeatureColumns(0, tuple(everything[1:]), triples=False)


def _chosen_features(table: TableFile) -> FeatureColumns:
    at, *others = table.chosen
    width = len(table.names) - table.last_is_blank
    others = others or [place for place in range(width) if place != at]
    _refuse_repeats(table, [table.names[place].strip() for place in others])
    triples = len(others) == 2 and _is_text(table, others[0]) and not _is_text(table, others[1])
    return FeatureColumns(at, tuple(others), triples)


def _is_text(table: TableFile, place: int) -> bool:
    """Tell whether a column holds anything but numbers, True and False, as far as can be seen."""
    if table.types:
        return table.types[place].startswith(("VARCHAR", "ENUM", "UUID"))
    return not holds_numbers([row[place] for row in table.sample if place < len(row)])


def _assign(table: TableFile, required: Sequence[str], optional: Sequence[str] = ()) -> list[int]:
    """Return the position of each required role, then of each optional one that is there.

    A header need not name every role: required ones that it leaves out are taken by the columns
    that have no role, in order, if there are just as many.
    """
    if table.chosen:
        return list(table.chosen)
    roles, width = [*required, *optional], len(table.names) - table.last_is_blank
    if not table.header:
        if not len(required) <= width <= len(roles):
            raise DatasetError(
                f"{table.path}: cannot tell what its {len(table.names)} columns stand for; its "
                f"first row is {table.first_row}; accepted: {_listed(table, required, optional)}"
            )
        return list(range(width))
    found = table.kind.roles_of(table.names[:width])
    _refuse_repeats(table, [role for role in found if role])
    place = {role: at for at, role in enumerate(found) if role}
    missing = [role for role in required if role not in place]
    unknown = [at for at, role in enumerate(found) if role is None]
    # Labels may stand beside anything; a further column of edges may be a weight.
    if len(missing) != len(unknown) and (missing or table.kind is not LABELS):
        names = " and ".join(table.named(at) for at in unknown[:10])
        stand = "stand" if len(unknown) > 1 else "stands"
        what = (
            f"cannot tell what {names} {stand} for" if names else f"no column for the {missing[0]}"
        )
        raise DatasetError(f"{table.path}: {what}; accepted: {_listed(table, required, optional)}")
    place |= dict(zip(missing, unknown, strict=False))
    return [place[role] for role in roles if role in place]


def _refuse_repeats(table: TableFile, words: Sequence[str]) -> None:
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        names = ", ".join(map(repr, table.names[:10]))
        raise DatasetError(
            f"{table.path}: more than one column can be the {repeated[0]!r}; its columns: {names}"
        )


def _listed(table: TableFile, required: Sequence[str], optional: Sequence[str]) -> str:
    extra = f", and perhaps {', '.join(optional)}" if optional else ""
    option = f"--{table.kind.what}-columns {','.join(role.upper() for role in required)}"
    return f"the columns {', '.join(required)}{extra}, or say which to read: {option}"
