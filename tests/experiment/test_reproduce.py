"""A whole run of real trials: from an experiment to rows, with a note of the run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nodecopy.experiment import reproduce as module
from nodecopy.experiment.executors import Serial
from nodecopy.experiment.reproduce import machine, reproduce
from nodecopy.experiment.spec import load_experiment
from nodecopy.experiment.status import cells_of
from nodecopy.experiment.store import Store
from tests.experiment.fake_trials import raises

TINY = replace(load_experiment("smoke"), methods=("label-propagation",))


def test_a_run_is_noted_with_what_it_ran_and_where(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    state = reproduce(TINY, path, Serial())
    assert (state.total, state.done, state.failures) == (8, 8, ())
    with Store.open(path, create=False) as store:
        (run,) = store.runs()
        assert {row.trial for row in store.rows()} == set(TINY.trials())
    assert (run.experiment, run.planned, run.executor) == ("smoke", 8, "serial")
    assert run.spec_digest == TINY.digest
    assert json.loads(run.spec)["methods"] == ["label-propagation"]
    assert run.machine == machine()
    assert {"nodecopy", "torch", "numerics"} <= set(run.versions)
    assert run.ended is not None
    assert run.started <= run.ended


def test_a_run_with_nothing_to_do_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    reproduce(TINY, path, Serial())
    before = path.read_bytes()
    assert reproduce(TINY, path, Serial()).done == 0
    assert path.read_bytes() == before


def test_the_status_counts_rows_and_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "run_trial", raises)
    path = tmp_path / "runs.sqlite"
    one = replace(TINY, datasets=("cora",), splits=("fixed",), trials_per_cell=4)
    reproduce(one, path, Serial())
    reproduce(replace(one, splits=("random",), first_seed=3, trials_per_cell=2), path, Serial())
    with Store.open(path) as store:
        fixed, random = cells_of(store)
    assert (fixed.split, fixed.trials, fixed.failed) == ("fixed", 3, 1)
    assert fixed.accuracy == pytest.approx(0.101)
    assert fixed.deviation == pytest.approx(0.001)
    assert (random.split, random.trials, random.failed, random.deviation) == ("random", 1, 1, None)
