"""Pipes, devices and folders in the place of input files: one line at once, never a wait."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.data.split_files import read_split
from nodecopy.errors import FormatError

TABLES = ["--edges=edges.csv", "--labels=labels.csv"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a pipe under many names that nobody writes to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    Path("edges.csv").write_text("source,target\na,b\nb,c\n")
    Path("labels.csv").write_text("id,label\na,x\nb,y\n")
    for name in ("pipe", "pipe.toml", "pipe.jsonl", "pipe.csv", "pipe.npz", "pipe.json"):
        os.mkfifo(name)
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ["fit", "--config=pipe.toml", "--out=run"],
        ["fit", "--edges=pipe.csv", "--labels=labels.csv", "--out=run"],
        ["fit", "--edges=edges.csv", "--labels=pipe.csv", "--out=run"],
        ["fit", *TABLES, "--features=pipe.csv", "--out=run"],
        ["fit", *TABLES, "--features=pipe.npz", "--out=run"],
        ["fit", *TABLES, "--out=pipe"],
        ["inspect", "--edges=pipe"],
        ["reproduce", "pipe.toml"],
        ["reproduce", "smoke", "--store=pipe", "--executor=serial"],
        ["status", "pipe"],
        ["export", "pipe", "--out=a.csv"],
        ["merge", "pipe", "--out=a.sqlite"],
        ["merge", "pipe.jsonl", "--out=a.sqlite"],
        ["report", "pipe"],
        ["report", "pipe.jsonl"],
        ["evaluate", "--predictions=pipe.csv", "--truth=labels.csv"],
    ],
    ids=" ".join,
)
def test_a_pipe_is_refused_at_once(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(os.listdir())
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "pipe" in err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("name", ["tables.json", "ids.npz", "model.safetensors"])
def test_a_pipe_in_the_folder_of_a_model_is_refused_at_once(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = ["fit", *TABLES, "--out=run", "--preset=fast"]
    assert cli.main(fit) == 0
    Path("run", "model", name).unlink()
    os.mkfifo(Path("run", "model", name))
    capsys.readouterr()
    assert cli.main(["predict", "--model=run/model", "--edges=edges.csv", "--out=p.csv"]) == 2
    assert f"{name} is a pipe; accepted: a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda name: os.mkfifo(name), "a pipe"),
        (lambda name: os.mkdir(name), "a folder"),
        (lambda name: os.symlink(os.devnull, name), "a device"),
        (lambda name: socket.socket(socket.AF_UNIX).bind(name), "a socket"),
    ],
    ids=["pipe", "folder", "device", "socket"],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_message_says_what_it_is(
    make: Callable[[str], None], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make("odd.toml")
    for args in (["fit", "--config=odd.toml", "--out=run"], ["status", "odd.toml"]):
        assert cli.main(args) == 2
        assert capsys.readouterr().err == (f"error: odd.toml is {what}; accepted: a regular file\n")


@pytest.mark.parametrize("name", ["pipe.json", "pipe.npz"])
def test_a_pipe_as_a_split_file_is_refused_at_once(name: str) -> None:
    with pytest.raises(FormatError, match="is a pipe; accepted: a regular file"):
        read_split(name)


def test_a_file_behind_a_link_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("edges.csv", "real.csv")
    os.symlink("real.csv", "link.csv")
    assert cli.main(["inspect", "--edges=link.csv"]) == 0
