"""Files as people have them: each is read as `expected.json` says.

An entry has the rows that are meant (null where nothing is known), and the options of `read_tables`
that a file needs, if any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodecopy.core.errors import DatasetError
from nodecopy.features.column_encoder import MISSING
from nodecopy.problem.problem import Problem
from nodecopy.read.tables import read_tables

FOLDER = Path(__file__).with_name("awkward")
EXPECTED: Mapping[str, Any] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


def kind_of(name: str) -> str:
    return name.split("-")[0]


def as_edges(rows: list[list[Any]]) -> dict[frozenset[str], float]:
    """Return edges, whatever their direction, with their weights."""
    return {frozenset(row[:2]): float(row[2]) if len(row) == 3 else 1.0 for row in rows}


def read_edges(table: Problem) -> dict[frozenset[str], float]:
    graph, ids = table.graph, [str(id) for id in table.ids]
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    ends = zip(graph.row_of_entry(), graph.indices, weights, strict=True)
    return {frozenset((ids[u], ids[v])): float(w) for u, v, w in ends}


def read_labels(table: Problem) -> dict[str, str | None]:
    names = [*table.class_names, None]
    return {str(id): names[k] for id, k in zip(table.ids, table.labels, strict=True)}


def read_features(table: Problem) -> dict[str, list[float | None]]:
    """Return the numbers that were given, and None where one was missing."""
    features = table.features
    values = features if isinstance(features, np.ndarray) else features.toarray()
    columns = dict(zip(table.encoder.feature_names, values.T, strict=True))
    result: dict[str, list[float | None]] = {str(id): [] for id in table.ids}
    for name, column in columns.items():
        if not name.endswith(MISSING):
            absent = columns.get(name + MISSING, np.zeros(len(column)))
            for numbers, x, gone in zip(result.values(), column, absent, strict=True):
                numbers.append(None if gone else float(x))
    return result


def close(result: Any, expected: Any) -> bool:
    """Tell whether two values are the same, but for the rounding of float32."""
    if isinstance(expected, (int, float)) and result is not None:
        return abs(result - expected) <= 1e-6 * abs(expected)
    return bool(result == expected)


def assert_same(kind: str, result: Any, rows: list[list[Any]]) -> None:
    if kind == "edges":
        expected = as_edges(rows)
        assert result.keys() == expected.keys()
        assert all(close(result[edge], weight) for edge, weight in expected.items())
    elif kind == "labels":
        assert result == {row[0]: row[1] for row in rows}
    else:
        expected = {row[0]: row[1:] for row in rows}
        assert result.keys() == expected.keys()
        for id, numbers in expected.items():
            assert list(map(close, result[id], numbers)) == [True] * len(numbers), (id, result[id])


def options_of(name: str) -> dict[str, Any]:
    return EXPECTED[name].get("options", {})


def read(name: str, put, options: Mapping[str, Any]) -> Problem:
    """Read a file; labels and features on a graph of their ids."""
    path, kind = FOLDER / name, kind_of(name)
    if kind == "edges":
        return read_tables(path, threads=1, **options)
    ids = [row[0] for row in EXPECTED[name]["rows"]]
    lines = "\n".join(f"{one},{ids[0]}" for one in ids)
    chain = put("chain.csv", f"source,target\n{lines}")
    tables = {"labels": path} if kind == "labels" else {"nodes": path}
    return read_tables(chain, **tables, threads=1, **options)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_meant_is_read(name, put):
    kind, read_back = kind_of(name), {"edges": read_edges, "labels": read_labels}
    table = read(name, put, options_of(name))
    values = read_back.get(kind, read_features)(table)
    assert_same(kind, values, EXPECTED[name]["rows"])


@pytest.mark.parametrize("name", [name for name in EXPECTED if "decimal" in options_of(name)])
def test_numbers_that_are_not_plain_are_read_as_meant_or_name_the_option(name, put):
    options = {key: value for key, value in options_of(name).items() if key != "decimal"}
    try:
        table = read(name, put, options)
    except DatasetError as error:
        problem = str(error)
    else:
        assert_same("features", read_features(table), EXPECTED[name]["rows"])
        return
    assert re.search(r"line \d.*`decimal`", problem)
