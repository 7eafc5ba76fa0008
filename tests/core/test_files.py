"""Pipes in place of input files are refused at once; files and folders are written whole."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from nodecopy import cli
from nodecopy.core.errors import InputError
from nodecopy.core.files import (
    guarded,
    guarded_sql,
    incomplete,
    replacing,
    unguarded_sql,
    write_whole,
    writing_folder,
)
from tests.waiting import LIMIT

FILES = ("config.toml", "model/weights", "predictions.csv")
OURS = {"old.csv"}

# Writes to the folder run in a process that is killed before a rename, or after all of them.
KILLED = """
import os, signal, sys
from tests.core.test_files import write

count, replace = 0, os.replace

def counted(old, new):
    global count
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(old, new)

os.replace = counted
write("run", "new")
"""


@pytest.fixture
def pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to be in, with pipes that nobody writes to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    Path("edges.csv").write_text("source,target\na,b\nb,c\n")
    Path("labels.csv").write_text("id,label\na,x\nb,y\n")
    Path("run", "model").mkdir(parents=True)
    for name in ("model.safetensors", "tables.safetensors"):
        os.mkfifo(Path("run", "model", name))
    for ending in ("", ".toml", ".jsonl", ".jsonl.gz", ".csv", ".parquet", ".sqlite"):
        os.mkfifo(f"pipe{ending}")


@pytest.mark.parametrize(
    "words",
    [
        "fit --config=pipe.toml --out=new",
        "fit --edges=pipe.csv --labels=labels.csv --out=new",
        "fit --edges=edges.csv --labels=labels.csv --nodes=pipe.parquet --out=new",
        "fit --edges=edges.csv --labels=labels.csv --out=pipe",
        "predict --model=run/model --edges=edges.csv --out=p.csv",
        "label --edges=edges.csv --labels=pipe.csv --out=new",
        "paper reproduce pipe.toml",
        "paper status pipe.sqlite",
        "paper tables pipe.jsonl.gz",
    ],
)
@pytest.mark.usefixtures("pipes")
def test_a_pipe_is_refused_at_once(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(os.listdir())
    assert cli.main(words.split()) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "pipe" in err
    assert sorted(os.listdir()) == before


def test_a_file_appears_whole_and_a_failure_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    write_whole(target, "old")

    def interrupted() -> None:
        with replacing(target) as part:
            part.write_text("ne")
            assert target.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_text() == "old"
    write_whole(target, b"new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file.txt", "new")]
    (tmp_path / "other").write_text("x")
    assert target.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    """As root, renaming a file to /dev/null would replace the device for the whole system."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="regular file"):
        write_whole(pipe, "x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(InputError, match="does not exist"):
        write_whole(tmp_path / "none" / "file", "x")


def write(folder: Path | str, content: str) -> None:
    """Write three files that belong together."""
    with writing_folder(folder, OURS) as (new, _):
        (new / "model").mkdir()
        for name in FILES:
            (new / name).write_text(f"run of {content}")


def changed(folder: Path) -> list[str]:
    line = incomplete(folder, "config.toml", FILES)
    return [name for name in ("manifest.json", *FILES) if name in line]


def contents(folder: Path) -> list[str]:
    return [(folder / name).read_text().removeprefix("run of ") for name in FILES]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "run", "old")
    for name in ("notes.txt", ".hidden", "model/notes.txt"):
        (tmp_path / "run" / name).write_text("mine")
    return tmp_path / "run"


def test_a_folder_is_made_and_written_again_file_by_file(folder: Path) -> None:
    (folder / "old.csv").write_text("of an earlier fit")
    identity = folder.stat().st_ino
    with (folder / "notes.txt").open("a") as notes:
        write(folder, "new")
        notes.write(", too")
    assert contents(folder) == ["new"] * 3
    assert changed(folder) == []
    assert folder.stat().st_ino == identity
    assert (folder / "notes.txt").read_text() == "mine, too"
    assert sorted(os.listdir(folder)) == sorted(
        ["config.toml", "model", "predictions.csv", "manifest.json", "notes.txt", ".hidden"]
    )
    assert sorted(os.listdir(folder / "model")) == ["notes.txt", "weights"]
    write(folder.parent / "deep" / "run", "first")
    assert contents(folder.parent / "deep" / "run") == ["first"] * 3


def test_a_failure_changes_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))

    def failing(path: Path) -> None:
        with writing_folder(path, OURS) as (new, _):
            (new / "config.toml").write_text("run of new")
            raise OSError(28, "No space left on device")

    for path in (folder, folder.with_name("new")):
        with pytest.raises(OSError, match="No space"):
            failing(path)
    assert contents(folder) == ["old"] * 3
    assert sorted(folder.rglob("*")) == before
    assert os.listdir(folder.parent) == ["run"]


@pytest.mark.parametrize("rename", range(1, 6))
def test_a_kill_leaves_every_file_whole_and_readers_know(folder: Path, rename: int) -> None:
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "src")])
    program = [sys.executable, "-c", KILLED, str(rename)]
    done = subprocess.run(
        program, cwd=folder.parent, env=os.environ | {"PYTHONPATH": paths}, timeout=LIMIT
    )
    assert done.returncode == (0 if rename == 5 else -signal.SIGKILL)
    new = min(rename - 1, 3)
    assert contents(folder) == ["new"] * new + ["old"] * (3 - new)
    assert changed(folder) == ([] if rename == 5 else list(FILES[:new]))
    write(folder, "next")
    assert changed(folder) == []
    assert not list(folder.glob(".nodecopy-*"))
    assert (folder / "model/notes.txt").read_text() == "mine"


def test_a_file_is_on_the_disk_before_it_has_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted(handle: int) -> None:
        fsync(handle)
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))

    def checked(old: str | Path, new: str | Path) -> None:
        assert str(old) in synced
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", checked)
    write(folder, "new")
    write_whole(folder / "notes.txt", "x")
    assert synced[-1] == str(folder)  # the new name, too
    assert str(folder / "model") in synced


def test_a_manifest_that_is_missing_or_no_manifest_is_named(folder: Path) -> None:
    (folder / "predictions.csv").unlink()
    assert changed(folder) == ["predictions.csv"]
    for content in ("[]", "{", '{"files": 3}'):
        (folder / "manifest.json").write_text(content)
        assert changed(folder) == ["manifest.json"]
    (folder / "manifest.json").unlink()
    assert changed(folder) == ["manifest.json"]


def test_a_guarded_cell_is_no_formula_and_is_read_as_it_was() -> None:
    cells = ["=1+1", "'=1", "''@x", "-5", "+1e-3", "-x", "@a\nb", "'q", "a=b", "", "-1_0", "+ 5"]
    sql = ", ".join((guarded_sql("c"), unguarded_sql(guarded_sql("c"))))
    with duckdb.connect() as db:
        for cell in cells:
            rows = db.execute(f"SELECT {sql} FROM (SELECT ? AS c)", [cell]).fetchall()
            assert rows == [(guarded(cell), cell)]
            assert guarded(cell)[:1] not in {*"=@"}
