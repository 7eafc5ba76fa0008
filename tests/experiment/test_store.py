"""The store: what goes in comes out; what is not a store is left alone."""

from __future__ import annotations

import dataclasses
import math
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from nodecopy.errors import FormatError, InputError, RunError
from nodecopy.experiment.store import Failure, Row, Run, Store
from nodecopy.experiment.store_file import APPLICATION_ID, SCHEMA_VERSION
from tests.experiment.fake_trials import make_trials, quick

RUN = Run("a", "mine", "d", "{}", 3, "serial", {"cores": "2"}, {"torch": "2"}, "2026-01-01")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def filled(path: Path, count: int) -> Store:
    store = Store.open(path)
    for trial in make_trials(count):
        assert store.add(trial, quick(trial))
    return store


def test_rows_come_back_as_they_were_and_in_order(path: Path) -> None:
    trials = make_trials(12)
    with Store.open(path) as store:
        for trial in reversed(trials):
            store.add(trial, quick(trial))
    with Store.open(path) as store:
        assert store.rows() == [Row(trial, quick(trial)) for trial in trials]
        assert store.digests() == {trial.digest for trial in trials}


def test_a_score_that_is_no_number_comes_back(path: Path) -> None:
    (trial,) = make_trials(1)
    with Store.open(path) as store:
        store.add(trial, dataclasses.replace(quick(trial), error_auroc=math.nan))
        assert math.isnan(store.rows()[0].result.error_auroc)


def test_a_trial_is_stored_once(path: Path) -> None:
    (trial,) = make_trials(1)
    with filled(path, 1) as store, Store.open(path) as other:
        assert not other.add(trial, dataclasses.replace(quick(trial), accuracy=0.9))
        assert store.rows() == [Row(trial, quick(trial))]


def test_a_trial_of_another_version_is_not_mixed_in(path: Path) -> None:
    (trial,) = make_trials(1)
    newer = dataclasses.replace(trial)
    newer.__dict__["digest"] = "f" * 32
    with filled(path, 1) as store:
        store.check_versions([trial])
        with pytest.raises(FormatError, match="one of these trials computed with other settings"):
            store.check_versions([newer])
        with pytest.raises(FormatError, match="use another file"):
            store.add(newer, quick(newer))
        assert store.rows() == [Row(trial, quick(trial))]


def test_failures_are_kept_until_the_trial_succeeds(path: Path) -> None:
    one, two = make_trials(2)
    with Store.open(path) as store:
        store.add_failure(two, "first", "died")
        store.add_failure(two, "again", "raised")
        store.add_failure(one, "slow", "time limit")
        assert store.failures() == [
            Failure(one, "time limit", "slow"),
            Failure(two, "raised", "again"),
        ]
        store.add(two, quick(two))
        store.add_failure(two, "too late", "raised")
        assert store.failures() == [Failure(one, "time limit", "slow")]


def test_runs_are_noted(path: Path) -> None:
    later = dataclasses.replace(RUN, id="b", started="2026-01-02")
    with Store.open(path) as store:
        store.start_run(later)
        store.start_run(RUN)
        store.end_run("b", "2026-01-03")
        assert store.runs() == [RUN, dataclasses.replace(later, ended="2026-01-03")]


def test_merging_adds_what_is_new(path: Path, tmp_path: Path) -> None:
    trials = make_trials(6)
    with filled(path, 3) as store, Store.open(tmp_path / "b.sqlite") as other:
        store.add_failure(trials[4], "here", "raised")
        for trial in trials[2:5]:
            other.add(trial, quick(trial))
        other.add_failure(trials[0], "there", "raised")
        other.add_failure(trials[5], "there", "died")
        other.start_run(RUN)
        assert store.merge(other) == 2
        assert store.merge(other) == 0
        assert store.rows() == [Row(trial, quick(trial)) for trial in trials[:5]]
        assert store.failures() == [Failure(trials[5], "died", "there")]
        assert store.runs() == [RUN]


def test_merging_is_all_or_nothing(path: Path, tmp_path: Path) -> None:
    trials = make_trials(4)
    stale = dataclasses.replace(trials[3])
    stale.__dict__["digest"] = "f" * 32
    with filled(path, 2) as store, Store.open(tmp_path / "b.sqlite") as other:
        store.add(stale, quick(stale))
        for trial in trials:
            other.add(trial, quick(trial))
        before = store.rows()
        with pytest.raises(FormatError, match="seed 3"):
            store.merge(other)
        assert store.rows() == before


def test_readers_do_not_make_files(path: Path) -> None:
    with pytest.raises(InputError, match="there is no store .*runs.sqlite"):
        Store.open(path, create=False)
    assert not path.exists()


def test_impossible_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        Store.open(tmp_path)
    with pytest.raises(InputError, match="the folder .*absent of the store runs.sqlite"):
        Store.open(tmp_path / "absent" / "runs.sqlite")


def other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()


def other_version(path: Path) -> None:
    filled(path, 2).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()


def text(path: Path) -> None:
    path.write_text("accuracy 0.81\n" * 100)


