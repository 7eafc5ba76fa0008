"""Named random streams: the same name gives the same draws anywhere, another name others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from nodecopy.core.errors import InputError
from nodecopy.core.rng import child_seed, key64, stream

# Paths that a careless joining of names would confuse with each other.
PATHS: list[tuple[Any, ...]] = [
    *[(0,), (1,), (-1,), (10,), (0, 1), (1, 0), (0, "1"), (0, 1, 1), (0, 11), (0, 2**64 + 1)],
    *[(0, ""), (0, "", ""), (0, "a"), (0, "a", "b"), (0, "b", "a"), (0, "ab"), (0, "a,b")],
    *[(0, 'a", "b'), (0, "a/b"), (0, "a\x00b"), (0, "ζ"), (0, "\\u03b6")],
]


def draws(path: tuple[Any, ...]) -> list[int]:
    numbers: list[int] = stream(*path).integers(1 << 62, size=4).tolist()
    return numbers


def test_streams_do_not_depend_on_the_order_in_which_they_are_made() -> None:
    forward = [draws(path) for path in PATHS]
    backward = [draws(path) for path in reversed(PATHS)]
    assert forward == backward[::-1]


@pytest.mark.parametrize("draw", [draws, lambda path: [key64(*path)]])
def test_no_two_paths_share_a_stream(draw: Callable[[tuple[Any, ...]], list[int]]) -> None:
    seen = [tuple(draw(path)) for path in PATHS]
    same = [
        (PATHS[i], PATHS[j]) for i, j in combinations(range(len(PATHS)), 2) if seen[i] == seen[j]
    ]
    assert same == []


def test_numpy_integers_name_the_same_stream_as_python_ones() -> None:
    assert draws((np.int64(3), "zeta", np.uint8(2))) == draws((3, "zeta", 2))


@pytest.mark.parametrize("wrong", [True, 1.0, None, b"a", ("a",)])
def test_other_names_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="named by integers and strings; got"):
        stream(0, wrong)
    with pytest.raises(InputError, match="named by integers and strings; got"):
        stream(wrong)


def test_first_draws_are_those_of_every_other_process_and_release() -> None:
    assert draws((0, "zeta", 1))[:2] == [3980519284694567497, 77557319132439435]
    assert key64(0, "a") == -1851472369144205377
    assert child_seed(0, "a") == 7371899667710570431
