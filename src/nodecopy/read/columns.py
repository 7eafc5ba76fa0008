"""Which column of a table is what, and how the cells of each type of column are read in SQL.

A column is known by its name where the file has a header row, else by its place. Names are compared
without case, spaces and punctuation: ``Node_ID`` is ``nodeid``.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nodecopy.core.errors import DatasetError
from nodecopy.core.files import unguarded_sql
from nodecopy.features.columns import plain_name
from nodecopy.features.label_values import UNKNOWN_TEXTS
from nodecopy.read.options import TableOptions

if TYPE_CHECKING:
    from nodecopy.read.formats import Table


@dataclass(frozen=True)
class TableRole:
    """A role of a table: its name, and the words that give a column each of its roles.

    The first two roles must be there, further ones may. ``other`` is what to do about a table
    that holds the same in another form, for a message.
    """

    name: str
    roles: Mapping[str, str]
    other: str = ""

    def role(self, name: str) -> str | None:
        """Return the role of a column of this name, None where the name is unknown.

        >>> EDGES.role("Source ID"), EDGES.role("year")
        ('source', None)
        """
        plain = plain_name(name)
        return next((role for role, words in self.roles.items() if plain in words.split()), None)

    def roles_of(self, names: Sequence[str]) -> list[str | None]:
        """Return the role of each column; a first column without a name is the id."""
        roles = [self.role(name) for name in names]
        if "id" in self.roles and "id" not in roles and names and not names[0].strip():
            roles[0] = "id"
        return roles

    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether two cells of a row, or the first as an id, name roles of this table."""
        roles = self.roles_of(cells)
        return roles == ["class"] or roles[:1] == ["id"] or sum(map(bool, roles)) > 1


_ID = "id node nodeid nodename index key"
EDGES = TableRole(
    "edge",
    {
        "source": "source sourceid sourcenode src from fromid fromnode fromnodeid node1 id1 nodea "
        "citing start startid sender",
        "target": "target targetid targetnode tgt dst dest destination destinationid to toid "
        "tonode tonodeid node2 id2 nodeb cited end endid receiver recipient",
        "weight": "weight weights edgeweight w value",
        "relation": "kind type relation relationship rel predicate edgekind edgetype linktype",
    },
    "; a matrix, or a node and all its neighbours in a row, must become rows of two ids",
)
LABELS = TableRole(
    "label",
    {"id": _ID, "label": "label labels class classname category y"},
    "; a column for each class must become one column of classes",
)
CLASSES = TableRole(
    "class",
    {
        "class": "class classes classname label category group topic name id",
        "description": "description text meaning definition details explanation",
    },
)
NODES = TableRole(
    "node",
    {
        "id": _ID,
        "feature": "feature featureid featurename attribute word term",
        "value": "value val count",
    },
)

# Given columns and how many are asked for: those that hold ids, and whether that is certain.
FindIds = Callable[[Sequence[int], int], tuple[list[int], bool]]


def assign(
    table: Table,
    table_role: TableRole,
    chosen: Sequence[str] | None,
    settled: dict[str, int] | None = None,
    find_ids: FindIds | None = None,
) -> dict[str, int]:
    """Return the places of the first two roles, and of others that are there.

    A header need not name every role: required ones that it leaves out are taken by the columns
    without a role, in order, if there are just as many, or else by those that hold known ids.

    Args:
        table: whose columns are assigned.
        table_role: edges, labels or nodes.
        chosen: columns of the first roles, if the user named them.
        settled: places of other roles that the user named.
        find_ids: finds columns of ids by their values.
    """
    settled, roles = settled or {}, list(table_role.roles)
    if chosen:
        named = dict(zip(roles, choose(table, chosen), strict=False))
        places = [place for place in table.named_places if place not in named.values()]
        relations = [place for place in places if table_role.role(table.names[place]) == "relation"]
        return named | ({"relation": relations[0]} if len(relations) == 1 else {}) | settled
    places = [place for place in table.named_places if place not in settled.values()]
    if table_role is EDGES and table.header and len(places) > 2 and not table.names[0].strip():
        places = places[1:]  # the index of a data frame
    if not table.header and 2 <= len(places) <= 3:
        return dict(zip(roles, places, strict=False)) | settled
    of_place = table_role.roles_of(table.names) if table.header else [None] * len(table.names)
    for role, at in settled.items():
        of_place = [None if other == role else other for other in of_place]
        of_place[at] = role
    repeated = {role for role, count in Counter(of_place).items() if role and count > 1}
    repeated |= {*roles[:2]} if repeated & {*roles[:2]} else set()
    of_place = [None if role in repeated else role for role in of_place]
    place = {role: at for at, role in enumerate(of_place) if role}
    missing = [role for role in roles[:2] if role not in place]
    unknown = [at for at in places if of_place[at] is None]
    if not missing or (len(missing) == len(unknown) and not repeated):
        return place | dict(zip(missing, unknown, strict=False))
    ids, sure = find_ids(unknown, len(missing)) if find_ids else ([], False)
    if sure:
        return place | dict(zip(missing, ids, strict=True))
    option = f"`{table_role.name}_columns`"
    hint = f"{option} names the two{', and perhaps a weight' * (table_role is EDGES)}; `delimiter` "
    hint += f"says what separates columns{table_role.other}"
    if table_role is CLASSES:
        hint = "call the two columns class and description"
    if len(ids) == 2:
        pair = shlex.quote(",".join(table.titles[at] for at in ids))
        hint = f"{option} {pair}, for instance: they hold the same values"
    raise DatasetError(
        f"{table.path}: cannot tell which column is the {missing[0]}; the first row is "
        f"{table.first_row_text}; {hint}"
    )


