"""Tables as a whole: what is imported, what is kept, what is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from nodecopy.data.tables import read_tables
from nodecopy.data.tables.database import WATCHER, Database, Reading
from nodecopy.errors import DatasetError, FormatError
from tests.waiting import LIMIT


def test_duckdb_is_not_imported_before_a_table_is_read():
    code = "import sys, nodecopy.data, nodecopy.data.tables; print('duckdb' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert run.stdout == "False\n"


def test_a_table_is_a_frozen_value(read):
    table = read()
    with pytest.raises(FrozenInstanceError):
        table.notes = ()
    assert not table.dataset.labels.flags.writeable


def test_no_temporary_file_is_left_behind(read, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    read("a,b\nb,c\n", "a,x\n")
    with pytest.raises(FormatError):
        read("a,b\nb,c,d\n")
    assert list(folder.iterdir()) == []


def test_labels_are_checked_before_features_are_used(read):
    with pytest.raises(DatasetError, match="not in the graph: 'z'"):
        read("a,b\n", "z,x\n", "id,f\na,1\nb,2\n")
    isolated = read("a,b\n", "z,x\na,y\n", "id,f\na,1\nb,2\nz,3\n")
    assert isolated.dataset.labels.tolist() == [1, -1, 0]


def test_header_names_that_are_ids_of_nodes_are_no_trouble_in_feature_columns(read):
    table = read("0,1\n1,2\n", features=",0,1\n0,5,6\n1,5,6\n2,5,6\n")
    assert table.feature_names == ("0", "1")


def test_an_interrupt_stays_an_interrupt():
    with Database(Reading(threads=1)) as db:
        interrupted = db._duckdb.InterruptException("interrupted")
        with pytest.raises(KeyboardInterrupt), db._translated():
            raise interrupted


def test_ctrl_c_ends_a_query_that_is_running():
    main = threading.main_thread().ident
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    try:
        with Database(Reading(threads=1)) as db:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                db.run("SELECT count(*) FROM range(1000000000000)")
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_of_ours_in_sql_is_not_hidden():
    with Database(Reading(threads=1)) as db, pytest.raises(db._duckdb.CatalogException):
        db.run("SELECT * FROM nowhere")


def test_folders_with_awkward_names(read, tmp_path, monkeypatch):
    folder = Path(tmp_path / "it's [a] *folder?")
    folder.mkdir()
    (folder / "e.csv").write_text("a,b\n")
    assert read(folder / "e.csv").ids.tolist() == ["a", "b"]
    monkeypatch.chdir(folder)
    assert read(Path("e.csv")).ids.tolist() == ["a", "b"]


def test_progress_grows_to_its_end(tmp_path):
    """Edges that take DuckDB a moment are reported while they are read."""
    edges, features = tmp_path / "e.csv", tmp_path / "f.csv"
    edges.write_text("source,target\n" + "".join(f"{k},{k * 7 % 50_000}\n" for k in range(50_000)))
    features.write_text("id,x\n" + "".join(f"{k},{k % 13}\n" for k in range(50_000)))
    seen: list[float] = []
    read_tables(edges, None, features, progress=lambda done, total: seen.append(done / total))
    assert seen == sorted(seen)
    assert len(set(seen)) > 4
    assert seen[-1] == 1.0


def test_progress_stops_where_reading_fails(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\na,\n")
    seen: list[int] = []
    with pytest.raises(DatasetError, match="without two ids"):
        read_tables(tmp_path / "e.csv", progress=lambda done, total: seen.append(done))
    assert WATCHER not in [thread.name for thread in threading.enumerate()]
