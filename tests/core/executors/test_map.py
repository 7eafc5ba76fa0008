"""The contract of executors: the results of a loop, whatever happens to the workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodecopy.core import executors
from nodecopy.core.errors import InputError, ModelError, RunError, TrainingError
from nodecopy.core.executors import Executor, Serial, check_executor, opened
from tests.core.executors import fake_parts
from tests.core.executors.fake_parts import Counted
from tests.waiting import LIMIT

BASES = [0, 1, 2, 3, 4]
CUBES = [0, 1, 8, 27, 64]


@pytest.fixture(params=["serial", "processes", "cluster"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    name = request.param
    with opened(request.getfixturevalue("address") if name == "cluster" else name, 2) as started:
        yield started


@pytest.fixture(params=["processes", "cluster"])
def remote(request: pytest.FixtureRequest) -> Iterator[Executor]:
    name = request.param
    with opened(request.getfixturevalue("address") if name == "cluster" else name, 2) as started:
        yield started


def test_results_are_those_of_a_loop(executor: Executor, tmp_path: Path) -> None:
    cube = Counted(3, tmp_path)
    assert list(executor.map(fake_parts.power, BASES, cube)) == CUBES
    assert sorted(executor.map(fake_parts.power, BASES, cube, ordered=False)) == CUBES
    assert list(executor.map(fake_parts.power, [], cube)) == []


def test_exceptions_and_warnings_arrive_here(executor: Executor, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="on purpose"):
        list(executor.map(fake_parts.raises, BASES, Counted(1, tmp_path)))
    with pytest.warns(UserWarning, match="part 3"):
        assert list(executor.map(fake_parts.warns, [3], Counted(1, tmp_path))) == [3]


def test_shared_objects_are_sent_once_to_each_worker(remote: Executor, tmp_path: Path) -> None:
    cube = Counted(3, tmp_path)
    for _ in range(3):
        assert list(remote.map(fake_parts.power, BASES * 2, cube)) == CUBES * 2
    # Of 30 calls; a worker may be sent a copy by another one as well.
    assert 1 <= len(os.listdir(tmp_path)) <= 4


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from nodecopy.core.executors import opened\n"
        "with opened('processes', 1) as executor: print(list(executor.map(pow, [2], 3)))\n"
    )
    with script.open() as standard_input:
        for words, given in (([str(script)], None), (["-"], standard_input)):
            command = [sys.executable, *words]
            run = subprocess.run(
                command, stdin=given, capture_output=True, text=True, timeout=LIMIT
            )
            assert "__main__" in run.stderr.splitlines()[-1]
            assert "memory" not in run.stderr


def test_the_call_of_a_killed_worker_is_computed_again(remote: Executor, tmp_path: Path) -> None:
    assert list(remote.map(fake_parts.dies_once, BASES, Counted(3, tmp_path))) == CUBES
    assert (tmp_path / "died").exists()


def test_a_call_that_kills_every_worker_is_an_error(remote: Executor, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="died"):
        list(remote.map(fake_parts.dies, [2], Counted(3, tmp_path)))


def test_shared_objects_are_sent_again_when_all_workers_died(address: str, tmp_path: Path) -> None:
    with opened(address) as executor:
        pids = executor.client.run(os.getpid)  # type: ignore[attr-defined]
        cube = Counted(3, tmp_path)
        assert list(executor.map(fake_parts.kills_all, BASES, cube, pids)) == CUBES
    assert (tmp_path / "died").exists()


def test_a_scheduler_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    monkeypatch.setattr(executors, "_FIRST_WORKER", 0.1)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
        ) as empty,
        distributed.Client(empty) as client,
        opened(client) as executor,
        pytest.raises(RunError, match="no worker"),
    ):
        list(executor.map(pow, [2], 2))


def test_a_scheduler_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_ANSWER", 0.5)
    where = "tcp://127.0.0.1:9"
    with pytest.raises(InputError, match=f"scheduler answers at {where}"), opened(where):
        pass


def test_none_computes_here(tmp_path: Path) -> None:
    with opened(None) as executor:
        assert isinstance(executor, Serial)
        assert list(executor.map(fake_parts.power, BASES, Counted(3, tmp_path))) == CUBES
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("executor", ["localhost", 3, Serial])
def test_what_is_not_an_executor_is_refused(executor: Any) -> None:
    with pytest.raises(ModelError, match="executor must be .* got"):
        check_executor(executor)


def test_without_dask_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"'nodecopy\[cluster\]'"), opened("tcp://host:8786"):
        pass
