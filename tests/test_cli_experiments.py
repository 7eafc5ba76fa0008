"""The commands around a store: reproduce, status, export, merge."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.experiment import reproduce as module
from nodecopy.experiment.store import Store
from tests.experiment import fake_trials
from tests.waiting import LIMIT

TINY = """
title = "Tiny"
datasets = ["cora"]
splits = ["fixed"]
labels_per_class = [5]
methods = ["label-propagation"]
trials_per_cell = 5
"""
RUN = ["reproduce", "tiny.toml", "--executor", "serial"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with one experiment, and an environment to be given back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    (tmp_path / "tiny.toml").write_text(TINY)
    return tmp_path


def stored(path: str = "runs.sqlite") -> int:
    with Store.open(path, create=False) as store:
        return len(store.rows())


def test_reproduce_runs_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*RUN, "--trials", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "2 of 2 trials are in runs.sqlite, 2 of them new\n"
    assert captured.err.splitlines()[-1] == "tiny: 2 of 2 trials, 0 failed"
    assert cli.main(RUN) == 0
    assert capsys.readouterr().out == "5 of 5 trials are in runs.sqlite, 3 of them new\n"
    assert cli.main(RUN) == 0
    assert capsys.readouterr().out == "5 of 5 trials are in runs.sqlite, 0 of them new\n"


def test_reproduce_takes_other_methods_and_another_store() -> None:
    methods = ["--methods", "label-propagation, gcn-200", "--store", "b.sqlite"]
    assert cli.main([*RUN, *methods, "--trials", "1"]) == 0
    with Store.open("b.sqlite") as store:
        assert [row.trial.method for row in store.rows()] == ["gcn-200", "label-propagation"]


def test_failures_are_listed_and_give_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "run_trial", fake_trials.raises)
    assert cli.main(RUN) == 1
    captured = capsys.readouterr()
    line = "failed: cora fixed 5 label-propagation seed 3: raised: ValueError: on purpose"
    assert captured.out == "4 of 5 trials are in runs.sqlite, 4 of them new\n"
    assert captured.err.splitlines()[-1] == line
    assert cli.main(["status", "runs.sqlite"]) == 0
    assert line in capsys.readouterr().out
    monkeypatch.setattr(cli.paper, "SHOWN_FAILURES", 0)
    assert cli.main(RUN) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "1 failed: nodecopy status runs.sqlite"


def test_an_interrupt_gives_exit_code_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(trial: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run_trial", interrupted)
    assert cli.main(RUN) == 130
    captured = capsys.readouterr()
    assert captured.out == "0 of 5 trials are in runs.sqlite, 0 of them new\n"
    assert captured.err.endswith("\ninterrupted\n")


def test_a_run_that_cannot_go_on_is_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    assert cli.main(["reproduce", "tiny.toml", "--cluster", "nonsense://a"]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("error: no Dask scheduler answers at nonsense://a")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["reproduce", "tabel1"], "error: unknown experiment 'tabel1'; did you mean 'table1'?"),
        ([*RUN, "--methods", "gcnn"], "error: methods: unknown method 'gcnn'; did you mean 'gcn'?"),
        ([*RUN[:2], "--executor", "sereal"], "error: unknown executor 'sereal'; did you mean"),
        ([*RUN, "--cluster", "tcp://a:1"], "error: the executor 'serial' has no scheduler"),
        ([*RUN, "--store", "tiny.toml"], "error: tiny.toml is not a store of nodecopy"),
        ([*RUN, "--trials", "0"], "error: Invalid value for"),
        (["status", "absent.sqlite"], "error: there is no store absent.sqlite"),
        (["status", "tiny.toml"], "error: tiny.toml is not a store of nodecopy"),
        (["export", "absent.sqlite", "--out", "a.csv"], "error: there is no store absent.sqlite"),
        (["merge", "absent.sqlite", "--out", "a.sqlite"], "error: there is no store absent.sqlite"),
        (["merge", "absent.sqlite", "--out", "tiny.toml"], "error: tiny.toml exists and is not"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_no_file(
    args: list[str], expected: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert err.startswith(expected)
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["tiny.toml"]


def test_status_shows_cells_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(RUN) == 0
    capsys.readouterr()
    assert cli.main(["status", "runs.sqlite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.replace("│", " ").split() for line in lines]
    cell = ["cora", "fixed", "5", "label-propagation", "5", "0", "61.8", "±", "0.0"]
    assert cell in [row[:9] for row in rows]
    assert lines[-1].startswith("tiny: 5 trials, serial, 20")
    assert "ended 20" in lines[-1]


def test_export_and_merge_go_round(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(RUN) == 0
    capsys.readouterr()
    assert cli.main(["export", "runs.sqlite", "--format", "jsonl", "--out", "a.jsonl.gz"]) == 0
    assert cli.main(["export", "runs.sqlite", "--out", "a.csv"]) == 0
    assert cli.main(["merge", "a.jsonl.gz", "runs.sqlite", "--out", "b.sqlite"]) == 0
    said = ["5 rows: a.jsonl.gz", "5 rows: a.csv", "5 rows: b.sqlite"]
    assert capsys.readouterr().out.splitlines() == said
    assert Path("a.csv").read_text().count("\n") == 6
    assert stored("b.sqlite") == 5


def test_reading_a_store_imports_no_model_code() -> None:
    Store.open("runs.sqlite").close()
    commands = (["status", "runs.sqlite"], ["export", "runs.sqlite", "--out", "a.csv"])
    code = f"import sys; from nodecopy.cli import main; [main(c) for c in {commands}]"
    run = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=LIMIT)
    assert not {"numpy", "scipy", "torch"} & set(done.stdout.split())