def cut(path: Path) -> None:
    filled(path, 30).close()
    path.write_bytes(path.read_bytes()[:-8192])


def overwritten(path: Path) -> None:
    filled(path, 30).close()
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xaa" * 8192
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (other_program, "is an SQLite file of another program"),
        (other_version, f"is a store of version 2; this release reads version {SCHEMA_VERSION}"),
        (text, "is not a store of nodecopy, not even an SQLite file"),
        (cut, "is damaged"),
        (overwritten, "is damaged"),
    ],
)
def test_what_is_not_a_store_is_left_alone(make, message: str, path: Path) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(FormatError, match=message):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", None], ids=["empty file", "empty database"])
def test_a_file_without_content_becomes_a_store(content: bytes | None, path: Path) -> None:
    if content is None:  # what a run leaves that was killed while it made its store
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    else:
        path.write_bytes(content)
    filled(path, 1).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_full_disk_loses_nothing_that_was_stored(path: Path) -> None:
    trials = make_trials(200)
    with filled(path, 3) as store:
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        rest = iter(trials[3:])
        with pytest.raises(RunError, match="disk is full.*Rows stored before are kept"):
            all(store.add(trial, quick(trial)) for trial in rest)
        stored = len(store.rows())
        assert 3 < stored < 200
    with Store.open(path) as store:
        assert store.rows() == [Row(trial, quick(trial)) for trial in trials[:stored]]
        assert store.add(trials[stored], quick(trials[stored]))


def test_a_reader_sees_rows_while_a_writer_has_the_store_open(path: Path) -> None:
    with filled(path, 2), Store.open(path, create=False) as reader:
        assert len(reader.rows()) == 2


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE results DROP COLUMN nll",
        "ALTER TABLE failures RENAME COLUMN kind TO sort",
        "DROP TABLE runs",
    ],
)
def test_a_store_that_lacks_a_column_is_damaged_and_the_disk_is_not_blamed(
    path: Path, statement: str
) -> None:
    filled(path, 2).close()
    change(path, statement)
    with pytest.raises(FormatError, match="is damaged: its table .* lacks ") as caught:
        Store.open(path)
    assert "disk" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("reliability", "[" * 100_000),
        ("reliability", '[["a", 1, 2]]'),
        ("reliability", "7"),
        ("outcomes", "{"),
        ("outcomes", '{"low": 1}'),
        ("versions", "[]"),
        ("accuracy", "high"),
        ("accuracy", 1.5),
        ("accuracy", b"x"),
        ("nll", 1e300),
        ("split", "other"),
        ("dataset", "cora\nciteseer"),
        ("method", "=cmd|' /C calc'!A0"),
        ("labels_per_class", -5),
        ("seed", 0.5),
    ],
)
def test_a_cell_that_cannot_be_is_damage(path: Path, column: str, value: object) -> None:
    filled(path, 1).close()
    change(path, f"UPDATE results SET {column} = ?", value)
    with Store.open(path) as store, pytest.raises(FormatError, match="runs.sqlite holds a cell"):
        store.rows()


def test_text_that_is_not_utf8_is_damage(path: Path) -> None:
    filled(path, 1).close()
    change(path, "UPDATE results SET method = CAST(x'ff41' AS TEXT)")
    with Store.open(path) as store, pytest.raises(FormatError, match="runs.sqlite is damaged"):
        store.rows()


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("runs", "machine", "[[]]"), ("runs", "planned", "many"), ("failures", "kind", "lost")],
)
def test_runs_and_failures_are_checked_too(
    path: Path, table: str, column: str, value: object
) -> None:
    with Store.open(path) as store:
        store.start_run(RUN)
        store.add_failure(make_trials(1)[0], "boom", "raised")
    change(path, f"UPDATE {table} SET {column} = ?", value)
    with Store.open(path) as store, pytest.raises(FormatError, match="holds a cell that is dam"):
        _ = store.runs(), store.failures()


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/dev/null is a device; accepted: a regular file"):
        Store.open(Path("/dev/null"))


def test_a_table_whose_name_is_not_text_is_damage(path: Path) -> None:
    filled(path, 1).close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE failures", b"CREATE\xffTABLE failures"))
    with pytest.raises(FormatError, match="runs.sqlite is damaged"):
        Store.open(path)


def test_opening_waits_for_another_who_switches_the_journal(tmp_path: Path) -> None:
    """SQLite answers "database is locked" at once there, whatever its timeout."""
    path = tmp_path / "runs.sqlite"
    Store.open(path).close()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    release.start()
    with Store.open(path) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    release.join(10)
    other.close()


def test_an_empty_file_is_no_store_for_those_who_only_read(tmp_path: Path) -> None:
    empty = tmp_path / "rows.jsonl.gz"
    empty.touch()
    with pytest.raises(InputError, match="is empty: no store yet"):
        Store.open(empty, create=False)
    assert empty.stat().st_size == 0
    Store.open(empty).close()
    assert empty.stat().st_size > 0