def node_places(table: Table, types: Mapping[str, str]) -> tuple[int, list[int], bool]:
    """Return the place of the id, of the other columns, and whether rows are triples.

    A row is an id and all its columns, or (id, feature, value).

    They are triples if the header or the user says so, or if there are three columns without a
    header of which the second holds strings and the third numbers. Three columns of numbers without
    a header might be either, which is an error.

    Args:
        table: a table of nodes.
        types: of columns, by name, as the user settled them.
    """
    asked = {
        types[name.strip()]: at for at, name in enumerate(table.names) if name.strip() in types
    }
    roles = NODES.roles_of(table.names) if table.header else []
    id = asked.get("id", roles.index("id") if "id" in roles else 0)
    others = [place for place in table.named_places if place != id]
    if {"feature", "value"} <= asked.keys():
        return id, [asked["feature"], asked["value"]], True
    if {"id", "feature", "value"} == set(roles) and len(roles) == 3 and not asked:
        return id, [roles.index("feature"), roles.index("value")], True
    _refuse_repeats(table, [table.names[place].strip() for place in others])
    undecided = len(others) == 2 and not table.header and not asked
    undecided = undecided and is_number(table.types[others[-1]])
    triples = undecided and not is_number(table.types[others[0]])
    if undecided and not triples:
        raise DatasetError(
            f"{table.path}: three columns of numbers without a header row may be id, feature and "
            "value, or an id and two numbers: `column_types` 2=number or 2=feature,3=value"
        )
    return id, others, triples


def choose(table: Table, columns: Sequence[str]) -> list[int]:
    """Return the places of columns that were asked for by name, or by number from 1."""
    names, places = [name.strip() for name in table.names], []
    for column in columns:
        count = names.count(column)
        if count == 1:
            places.append(names.index(column))
        elif count == 0 and column.isdecimal() and 1 <= int(column) <= len(names):
            places.append(int(column) - 1)
        else:
            what = "more than one column" if count else "no column"
            raise DatasetError(
                f"{table.path}: {what} {column!r}; its first row is {table.first_row_text}; "
                f"accepted: one of these names, or a number from 1 to {len(names)}"
            )
    _refuse_repeats(table, [f"column {place + 1}" for place in places])
    return places


def _refuse_repeats(table: Table, words: Sequence[str]) -> None:
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        raise DatasetError(
            f"{table.path}: more than one column can be {repeated[0]!r}; its first row is "
            f"{table.first_row_text}"
        )


