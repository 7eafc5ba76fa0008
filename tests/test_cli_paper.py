"""The commands around a store: nodecopy paper reproduce, status, tables, export, merge."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.paper import experiment
from nodecopy.paper.store import Store, export_rows, read_rows
from tests.paper import fake_trials
from tests.paper.fabricated import around_paper
from tests.waiting import LIMIT, wait_until

TINY = """
title = "Tiny"
datasets = ["cora"]
splits = ["fixed"]
labels_per_class = [5]
methods = ["label-propagation"]
trials_per_cell = 5
"""
RUN = ["paper", "reproduce", "tiny.toml", "--executor", "serial"]
ROWS = around_paper("cora", "random", 5, "gcn", 4) + around_paper("cora", "random", 5, "copying", 4)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with one experiment, and an environment to be given back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    (tmp_path / "tiny.toml").write_text(TINY)
    return tmp_path


def test_reproduce_runs_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    for words, stored, new in ((["--trials", "2"], 2, 2), ([], 5, 3), ([], 5, 0)):
        assert cli.main([*RUN, *words]) == 0
        line = f"{stored} of {stored} trials are in runs.sqlite, {new} of them new\n"
        assert capsys.readouterr().out == line


def test_reproduce_takes_other_methods_and_another_store() -> None:
    methods = ["--methods", "label-propagation, gcn epochs=9", "--store", "b.sqlite"]
    assert cli.main([*RUN, *methods, "--trials", "1"]) == 0
    assert [row.trial.method for row in read_rows("b.sqlite")] == [
        "gcn epochs=9",
        "label-propagation",
    ]


def test_failures_are_listed_and_give_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "run_trial", fake_trials.raises)
    assert cli.main(RUN) == 1
    captured = capsys.readouterr()
    line = "failed: cora fixed 5 label-propagation seed 3: ValueError: on purpose"
    assert captured.out == "4 of 5 trials are in runs.sqlite, 4 of them new\n"
    assert line in captured.err
    assert cli.main(["paper", "status", "runs.sqlite"]) == 0
    assert line in capsys.readouterr().out


def test_ctrl_c_ends_a_run_at_once_with_one_line() -> None:
    words = ["paper", "reproduce", "table1", "--methods", "gat", "--workers", "1"]
    # Whoever started the tests in the background may have had interrupts ignored.
    run = subprocess.Popen(
        [sys.executable, "-m", "nodecopy", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert wait_until(Path("runs.sqlite").exists)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, err = run.communicate(timeout=LIMIT)
    assert run.returncode == 130
    assert err.splitlines()[-1] == "interrupted"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["paper", "reproduce", "tabel1"], "'tabel1'; did you mean 'table1'"),
        ([*RUN, "--methods", "gcnn"], "'gcnn'; did you mean 'gcn'"),
        ([*RUN[:3], "--executor", "sereal"], "got 'sereal'"),
        ([*RUN, "--store", "tiny.toml"], "tiny.toml cannot be used as a store"),
        ([*RUN, "--trials", "0"], "Invalid value for"),
        (["paper", "status", "absent.sqlite"], "no store absent.sqlite"),
        (["paper", "status", "tiny.toml"], "tiny.toml cannot be used as a store"),
        (["paper", "merge", "absent.sqlite", "--out", "a.sqlite"], "no store absent.sqlite"),
        (["paper", "tables", "absent.jsonl.gz"], "absent.jsonl.gz"),
        (["paper", "tables", "/"], "is a folder"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_no_file(
    args: list[str], expected: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert expected in err
    assert err.count("\n") == 1
    left = {path.name for path in folder.iterdir()}
    assert left <= {"tiny.toml", "runs.sqlite"} if "sereal" in args else left == {"tiny.toml"}


def test_status_shows_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(RUN) == 0
    capsys.readouterr()
    assert cli.main(["paper", "status", "runs.sqlite"]) == 0
    out = capsys.readouterr().out
    assert "cora fixed label-propagation 5: 5 trials, accuracy 61.8 ± 0.0 %" in out


def test_export_and_merge_go_round(capsys: pytest.CaptureFixture[str]) -> None:
    export_rows(ROWS[:5], "a.jsonl")
    with Store.open("b.sqlite") as store:
        store.add(ROWS[3:])
    assert cli.main(["paper", "merge", "a.jsonl", "b.sqlite", "--out", "c.sqlite"]) == 0
    assert cli.main(["paper", "merge", "b.sqlite", "--out", "c.sqlite"]) == 0
    assert cli.main(["paper", "export", "c.sqlite", "--out", "c.jsonl"]) == 0
    assert cli.main(["paper", "export", "c.sqlite"]) == 2
    assert cli.main(["paper", "export", "c.sqlite", "--format", "latex", "--out", "c.tex"]) == 0
    assert Path("c.tex").read_text().startswith("% Cora, ")
    assert capsys.readouterr().out.splitlines() == [
        "8 new rows, 8 in all: c.sqlite",
        "0 new rows, 8 in all: c.sqlite",
        "8 rows: c.jsonl",
    ]
    assert {row.trial for row in read_rows("c.sqlite")} == {row.trial for row in ROWS}
    assert Path("c.jsonl").read_text().count("\n") == 8


def test_the_report_stands_beside_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    export_rows(ROWS, "rows.jsonl.gz")
    assert cli.main(["paper", "tables", "rows.jsonl.gz"]) == 0
    assert capsys.readouterr().out == "report: rows-report/report.html\n"
    assert "90 cells: 2 without a significant difference" in Path(
        "rows-report/report.html"
    ).read_text(encoding="utf-8")


def test_no_rows_and_no_matplotlib_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open("runs.sqlite").close()
    assert cli.main(["paper", "tables", "runs.sqlite"]) == 2
    assert "no trials to report" in capsys.readouterr().err
    export_rows(ROWS, "rows.jsonl")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["paper", "tables", "rows.jsonl"]) == 2
    assert "pip install 'nodecopy[report]'" in capsys.readouterr().err
    assert not Path("rows-report").exists()
