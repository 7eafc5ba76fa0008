"""Files as people have them: each is read as `expected.json` says, and as pandas reads it.

An entry has the rows that are meant (null where nothing is known), the options of `read_tables`
that a file needs, if any, and those that a careful person would give to pandas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nodecopy.data.tables import TableDataset, read_tables
from nodecopy.data.tables.features import MISSING_SUFFIX

FOLDER = Path(__file__).with_name("awkward")
EXPECTED: Mapping[str, Any] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
IDS = {"edges": 2, "labels": 2, "features": 1}


def kind_of(name: str) -> str:
    return name.split("-")[0]


def as_edges(rows: list[list[Any]]) -> dict[frozenset[str], float]:
    """Return edges, whatever their direction, with their weights."""
    return {frozenset(row[:2]): float(row[2]) if len(row) == 3 else 1.0 for row in rows}


def read_edges(table: TableDataset) -> dict[frozenset[str], float]:
    graph, ids = table.dataset.graph, [str(id) for id in table.ids]
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    ends = zip(graph.row_of_entry(), graph.indices, weights, strict=True)
    return {frozenset((ids[u], ids[v])): float(w) for u, v, w in ends}


def read_labels(table: TableDataset) -> dict[str, str | None]:
    names = [*table.dataset.class_names, None]
    return {str(id): names[k] for id, k in zip(table.ids, table.dataset.labels, strict=True)}


def read_features(table: TableDataset) -> dict[str, list[float | None]]:
    """Return the numbers that were given, and None where one was missing."""
    features = table.dataset.features
    values = features if isinstance(features, np.ndarray) else features.toarray()
    columns = dict(zip(table.feature_names, values.T, strict=True))
    found: dict[str, list[float | None]] = {str(id): [] for id in table.ids}
    for name, column in columns.items():
        if not name.endswith(MISSING_SUFFIX):
            absent = columns.get(name + MISSING_SUFFIX, np.zeros(len(column)))
            for numbers, x, gone in zip(found.values(), column, absent, strict=True):
                numbers.append(None if gone else float(x))
    return found


def close(found: Any, expected: Any) -> bool:
    """Tell whether two values are the same, but for the rounding of float32."""
    if isinstance(expected, (int, float)) and found is not None:
        return abs(found - expected) <= 1e-6 * abs(expected)
    return bool(found == expected)


def assert_same(kind: str, found: Any, rows: list[list[Any]]) -> None:
    if kind == "edges":
        expected = as_edges(rows)
        assert found.keys() == expected.keys()
        assert all(close(found[edge], weight) for edge, weight in expected.items())
    elif kind == "labels":
        assert found == {row[0]: row[1] for row in rows}
    else:
        expected = {row[0]: row[1:] for row in rows}
        assert found.keys() == expected.keys()
        for id, numbers in expected.items():
            assert list(map(close, found[id], numbers)) == [True] * len(numbers), (id, found[id])


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_meant_is_read(name, put):
    kind, entry = kind_of(name), EXPECTED[name]
    path, options = FOLDER / name, entry.get("options", {})
    ids = [row[0] for row in entry["rows"]]
    chain = put("chain.csv", "\n".join(f"{one},{ids[0]}" for one in ids))
    if kind == "edges":
        assert_same(kind, read_edges(read_tables(path, threads=1, **options)), entry["rows"])
    elif kind == "labels":
        table = read_tables(chain, path, threads=1, **options)
        assert_same(kind, read_labels(table), entry["rows"])
    else:
        table = read_tables(chain, None, path, threads=1, **options)
        assert_same(kind, read_features(table), entry["rows"])


@pytest.mark.parametrize("name", EXPECTED)
def test_pandas_reads_the_same(name):
    kind, entry = kind_of(name), EXPECTED[name]
    options = dict(entry["pandas"])
    if "names" not in options:
        head = pd.read_csv(FOLDER / name, nrows=0, **{**options, "na_values": None})
        options["dtype"] = dict.fromkeys(head.columns[: IDS[kind]], str)
    else:
        options["dtype"] = dict.fromkeys(options["names"][: IDS[kind]], str)
    frame = pd.read_csv(FOLDER / name, keep_default_na=False, **options).drop_duplicates()
    rows = [
        [None if pd.isna(cell) else cell.strip() if isinstance(cell, str) else cell for cell in row]
        for row in frame.itertuples(index=False)
    ]
    rows = [[float(c) if isinstance(c, bool) else c for c in row] for row in rows if any(row)]
    found = as_edges(rows) if kind == "edges" else {row[0]: row[1:] for row in rows}
    if kind == "labels":
        found = {row[0]: row[1] for row in rows}
    assert_same(kind, found, entry["rows"])


def test_there_are_no_other_files():
    assert {path.name for path in FOLDER.iterdir()} == {*EXPECTED, "expected.json"}
    assert len(EXPECTED) >= 40
