"""The store, and rows as JSON lines."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nodecopy.core.errors import FormatError, InputError
from nodecopy.paper.store import Failure, Row, Store, export_rows, read_rows
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


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_json_lines_go_round(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    export_rows(make_rows(3), path)
    first = path.read_bytes()
    assert read_rows(path) == make_rows(3)
    export_rows(make_rows(3), path)
    assert path.read_bytes() == first
    with Store.open(tmp_path / "runs.sqlite") as store:
        store.add(make_rows(3))
    assert read_rows(tmp_path / "runs.sqlite") == make_rows(3)


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.jsonl"):
        export_rows(make_rows(1), tmp_path / "rows.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"accuracy": "high"}, "accuracy"),
        ({"split": "odd"}, "split"),
        ({"reliability": [[0.5]]}, "reliability"),
        ({"versions": {"torch": 2}}, "versions"),
        ({"seed": None}, "seed"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path: Path, change: dict, word: str) -> None:
    path = tmp_path / "rows.jsonl"
    export_rows(make_rows(2), path)
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{json.dumps(json.loads(second) | change)}\n")
    with pytest.raises(FormatError, match=f"line 2: .*{word}"):
        read_rows(path)


@pytest.mark.parametrize("content", [b"hello", b"\xff\xfe", b"[1]\n", b"[" * 5000])
def test_what_is_not_rows_is_refused(tmp_path: Path, content: bytes) -> None:
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=name):
            read_rows(tmp_path / name)
    export_rows(make_rows(3), tmp_path / name)
    packed = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(packed[:20] + bytes(40) + packed[60:])
    with pytest.raises(FormatError, match=f"{name}, line"):
        read_rows(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "trials"), [("paper.jsonl.gz", 4500), ("beyond.jsonl.gz", 3240)], ids=str
)
def test_committed_rows_are_rows_of_this_version(tmp_path: Path, name: str, trials: int) -> None:
    rows = read_rows(ROOT / "results" / name)
    assert len({row.trial for row in rows}) == len(rows) >= trials
    with Store.open(tmp_path / "runs.sqlite") as store:  # so that a grid can go on from them
        assert store.add(rows) == len(rows)
