"""The store: what goes in comes out; what is not a store is left alone."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nodecopy.core.errors import FormatError, InputError
from nodecopy.paper.store import Store
from nodecopy.paper.trial import Failure, Row
from tests.paper.fake_trials import make_rows, make_trials, quick


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def test_rows_come_back_as_they_were_and_in_order(path: Path) -> None:
    with Store.open(path) as store:
        assert store.add(reversed(make_rows(12))) == 12
    with Store.open(path, create=False) as store:
        assert store.rows() == make_rows(12)
        assert store.trials() == set(make_trials(12))
    (row,) = make_rows(1)
    with Store.open(path.with_name("nan")) as store:
        store.add([Row(row.trial, replace(row.result, error_auroc=math.nan))])
        assert math.isnan(store.rows()[0].result.error_auroc)


def test_a_trial_is_stored_once(path: Path) -> None:
    (row,) = make_rows(1)
    with Store.open(path) as store, Store.open(path) as other:
        assert store.add([row]) == 1
        assert other.add([Row(row.trial, replace(row.result, accuracy=0.9))]) == 0
        assert store.rows() == [row]


def test_rows_are_added_all_or_none(path: Path) -> None:
    one, two = make_rows(2)
    foreign = Row(two.trial, replace(two.result, versions={"numerics": "0"}))
    with Store.open(path) as store:
        with pytest.raises(FormatError, match="another version"):
            store.add([one, foreign])
        assert store.rows() == []


def test_failures_are_kept_until_the_trial_succeeds(path: Path) -> None:
    one, two = make_trials(2)
    with Store.open(path) as store:
        for failure in (Failure(two, "first"), Failure(two, "again"), Failure(one, "slow")):
            store.add_failure(failure)
        assert store.failures() == [Failure(one, "slow"), Failure(two, "again")]
        store.add([Row(two, quick(two))])
        store.add_failure(Failure(two, "late"))
        assert store.failures() == [Failure(one, "slow")]
        assert store.trials() == {two}


@pytest.mark.parametrize(
    "content", [b"hello, this is not a database", b"SQLite format 3\0 cut off"]
)
def test_another_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for create in (True, False):
        with pytest.raises(FormatError, match="store of trials"):
            Store.open(path, create=create)
    assert path.read_bytes() == content


def test_reading_makes_no_file_and_no_table(path: Path) -> None:
    with pytest.raises(InputError, match="no store"):
        Store.open(path, create=False)
    with pytest.raises(InputError, match="deeper"):
        Store.open(path / "deeper.sqlite")
    assert not path.exists()
    path.touch()
    with pytest.raises(FormatError, match="store of trials"):
        Store.open(path, create=False)


def test_a_damaged_row_is_named(path: Path) -> None:
    with Store.open(path) as store:
        store.add(make_rows(2))
    for wrong in ('{"accuracy": "7"}', "no JSON", "[]"):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE trials SET result = ? WHERE seed = 1", (wrong,))
        with Store.open(path) as store, pytest.raises(FormatError, match="damaged row"):
            store.rows()
