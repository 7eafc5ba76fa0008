"""Pipes in place of input files are refused at once; files and folders are written whole."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.core.errors import InputError
from nodecopy.core.files import (
    check_target,
    left_over_lines,
    replacing,
    replacing_folder,
    write_whole,
)
from tests.waiting import LIMIT

OURS = {"config.toml", "model"}
MARK = ("config.toml", "run of")

# Replaces the folder run in a process that is killed before a rename, or after all of them.
KILLED = """
import os, signal, sys
from pathlib import Path
from nodecopy.core.files import replacing_folder
from tests.core.test_files import OURS, write

count, rename = 0, Path.rename

def counted(old, new):
    global count
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(old, new)

Path.rename = counted
with replacing_folder("run", OURS) as fresh:
    write(fresh, "new")
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
        "reproduce pipe.toml",
        "status pipe.sqlite",
        "report pipe.jsonl.gz",
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


def write(folder: Path, content: str) -> None:
    """Two files that belong together."""
    (folder / "model").mkdir(parents=True)
    (folder / "config.toml").write_text(f"run of {content}")
    (folder / "model" / "weights").write_text(f"run of {content}")


def content(folder: Path) -> str | None:
    """Return what a folder holds, None if it is not whole."""
    files = [folder / "config.toml", folder / "model" / "weights"]
    if not all(file.exists() for file in files):
        return None
    (text,) = {file.read_text() for file in files}
    return text.removeprefix("run of ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "run", "old")
    return tmp_path / "run"


def test_a_folder_is_made_and_replaced(tmp_path: Path) -> None:
    run = tmp_path / "deep" / "run"
    for text in ("first", "second"):
        with replacing_folder(run, OURS) as fresh:
            write(fresh, text)
        assert content(run) == text
        assert os.listdir(run.parent) == ["run"]


def test_a_failure_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def refused(old: Path, new: Path) -> Path:
        if old.name == "new":
            raise OSError("no")
        return rename(old, new)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OSError, match="no"), replacing_folder(folder, OURS) as fresh:
        write(fresh, "new")
    assert content(folder) == "old"
    assert os.listdir(folder.parent) == ["run"]


@pytest.mark.parametrize(("rename", "left"), [(1, "old"), (2, None), (3, "new")])
def test_a_kill_leaves_one_of_them_whole_and_the_next_start_says_where(
    folder: Path, rename: int, left: str | None
) -> None:
    program = [sys.executable, "-c", KILLED, str(rename)]
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "src")])
    done = subprocess.run(
        program, cwd=folder.parent, env=os.environ | {"PYTHONPATH": paths}, timeout=LIMIT
    )
    assert done.returncode == (0 if rename == 3 else -signal.SIGKILL)
    assert content(folder) == left
    lines = left_over_lines(folder)
    assert len(lines) == (rename < 3)
    if left is None:
        (old,) = folder.parent.glob(".run.nodecopy-*/old")
        assert content(old) == "old"
        assert str(old) in lines[0]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_is_being_written_is_kept_as_it_is_at_the_exchange(
    folder: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*names: object, **options: object) -> None:
        raise OSError("this disk gives a file one name")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    (folder / "labels.csv").write_text("a,red\n")

    @contextmanager
    def exchanging() -> Iterator[None]:
        with (folder / "labels.csv").open("a") as file:
            file.write("b,blue\n")
        yield

    with (folder / "labels.csv").open("a") as before:
        with replacing_folder(folder, OURS, exchanging()) as fresh:
            write(fresh, "new")
        before.write("c,red\n")
    expected = "a,red\nb,blue\n" + ("c,red\n" if links else "")
    assert (folder / "labels.csv").read_text() == expected


def test_which_folders_may_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(path: Path) -> None:
        check_target(path, MARK, "nodecopy fit", ("labels.csv",))

    other = folder.with_name("other")
    check(folder)
    check(other)
    other.mkdir()
    for harmless in (".DS_Store", "labels.csv"):
        (other / harmless).touch()
        check(other)
    (other / "config.toml").write_text("a config of another program")
    with pytest.raises(InputError, match=r"other files, 'config\.toml'"):
        check(other)
    with pytest.raises(InputError, match="is a file"):
        check(other / "config.toml")
    with pytest.raises(InputError, match="cannot be written"):
        check(other / "config.toml" / "run")
    monkeypatch.setattr(Path, "is_mount", lambda self: True)
    with pytest.raises(InputError, match="mount point"):
        check(folder)


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("/", tmp_path / "loop", tmp_path / ("a" * 240), tmp_path / ("a" * 300), "/proc/x"):
        with pytest.raises(InputError):
            check_target(path, ("config.toml", "nodecopy"), "nodecopy fit")
    new = tmp_path / "new" / "run"
    assert check_target(new, ("config.toml", "nodecopy"), "nodecopy fit") == new
    assert not new.parent.exists()
