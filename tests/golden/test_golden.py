"""The default is pinned: its settings, and what it computes on fixed graphs.

Where a change is meant to alter it, `python -m tests.golden.regenerate --reason "…"` writes the new
values. `python -m benchmarks.mutations` tells which changes of the source these tests notice.
"""

from __future__ import annotations

import pytest

from tests.golden.reading import METHODS, settings
from tests.golden.regenerate import CASES, differences, expected, numbers_of


@pytest.mark.parametrize("method", METHODS)
def test_settings_are_as_recorded(method: str) -> None:
    golden, now = expected()["settings"][method], settings(method)
    changed = {k: (golden.get(k), now.get(k)) for k in golden | now if golden.get(k) != now.get(k)}
    assert not changed


@pytest.mark.parametrize(("method", "graph"), CASES)
def test_fits_compute_what_is_recorded(method: str, graph: str) -> None:
    assert not differences(expected()["fits"][f"{method} on {graph}"], numbers_of(method, graph))


def test_a_probability_that_moves_is_noticed() -> None:
    golden = {"probabilities": [[0.5, 0.5]], "components": ["a", "b"], "next labels": [3, 4]}
    assert not differences(golden, golden | {"probabilities": [[0.50005, 0.49995]]})
    for other in (
        {"probabilities": [[0.5002, 0.4998]]},
        {"probabilities": [[float("nan"), 0.5]]},
        {"components": ["b", "a"]},
        {"next labels": [4, 3]},
    ):
        assert len(differences(golden, golden | other)) == 1