def quoted(value: str) -> str:
    """Return a string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


# A reader returns SQL for the value in a cell, given the cell, its DuckDB type, and the options.
Reader = Callable[[str, str, TableOptions], str]
YES, NO = ("true", "yes", "y", "ja", "j"), ("false", "no", "n", "nein")
# Formats of dates beside ISO; of two that fit all cells, the first is taken.
DATE_FORMS = (
    *("", "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d-%b-%Y", "%d-%b-%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_UNITS = r"^\s*[$€£¥]\s*|\s*[%$€£¥]\s*$"  # of percentages and amounts of money
_SPACES = r" '’\x{a0}\x{202f}\x{2009}"  # may group thousands, whatever the decimal mark


def read_string(cell: str, type: str, options: TableOptions) -> str:
    """Return SQL for an id or a name: the string without spaces around it, NULL where empty."""
    return f"nullif(trim(CAST({cell} AS VARCHAR), ' \t'), '')"


def read_id(cell: str, type: str, options: TableOptions) -> str:
    """Return SQL for an id: NULL where it is empty or a word for missing."""
    text = read_string(cell, type, options)
    return f"CASE WHEN {_is_word(text, options.na_ids)} THEN NULL ELSE {unguarded_sql(text)} END"


def read_label(cell: str, type: str, options: TableOptions) -> str:
    """Return SQL for a label: a string, NULL where it is unknown."""
    return unguarded_sql(read_text(cell, type, options, UNKNOWN_TEXTS))


def read_text(cell: str, type: str, options: TableOptions, unknown: Iterable[str] = ()) -> str:
    """Return SQL for a category or text: a string, NULL where it is missing or unknown."""
    text = read_string(cell, type, options)
    missing = _is_word(f"lower({text})", (*options.na_words, *unknown))
    return f"CASE WHEN {missing} THEN NULL ELSE {text} END"


def read_boolean(cell: str, type: str, options: TableOptions) -> str:
    """Return SQL for 1 or 0: NULL where it is missing, infinity where it cannot be read."""
    text = f"lower({read_text(cell, type, options)})"
    return (
        f"CASE WHEN {text} IS NULL THEN NULL WHEN {_is_word(text, YES)} THEN 1.0::DOUBLE "
        f"WHEN {_is_word(text, NO)} THEN 0.0 ELSE 'inf'::DOUBLE END"
    )


def read_date(cell: str, type: str, options: TableOptions, form: str = "") -> str:
    """Return SQL for seconds since 1970: NULL where missing, infinity where it cannot be read.

    Args:
        cell: the cell.
        type: its type.
        options: how tables are read.
        form: one of `DATE_FORMS`; empty is the ISO format.
    """
    text = read_text(cell, type, options)
    times = ", ".join(quoted(form + time) for time in ("", " %H:%M", " %H:%M:%S"))
    date = f"try_strptime({text}, [{times}])" if form else f"TRY_CAST({text} AS TIMESTAMP)"
    return f"CASE WHEN {text} IS NULL THEN NULL ELSE coalesce(epoch({date}), 'inf'::DOUBLE) END"


def read_number(cell: str, type: str, options: TableOptions) -> str:
    """Return SQL for a number: NULL where it is missing, infinity where it cannot be read."""
    if is_number(type):
        return f"nullif(CAST({cell} AS DOUBLE), 'nan'::DOUBLE)"
    cell = f"regexp_replace(CAST({cell} AS VARCHAR), {quoted(_UNITS)}, '', 'g')"
    word, plain = f"lower(trim({cell}))", cell
    if options.decimal is not None:
        mark, other = options.decimal, "," if options.decimal == "." else "."
        groups = rf"[+-]?\d{{1,3}}([{other}{_SPACES}]\d{{3}})+([{mark}]\d*)?"
        ungrouped = f"regexp_replace(trim({cell}), {quoted(f'[{other}{_SPACES}]')}, '', 'g')"
        plain = (
            f"replace(CASE WHEN regexp_full_match(trim({cell}), {quoted(groups)}) THEN {ungrouped} "
            f"WHEN contains({cell}, '{other}') THEN NULL ELSE {cell} END, '{mark}', '.')"
        )
    return (
        f"coalesce(nullif(TRY_CAST({plain} AS DOUBLE), 'nan'::DOUBLE), "
        f"CASE WHEN {cell} IS NULL OR {_is_word(word, options.na_words)} THEN NULL "
        f"WHEN {word} = 'true' THEN 1 WHEN {word} = 'false' THEN 0 ELSE 'inf'::DOUBLE END)"
    )


NUMBER_HINT = (
    "; 1.234,5 needs `decimal` , and 1,234.5 `decimal` .; other words for a missing value: "
    "`na_values`"
)


def is_number(type: str) -> bool:
    """Tell whether a type of DuckDB is one of numbers.

    >>> (
    ...     is_number("UBIGINT"),
    ...     is_number("DECIMAL(4,1)"),
    ...     is_number("VARCHAR"),
    ...     is_number("INTEGER[]"),
    ... )
    (True, True, False, False)
    """
    return re.fullmatch(r"U?\w*INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*", type) is not None


class Column(NamedTuple):
    """A column to load: its name in the database, its place, and its reader (None: as it is)."""

    name: str
    place: int
    reader: Reader | None = read_string


def _is_word(text: str, words: Iterable[str]) -> str:
    # One regular expression: IN with many strings takes memory for each of them and each column.
    return f"regexp_full_match({text}, {quoted('|'.join(map(re.escape, words)))})"
