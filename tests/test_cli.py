"""The command line: what it prints, its exit codes, and what it imports."""

from __future__ import annotations

import errno
import re
import signal
import subprocess
import sys

import pytest

import nodecopy
import nodecopy.data
from nodecopy import cli, interrupts
from nodecopy.errors import DatasetError
from tests.waiting import LIMIT


@pytest.fixture(autouse=True)
def terminal_of_known_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def failing_command(monkeypatch):
    """Make `nodecopy datasets` raise the exception given."""

    def arrange(error: BaseException) -> list[str]:
        def load_dataset(name: str) -> None:
            raise error

        monkeypatch.setattr(nodecopy.data, "load_dataset", load_dataset)
        return ["datasets"]

    return arrange


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"nodecopy {nodecopy.__version__}\n"


@pytest.mark.parametrize("args", [["--help"], []])
def test_help_lists_the_commands(args, capsys):
    assert cli.main(args) == 0
    captured = capsys.readouterr()
    assert "datasets" in _plain(captured.out)
    assert "--debug" in _plain(captured.out)
    assert all(line.startswith("fitting cora: ") for line in captured.err.splitlines())


def test_python_dash_m_passes_the_exit_code_on():
    command = [sys.executable, "-m", "nodecopy"]
    fine = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=LIMIT)
    assert (fine.returncode, fine.stdout) == (0, f"nodecopy {nodecopy.__version__}\n")
    wrong = subprocess.run([*command, "dataset"], capture_output=True, text=True, timeout=LIMIT)
    assert wrong.returncode == 2


def test_datasets_shows_the_counts_of_every_built_in_set(capsys):
    assert cli.main(["datasets"]) == 0
    lines = _plain(capsys.readouterr().out).splitlines()
    rows = [line.replace("│", " ").split() for line in lines if "│" in line]
    assert ["cora", "2,708", "5,278", "1,433", "7", "0.810", "2,708"] in rows
    assert ["citeseer", "3,327", "4,552", "3,703", "6", "0.738", "3,312"] in rows
    assert ["pubmed", "19,717", "44,324", "500", "3", "0.802", "19,717"] in rows


