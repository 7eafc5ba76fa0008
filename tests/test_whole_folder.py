"""Replacing a folder: whatever stops it, at whatever step, one of the two is there whole."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from nodecopy import whole_folder
from nodecopy.errors import InputError
from nodecopy.report.labelled import folder as folder_module
from nodecopy.whole_folder import Kept, clear_left_overs, replaced
from tests.waiting import wait_until

OURS = {"config.toml", "model"}
MOST_STEPS = 500


@pytest.fixture(params=["exchanged", "renamed twice"])
def folder(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to replace, where names can be exchanged in one step and where they cannot."""
    if request.param == "renamed twice":
        monkeypatch.setattr(whole_folder, "_exchange", lambda first, second: False)
    monkeypatch.setattr(whole_folder, "_YOUNG", -1.0)
    write(tmp_path / "run", "old")
    return tmp_path / "run"


def write(folder: Path, content: str) -> None:
    """Two files that belong together."""
    (folder / "model").mkdir(parents=True)
    (folder / "config.toml").write_text(content)
    (folder / "model" / "weights").write_text(content)


def content(folder: Path) -> str | None:
    """Return what a folder holds, None if it is not whole."""
    try:
        held = {(folder / name).read_text() for name in ("config.toml", "model/weights")}
    except FileNotFoundError:
        return None
    return held.pop() if len(held) == 1 else None


def replace(folder: Path) -> None:
    with replaced(folder) as fresh:
        write(fresh / "x", "new")
        for path in (fresh / "x").iterdir():
            path.rename(fresh / path.name)
        (fresh / "x").rmdir()


@contextmanager
def stopped_at(step: int, stop: Callable[[], None]) -> Iterator[list[int]]:
    """Call ``stop`` before a line of the whole_folder, the one of this number; count the lines."""
    count = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != whole_folder.__file__:
            return None
        if event in ("line", "return"):
            count[0] += 1
            if count[0] == step:
                stop()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupt_at_any_step_leaves_one_of_them_whole(folder: Path) -> None:
    seen = set()
    for step in range(1, MOST_STEPS):
        try:
            with stopped_at(step, interrupt) as count:
                replace(folder)
        except KeyboardInterrupt:
            pass
        if count[0] < step:
            break
        seen.add(content(folder))
        assert clear_left_overs(folder, OURS) == []
        assert os.listdir(folder.parent) == ["run"]
        if content(folder) == "new":
            (folder / "config.toml").write_text("old")
            (folder / "model" / "weights").write_text("old")
    else:
        pytest.fail("the replacement never came to its end")
    assert step > 30
    assert seen == {"old", "new"}
    assert content(folder) == "new"


def test_a_kill_at_any_step_leaves_one_of_them_whole(folder: Path) -> None:
    seen, ends = set(), set()
    for step in range(1, MOST_STEPS):
        ends.add(end := _killed_at(step, folder))
        if end == 0:
            break
        beside = [path for path in folder.parent.iterdir() if not path.name.startswith(".")]
        assert any(content(path) for path in beside), beside
        assert clear_left_overs(folder, OURS) == []
        assert os.listdir(folder.parent) == ["run"]
        seen.add(content(folder))
        if content(folder) == "new":
            (folder / "config.toml").write_text("old")
            (folder / "model" / "weights").write_text("old")
    assert ends == {0, -signal.SIGKILL}
    assert seen == {"old", "new"}


def _killed_at(step: int, folder: Path) -> int:
    """Replace a folder in a process that is killed at a step; return its exit code."""
    pid = os.fork()
    if pid == 0:
        try:
            with stopped_at(step, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                replace(folder)
            os._exit(0)
        finally:
            os._exit(3)
    ended: list[int] = []

    def has_ended() -> bool:
        ended[:] = os.waitpid(pid, os.WNOHANG)
        return ended[0] == pid

    assert wait_until(has_ended)
    return os.waitstatus_to_exitcode(ended[1])


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    for step in range(1, MOST_STEPS):
        target = tmp_path / "deep" / str(step)
        try:
            with stopped_at(step, interrupt) as count:
                replace(target)
        except KeyboardInterrupt:
            assert not target.exists() or content(target) == "new"
        if count[0] < step:
            break
    assert content(target) == "new"


def test_names_are_exchanged_in_one_step_on_this_system(tmp_path: Path) -> None:
    if sys.platform not in ("linux", "darwin"):
        pytest.skip("this system cannot exchange two names")
    write(tmp_path / "a", "first")
    write(tmp_path / "b", "second")
    assert whole_folder._exchange(tmp_path / "a", tmp_path / "b")
    assert (content(tmp_path / "a"), content(tmp_path / "b")) == ("second", "first")
    with pytest.raises(FileNotFoundError):
        whole_folder._exchange(tmp_path / "a", tmp_path / "none")


def test_a_run_that_goes_on_and_folders_of_others_are_left_alone(folder: Path) -> None:
    mine = folder.parent / ".run.nodecopy-mine"
    write(mine, "mine")
    backup = folder.parent / "run.before-christmas"
    write(backup, "mine")
    (backup / "notes.txt").write_text("mine")
    with replaced(folder) as fresh:
        assert clear_left_overs(folder, OURS) == [mine]
        assert fresh.is_dir()
        write(fresh / "model", "new")
    assert content(mine) == content(backup) == "mine"


def test_the_folder_of_a_killed_run_gets_its_name_back(folder: Path) -> None:
    folder.rename(folder.with_name("run.before-x1"))
    write(folder.parent / ".run.nodecopy-x1" / "new", "new")
    assert clear_left_overs(folder, OURS) == []
    assert content(folder) == "old"
    assert os.listdir(folder.parent) == ["run"]


def test_a_mount_point_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "is_mount", lambda self: True)
    with pytest.raises(InputError, match="is a mount point"):
        folder_module.check_folder(tmp_path)


@pytest.mark.parametrize("links", [True, False])
def test_kept_files_move_to_the_new_folder_as_they_are_then(
    folder: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", refused)
    (folder / "labels.csv").write_text("a,red\n")
    moments: list[str] = []

    @contextmanager
    def exchanging() -> Iterator[None]:
        with (folder / "labels.csv").open("a") as file:  # the last that is written to the old one
            file.write("b,blue\n")
        yield
        moments.append(str(content(folder)))

    with (folder / "labels.csv").open("a") as before:
        kept = Kept(("labels.csv", "missing"), exchanging())
        with replaced(folder, kept) as fresh:
            fresh.rmdir()
            write(fresh, "new")
        before.write("c,red\n")
    assert moments == ["new"]
    expected = "a,red\nb,blue\n" + ("c,red\n" if links else "")
    assert (folder / "labels.csv").read_text() == expected
    assert not (folder / "missing").exists()


def refused(*names: Any) -> None:
    raise OSError("this disk gives a file one name")
