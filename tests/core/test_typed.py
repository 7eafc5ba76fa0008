"""Values out of files against annotations."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from nodecopy.classifiers import LabelPropagation, NodeClassifier
from nodecopy.core.typed import fits
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Network


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        (True, float, False),
        (None, None, True),
        (1, Literal["auto", True], False),
        (True, Literal["auto", True], True),
        ([], str | None, False),
        ([1], tuple[int, ...], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ({"a": {"b": 1}}, dict[str, dict[str, float]], True),
        ({"a": {"b": "1"}}, dict[str, dict[str, float]], False),
        ({1: "a"}, dict[str, str], False),
        (np.zeros(2), float | NDArray[np.floating], True),
        (np.zeros(2), NDArray[np.float32], False),
        (np.zeros(2), NDArray[np.floating[Any]], True),  # as weights of a graph are
        (np.zeros(2, np.int64), NDArray[np.int64] | None, True),
        (GCN(), Network, True),
        ("GCN", Network, False),
        (LabelPropagation(), NodeClassifier | None, True),
        (GCN(), NodeClassifier | None, False),
    ],
)
def test_a_value_fits_its_annotation_or_does_not(value: object, hint: Any, expected: bool) -> None:
    assert fits(value, hint) is expected