def test_datasets_lists_class_names_on_request(capsys):
    assert cli.main(["datasets"]) == 0
    assert "Case_Based" not in capsys.readouterr().out
    assert cli.main(["datasets", "--classes"]) == 0
    out = capsys.readouterr().out
    for name in ("Case_Based", "Agents", "Diabetes Mellitus Experimental"):
        assert name in out


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["dataset"], "error: No such command 'dataset'. Did you mean 'datasets'?"),
        (["datasets", "--clases"], "error: No such option: --clases"),
        (["datasets", "extra"], "error: Got unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(args, expected, capsys):
    assert cli.main(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(expected)
    assert captured.err.endswith("--help')\n")
    assert captured.err.count("\n") == 1


def test_bad_input_is_one_line_and_exit_code_2(failing_command, capsys):
    assert cli.main(failing_command(DatasetError("unknown dataset 'corra';\n did you mean…"))) == 2
    assert capsys.readouterr().err == "error: unknown dataset 'corra'; did you mean…\n"


def test_our_fault_is_one_line_and_exit_code_1(failing_command, capsys):
    assert cli.main(failing_command(ZeroDivisionError("boom"))) == 1
    err = capsys.readouterr().err
    assert err.startswith("internal error: ZeroDivisionError: boom; run again with --debug")
    assert err.count("\n") == 1


def test_what_a_library_makes_of_an_interrupt_is_an_interrupt(failing_command, capsys, monkeypatch):
    monkeypatch.setattr(interrupts._Program, "received", signal.SIGINT)
    assert cli.main(failing_command(RuntimeError("Query interrupted"))) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_the_end_of_a_file_is_no_interrupt(failing_command, capsys):
    assert cli.main(failing_command(EOFError("gone"))) == 1
    assert capsys.readouterr().err.strip().startswith("internal error: EOFError: gone; run again")


def test_training_that_diverges_is_one_line_and_exit_code_2(tmp_path, capsys):
    for name, text in (
        ("edges", "source,target\na,b\nb,c\n"),
        ("labels", "id,label\na,x\nb,y\n"),
        ("features", "id,f\na,3e38\nb,-3e38\nc,3e38\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    files = [f"--{name}={tmp_path}/{name}.csv" for name in ("edges", "labels", "features")]
    words = ["fit", *files, "--raw", f"--out={tmp_path}/run"]
    assert cli.main([*words, "--preset=paper"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: the loss of member 0 ")
    assert err.endswith("check the scale of the features\n")
    assert not (tmp_path / "run").exists()
    assert cli.main(words) == 0  # rows have length one, whatever their scale


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a\0b", "error: a NUL character is not accepted: '--out="),
        ("\udcff", "error: names and values must be UTF-8; got '--out="),
        ("x" * 300, "error: "),
    ],
)
def test_a_name_that_cannot_be_is_one_line_and_exit_code_2(name, expected, tmp_path, capsys):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "labels.csv").write_text("id,label\na,x\nb,y\n")
    files = [f"--{what}={tmp_path}/{what}.csv" for what in ("edges", "labels")]
    assert cli.main(["fit", *files, f"--out={tmp_path}/{name}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(expected)
    assert err.count("\n") == 1


def test_names_of_columns_that_are_not_one_row_are_refused(tmp_path, capsys):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    assert cli.main(["inspect", f"--edges={tmp_path}/edges.csv", "--edge-columns=a\r,b"]) == 2
    assert capsys.readouterr().err.startswith("error: names of columns must be one row of CSV; got")


@pytest.mark.parametrize(("number", "code"), [(errno.ENAMETOOLONG, 2), (errno.ENOSPC, 1)])
def test_a_name_is_the_users_and_a_full_disk_is_not(number, code, failing_command, capsys):
    assert cli.main(failing_command(OSError(number, "boom", "some/file"))) == code
    assert capsys.readouterr().err == f"error: [Errno {number}] boom: 'some/file'\n"


@pytest.mark.parametrize(("error", "code"), [(DatasetError("boom"), 2), (OSError("boom"), 1)])
def test_debug_shows_the_traceback_and_keeps_the_exit_code(error, code, failing_command, capsys):
    assert cli.main(["--debug", *failing_command(error)]) == code
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert "run again" not in err


def test_an_interrupt_is_one_word_and_exit_code_130(failing_command, capsys):
    assert cli.main(failing_command(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_help_imports_nothing_heavy():
    code = "import sys; from nodecopy.cli import main; main(['--help']); print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert not {"numpy", "scipy", "torch"} & set(run.stdout.split())


def test_fit_prints_the_comparison_and_writes_the_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["fit", "cora", "--labels-per-class", "5", "--n-zeta", "1"]) == 0
    captured = capsys.readouterr()
    lines = _plain(captured.out).splitlines()
    rows = [line.replace("│", " ").split() for line in lines if "│" in line]
    methods = ("GCN", "Bayesian", "nodecopy")
    accuracy = {row[0]: float(row[-4][:-1]) for row in rows if row and row[0] in methods}
    assert set(accuracy) == set(methods)
    assert all(60 < value < 85 for value in accuracy.values())
    assert "report: runs/cora-fixed-5-seed-0/report.html" in lines
    assert (tmp_path / "runs" / "cora-fixed-5-seed-0" / "report.html").is_file()
    assert lines[-1].startswith("Rule_Learning ")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["fit"], "error: --edges is missing"),
        (["fit", "corra"], "error: unknown dataset 'corra'; did you mean 'cora'?"),
        (["fit", "cora", "--split", "fixd"], "error: unknown split 'fixd'; did you mean 'fixed'?"),
        (["fit", "cora", "--labels-per-class", "0"], "error: Invalid value for"),
        (["fit", "cora", "--labels-per-class", "21"], "error: "),
    ],
)
def test_fit_refuses_wrong_input_in_one_line(args, expected, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert err.startswith(expected)
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def _plain(text: str) -> str:
    """Drop the colour codes that some environments force on."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("words", [["--n-zeta", "0"], ["--n-zeta=0"]])
def test_a_wrong_value_is_shown(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert cli.main(["fit", "cora", *words]) == 2
    assert "'--n-zeta'" in (said := capsys.readouterr().err)
    assert "; got '0'" in said
