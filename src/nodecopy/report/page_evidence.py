"""Why a node has its class, as the panels of both pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodecopy.estimator.explanation import LABELS, Explanation, Row
from nodecopy.nn.evidence import OF_NODES
from nodecopy.tables import TableDataset


def evidence_block(why: Explanation, label: int, against: int, table: TableDataset) -> Any:
    """Return an explanation as JSON can hold it: [title, points, [[name, points], …]] per kind.

    Args:
        why: the explanation.
        label: the number of its class on the page.
        against: that of the next one.
        table: names the nodes.
    """

    def named(rows: Sequence[Row]) -> list[list[Any]]:
        return [[_name(row, table), round(100 * row.points, 1)] for row in rows]

    groups: list[list[Any]] = [
        [title, round(100 * points, 1), named(rows)] for title, points, rows in why.groups()
    ]
    if why.top_labels:
        groups.append([LABELS, None, named(why.top_labels)])
    return {"label": label, "against": against, "groups": groups}


def _name(row: Row, table: TableDataset) -> str:
    if row.kind in OF_NODES:
        row = row._replace(name=table.shown(row.number))
    return row.title
