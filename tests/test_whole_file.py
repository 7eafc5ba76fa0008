"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nodecopy.data import planted_partition, random_split
from nodecopy.errors import InputError
from nodecopy.experiment.export import export_rows
from nodecopy.persistence import SavedModel, write_model
from nodecopy.whole_file import replacing, write_whole


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


def test_a_write_that_fails_names_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    write_whole(target, "old")
    script = (
        "import resource, sys; from pathlib import Path;"
        "from nodecopy.whole_file import write_whole;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "write_whole(Path(sys.argv[1]), 'x' * 2000)"
    )
    command = [sys.executable, "-c", script, str(target)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr.splitlines()[-1].endswith(f"File too large: {str(target)!r}")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file.txt", "old")]


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", "x")
    (tmp_path / "other").write_text("x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "other")]
    assert modes[0] == modes[1]


def test_names_as_long_as_the_system_allows_are_written(tmp_path: Path) -> None:
    name = "n" * 255
    write_whole(tmp_path / name, "x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path) -> None:
    """As root, renaming a file to /dev/null would replace the device for the whole system."""
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    split = random_split(planted_partition(30, 2, seed=0).dataset, 2, seed=0, n_test=3, n_val=3)
    for write in (
        lambda: write_whole(pipe, "x"),
        lambda: export_rows([], pipe, "csv"),
        lambda: write_model(pipe, SavedModel({}, {})),
        lambda: split.save(pipe),
    ):
        with pytest.raises(InputError, match="is not a regular file"):
            write()
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(InputError, match="there is no folder"):
        write_whole(tmp_path / "none" / "file", "x")
