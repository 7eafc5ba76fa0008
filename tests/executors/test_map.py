"""Executors give the results of a loop, whatever happens to the workers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodecopy.errors import ModelError, RunError, TrainingError
from nodecopy.executors import DaskCluster, Serial, check_executor, connection, opened
from nodecopy.executors.origin import empty_from
from tests.executors import fake_parts
from tests.executors.fake_parts import Counted

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

BASES = [0, 1, 2, 3, 4]
CUBES = [0, 1, 8, 27, 64]


def test_results_come_in_order_and_shared_data_is_sent_once(address: str, tmp_path: Path) -> None:
    cube, other = Counted(3, tmp_path), Counted(3, tmp_path)
    with opened(address) as executor:
        assert list(executor.map(fake_parts.power, BASES, cube)) == CUBES
        assert list(executor.map(fake_parts.power, BASES, cube, other)) == CUBES
        assert list(executor.map(fake_parts.power, [], cube)) == []
    arrived = [name.split("-")[1] for name in os.listdir(tmp_path)]
    # Each value once on each worker, on a busy machine perhaps once more; 15 with every part.
    assert len(set(arrived)) == 2
    assert 4 <= len(arrived) <= 8


def test_what_a_part_raises_and_warns_of_arrives_here(address: str, tmp_path: Path) -> None:
    with opened(address) as executor:
        with pytest.raises(TrainingError, match="on purpose"):
            list(executor.map(fake_parts.raises, BASES, Counted(1, tmp_path)))
        with pytest.warns(UserWarning, match="part 3"):
            assert list(executor.map(fake_parts.warns, [3], Counted(1, tmp_path))) == [3]


def test_the_part_of_a_worker_that_dies_is_computed_again(address: str, tmp_path: Path) -> None:
    with opened(address) as executor:
        assert list(executor.map(fake_parts.dies_once, BASES, Counted(3, tmp_path))) == CUBES
    assert (tmp_path / "died").exists()


def test_all_workers_die_and_with_them_what_was_shared(address: str, tmp_path: Path) -> None:
    with DaskCluster(address).open() as executor:
        pids = executor.client.run(os.getpid)  # type: ignore[attr-defined]
        cube = Counted(3, tmp_path)
        assert list(executor.map(fake_parts.kills_all, BASES, cube, pids)) == CUBES
    assert (tmp_path / "died").exists()


def test_a_part_that_kills_every_worker_is_an_error(address: str, tmp_path: Path) -> None:
    with (
        opened(address) as executor,
        pytest.raises(
            RunError, match="4 workers .* died, one after the other; they may lack memory"
        ),
    ):
        list(executor.map(fake_parts.dies, [2], Counted(3, tmp_path)))


def test_no_worker_for_the_stated_time_is_an_error(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LOOK", 0.05)
    monkeypatch.setattr(connection, "_REMIND", 0.2)
    told: list[str] = []
    error = f"there has been no worker at {empty} for 0.5 seconds, since .* start some"
    with (
        DaskCluster(empty, patience=0.5).open(told.append) as executor,
        pytest.raises(RunError, match=error),
    ):
        list(executor.map(fake_parts.power, BASES, Counted(3, tmp_path)))
    assert len(told) > 1
    assert re.fullmatch(rf"waiting for workers: there are 0 at {empty} since [\d:]+", told[0])


def test_none_computes_here(tmp_path: Path) -> None:
    with opened(None) as executor:
        assert isinstance(executor, Serial)
        assert list(executor.map(fake_parts.power, BASES, Counted(3, tmp_path))) == CUBES
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("localhost", "must be like tcp://host:8786; got 'localhost'"),
        (3, "executor must be the address of a Dask scheduler .*; got 3"),
        (Serial, "executor must be the address of a Dask scheduler"),
    ],
)
def test_what_is_no_executor_is_refused(executor: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        check_executor(executor)


def test_impossible_patience_is_refused() -> None:
    with pytest.raises(ModelError, match="patience must be positive; got 0"):
        DaskCluster("tcp://127.0.0.1:8786", 0)


def test_an_array_that_a_worker_does_not_see_after_all_is_sent(
    address: str, tmp_path: Path
) -> None:
    array = empty_from((4,), np.int64, fake_parts.Vanishing(tmp_path))
    array[:] = 1
    with opened(address) as executor:
        assert list(executor.map(fake_parts.sum_of, BASES, array)) == [4, 5, 6, 7, 8]
    assert len(list(tmp_path.glob("seen-*"))) == 2  # every worker was asked
