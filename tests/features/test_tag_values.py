"""Tags as one value: what is read, and how it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from nodecopy.core.errors import DatasetError
from nodecopy.features.columns import NodeColumns
from nodecopy.features.tag_values import (
    columns_with_tags,
    enough_tags,
    join_tags,
    split_tags,
    tags_of,
    written_tags,
)


@pytest.mark.parametrize(
    "tags",
    [(), ("a",), ("b", "a"), ("a|b", "c\\d", "[]"), ("[]",), ("10", "9"), ("ä ö", "|", "\\")],
)
def test_tags_come_back(tags: tuple[str, ...]) -> None:
    written = join_tags(tags)
    assert set(split_tags(written)) == set(tags)
    assert join_tags(reversed(tags)) == written


def test_integers_are_in_the_order_of_their_values() -> None:
    assert tags_of([join_tags(["10", "9"])]).names == ("9", "10")
    assert tags_of(["b|10", "a"]).names == ("10", "a", "b")


@pytest.mark.parametrize(
    "cells",
    [
        ["a|b", "b", "[]", None, ""],
        ["a;b", "b", "[]", None, "nan"],
        ["['a', 'b']", '["b"]', "[]", None, None],
        [["a", "b"], {"b"}, [], None, np.nan],
        [("b", "a", "a"), np.array(["b"]), (), None, pd.NA],
    ],
)
def test_the_same_tags_however_they_are_given(cells: list[Any]) -> None:
    expected = ["a|b", "b", "[]", None, None]
    assert written_tags(cells).tolist() == expected
    series = written_tags(pd.Series(cells, index=list("vwxyz"), dtype=object))
    assert series.to_dict() == dict(zip("vwxyz", expected, strict=True))
    assert list(written_tags(dict(enumerate(cells))).values()) == expected


def test_indicator_matrices() -> None:
    matrix = np.array([[1, 1], [0, 1], [0, 0], [np.nan, np.nan]])
    expected = ["0|1", "1", "[]", None]
    assert written_tags(matrix).tolist() == expected
    assert written_tags(torch.tensor(matrix)).tolist() == expected
    named = pd.DataFrame(matrix, columns=["a", "b"], index=[5, 6, 7, 8])
    assert written_tags(named).to_dict() == {5: "a|b", 6: "b", 7: "[]", 8: None}
    for wrong in ([[1.0, np.nan]], [[2.0, 0.0]], [[0.5, 0.5]]):
        with pytest.raises(DatasetError, match="0 and 1"):
            written_tags(np.array(wrong))


def test_something_else_is_refused() -> None:
    with pytest.raises(DatasetError, match="list or set"):
        written_tags([3.5, ["a"]])


def test_tags_with_few_labels_or_few_others_are_told_apart() -> None:
    tags = tags_of(["[]", "a", "a|b", "a|c"])
    labels = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, -1])
    kept = dict(zip(tags.names, enough_tags(tags, labels, 3), strict=True))
    assert kept == {"a": True, "b": False, "c": True}
    assert not enough_tags(tags, labels[3:], 3)[0]  # all have a


def test_columns_that_hold_tags() -> None:
    rng = np.random.default_rng(0)
    sets = [rng.permutation(["x", "y", "z"])[: rng.integers(4)].tolist() for _ in range(60)]
    labels = np.array([join_tags(one) if at < 40 else None for at, one in enumerate(sets)], object)
    columns = NodeColumns(
        {"copy": "list", "has x": "number", "noise": "number", "other": "list"},
        {
            "copy": np.array([";".join(one) for one in sets], object),
            "has x": np.array(["x" in one for one in sets], float),
            "noise": rng.integers(0, 2, 60).astype(float),
            "other": np.array(["p|q", "q"] * 30, object),
        },
        np.zeros(60, bool),
    )
    assert sorted(columns_with_tags(columns, labels)) == ["copy", "has x"]
