"""Which tables of nodes describe which node type, and which type the classes belong to.

Tables that share ids, or have the same columns, describe one type, which has the name of its first
file. Ids that only edges have are of the type of the tables, with their row missing; but they are a
separate type where there are several types, or where one end of every edge has a row and the
other has none, as of purchases with a table of customers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nodecopy.core.errors import DatasetError, counted, unknown_name
from nodecopy.features.encoding import NodeTypes
from nodecopy.read.database import IN_EDGES, MAKE_DIFFER, SHOWN, Database
from nodecopy.read.nodes import NodeTable

NO_TABLE = "nodes of no table"


def assign_node_types(
    db: Database, tables: Sequence[NodeTable], fitted: Sequence[str] | None
) -> tuple[NodeTypes, list[NodeTable], list[str]]:
    """Put every id into ``node_groups(id, g)``, where g orders the types, that with classes first.

    Nothing is made where there is one type.

    Args:
        db: has edges, tables of nodes and labels loaded.
        tables: of nodes; those of a model have a type.
        fitted: the types of a model, in order, none where it has one; None finds them.

    Returns:
        How many nodes each type has, the tables with their types, and notes.
    """
    tables, notes = _grouped(db, tables) if fitted is None else (list(tables), [])
    names = list(dict.fromkeys(table.node_type for table in tables))
    if db.fitted_ids and fitted and names:  # of which type a node of the fit is, the model knows
        names = list(dict.fromkeys([fitted[0], *names]))
    if not names or (fitted is not None and not fitted):
        return {}, tables, []
    typed = [
        f"SELECT id, {names.index(table.node_type)} AS g FROM {table.name}" for table in tables
    ]
    if db.fitted_ids:
        typed.append(f"SELECT id, 0 FROM ({IN_EDGES}) SEMI JOIN ({db.fitted_ids}) USING (id)")
    rows = " UNION ALL ".join(typed)
    db.run(f"CREATE TEMP TABLE of_tables AS SELECT id, min(g) AS g FROM ({rows}) GROUP BY id")
    bare = f"(SELECT DISTINCT id FROM ({IN_EDGES})) ANTI JOIN of_tables USING (id)"
    count = db.value(f"SELECT count(*) FROM {bare}")
    # What a list of features leaves out is zero: a node need not be in it.
    tabular = not all(table.triples for table in tables)
    apart = count and (len(names) > 1 or (tabular and _has_own_column(db)))
    if len(names) == 1 and not apart and not fitted:
        return {}, tables, notes
    if apart:
        names.append(NO_TABLE)
        notes.append(f"{counted(count, 'node')} in no file of nodes: a separate node type")
    last = len(names) - 1
    db.run(
        f"CREATE TEMP TABLE found AS FROM of_tables UNION ALL SELECT id, {last} AS g FROM {bare}"
    )
    order = list(fitted or ())
    if fitted is None:
        first, of_labels = _labelled(db, names)
        order, notes = [first, *(name for name in names if name != first)], [*notes, *of_labels]
    order += [name for name in names if name not in order]
    places = ", ".join(str(order.index(name)) for name in names)
    db.run(f"CREATE TEMP TABLE node_groups AS SELECT id, ([{places}])[g + 1] AS g FROM found")
    sizes = dict(db.rows("SELECT g, count(*) FROM node_groups GROUP BY g"))
    return {name: sizes.get(g, 0) for g, name in enumerate(order)}, tables, notes


def _grouped(db: Database, tables: Sequence[NodeTable]) -> tuple[list[NodeTable], list[str]]:
    """Return the tables with the name of their type, and notes on ids that some share."""
    grouped: list[NodeTable] = []
    notes = []
    for table in tables:
        node_type = ""
        for other in grouped:
            common = f"SELECT DISTINCT id FROM {table.name} SEMI JOIN {other.name} USING (id)"
            shared = db.value(f"SELECT count(*) FROM ({common})")
            if not node_type and (
                shared or (table.titles, table.triples) == (other.titles, other.triples)
            ):
                node_type = other.node_type
            most = max(db.value(f"SELECT count(DISTINCT id) FROM {t.name}") for t in (table, other))
            same = shared == most and table.title(table.keys[0]) == other.title(other.keys[0])
            if shared and not same and table.titles != other.titles and not table.triples:
                notes.append(
                    f"{other.table.path.name} and {table.table.path.name} share "
                    f"{counted(shared, 'id')}, so they describe one node type{MAKE_DIFFER}"
                )
        node_type = node_type or _free(table.stem, [other.node_type for other in grouped])
        grouped.append(replace(table, node_type=node_type))
    return grouped, notes


def _has_own_column(db: Database) -> bool:
    """Tell whether one end of every edge has a row in a table, and the other has none."""
    described = "(SELECT id FROM of_tables)"
    ends = f"bool_and(source IN {described}), bool_or(target IN {described}), "
    ends += f"bool_or(source IN {described}), bool_and(target IN {described})"
    sources, some_targets, some_sources, targets = db.rows(f"SELECT {ends} FROM edges")[0]
    return bool((sources and not some_targets) or (targets and not some_sources))


def _labelled(db: Database, names: Sequence[str]) -> tuple[str, list[str]]:
    """Return the type that classes belong to, and notes; drop labels of other types if it is given.

    Raises:
        DatasetError: several types have labels, or the one that was asked for is not there.
    """
    asked = db.options.label_type
    if asked is not None and asked not in names:
        raise DatasetError(f"`label_type`: {unknown_name('node type', asked, names)}")
    labels = [name for name in db.loaded if name.startswith("labels")]
    counts: dict[int, int] = {}
    if labels:
        rows = " UNION ".join(f"SELECT id FROM {name} WHERE label IS NOT NULL" for name in labels)
        counts = dict(
            db.rows(f"SELECT g, count(*) FROM ({rows}) JOIN found USING (id) GROUP BY g ORDER BY g")
        )
    if asked is None and len(counts) > 1:
        sizes = ", ".join(f"{names[g]} ({count:,})" for g, count in counts.items())
        few = min(counts, key=lambda g: counts[g])
        some = db.column(
            f"SELECT DISTINCT id FROM ({rows}) JOIN found USING (id) WHERE g = {few} "
            f"ORDER BY id LIMIT {SHOWN}"
        )
        raise DatasetError(
            f"labels are of several node types: {sizes}; of {names[few]} are "
            f"{', '.join(map(repr, some))}; `label_type` NAME says which to predict"
        )
    node_type = asked or names[next(iter(counts), 0)]
    others = sum(count for g, count in counts.items() if names[g] != node_type)
    for name in labels if others else ():
        db.run(
            f"DELETE FROM {name} "
            f"WHERE id IN (SELECT id FROM found WHERE g <> {names.index(node_type)})"
        )
    if others and db.options.predict is None:
        what = f"{counted(others, 'label')} of other node types than {node_type}"
        return node_type, [f"{what}: left out"]
    if not counts and asked is None:
        hint = "the first file; `label_type` NAME for another"
        return node_type, [f"classes belong to {node_type}, {hint}"]
    return node_type, []


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name that no other type has."""
    return name if name not in taken else _free(f"{name} (2)", taken)
