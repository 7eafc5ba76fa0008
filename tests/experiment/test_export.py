"""Exports: the same rows in every format, files whole or not at all."""

from __future__ import annotations

import csv
import gzip
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from nodecopy.errors import FormatError, InputError
from nodecopy.experiment.export import export_rows, read_jsonl
from nodecopy.experiment.merge import merge_stores
from nodecopy.experiment.outcome import Row
from nodecopy.experiment.store import Store
from tests.experiment.fake_trials import make_trials, quick

ROWS = [Row(trial, quick(trial)) for trial in make_trials(5)]
NESTED = ("reliability", "outcomes", "versions")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    with Store.open(path) as opened:
        opened.add_rows(ROWS)
    return path


def flat(row: Row) -> dict[str, object]:
    content = asdict(row.trial) | asdict(row.result)
    return content | {name: json.dumps(content[name]) for name in NESTED}


def test_csv_holds_every_digit(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    export_rows(ROWS, path, "csv")
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert found == [{k: str(v) for k, v in flat(row).items()} for row in ROWS]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_json_lines_come_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    export_rows(ROWS, path, "jsonl")
    assert read_jsonl(path) == ROWS
    head = path.read_bytes()[:8]
    # The last four of these bytes would be the time: the same rows are to give the same file.
    assert (head == b"\x1f\x8b\x08\x00" + bytes(4)) == name.endswith("gz")


def test_a_score_that_is_no_number_is_null(tmp_path: Path) -> None:
    trial, result = ROWS[0]
    rows = [Row(trial, replace(result, error_auroc=math.nan))]
    export_rows(rows, tmp_path / "rows.jsonl", "jsonl")
    assert json.loads((tmp_path / "rows.jsonl").read_text())["error_auroc"] is None
    assert math.isnan(read_jsonl(tmp_path / "rows.jsonl")[0].result.error_auroc)
    export_rows(rows, tmp_path / "rows.csv", "csv")
    assert ",1e-300,0.0,," in (tmp_path / "rows.csv").read_text()


@pytest.mark.parametrize("rows", [ROWS, []], ids=["rows", "no rows"])
def test_parquet_holds_the_same_values(rows: list[Row], tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "it's rows.parquet"
    export_rows(rows, path, "parquet")
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description]
        values = found.fetchall()
    assert names == list(flat(ROWS[0]))
    assert [dict(zip(names, row, strict=True)) for row in values] == [flat(row) for row in rows]


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'jsnol'; did you mean 'jsonl'"):
        export_rows(ROWS, tmp_path / "rows", "jsnol")


def test_a_store_is_never_overwritten(store: Path) -> None:
    before = store.read_bytes()
    with pytest.raises(InputError, match="SQLite file and is not overwritten"):
        export_rows(ROWS, store, "csv")
    with pytest.raises(InputError, match="exists and is not overwritten"):
        merge_stores([store], store)
    assert store.read_bytes() == before


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_file_that_cannot_be_written_is_an_error(format: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write .*there is no folder"):
        export_rows(ROWS, tmp_path / "absent" / "rows", format)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}\n", "line 1 of .* is not a row"),
        (b"[]\n", "line 1 of .* is not a row"),
        (b"accuracy\n", "line 1 of .* is not a row"),
        (b"\xff", "cannot be read as JSON lines"),
    ],
)
def test_other_json_lines_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_jsonl(path)


@pytest.mark.parametrize("content", [b"plain", gzip.compress(b"x" * 1000, mtime=0)[:20]])
def test_damaged_compression_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="cannot be read as JSON lines"):
        read_jsonl(path)


def test_stores_and_exported_rows_are_merged_into_a_new_store(store: Path, tmp_path: Path) -> None:
    more = [Row(trial, quick(trial)) for trial in make_trials(8)[3:]]
    export_rows(more, tmp_path / "more.jsonl.gz", "jsonl")
    out = tmp_path / "all.sqlite"
    assert merge_stores([store, tmp_path / "more.jsonl.gz"], out) == 8
    with Store.open(out, create=False) as merged:
        assert merged.rows() == [Row(trial, quick(trial)) for trial in make_trials(8)]
    assert {path.name for path in tmp_path.iterdir()} == {
        "runs.sqlite",
        "more.jsonl.gz",
        "all.sqlite",
    }


def test_sources_that_disagree_are_not_merged(store: Path, tmp_path: Path) -> None:
    trial, result = ROWS[0]
    export_rows([Row(trial, replace(result, digest="f" * 32))], tmp_path / "b.jsonl", "jsonl")
    with pytest.raises(FormatError, match=r"cannot merge .*b.jsonl: all.sqlite holds one of these"):
        merge_stores([store, tmp_path / "b.jsonl"], tmp_path / "all.sqlite")
    assert {path.name for path in tmp_path.iterdir()} == {"runs.sqlite", "b.jsonl"}


def test_a_merge_that_fails_leaves_nothing(store: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder .*absent of all.sqlite does not exist"):
        merge_stores([store], tmp_path / "absent" / "all.sqlite")
    with pytest.raises(InputError, match="there is no store"):
        merge_stores([store, tmp_path / "absent.sqlite"], tmp_path / "all.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.sqlite"]


def test_rows_that_unpack_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(70):
            file.write(b" " * 2**20)
    with pytest.raises(FormatError, match="unpacks to more than 67,108,864 bytes"):
        read_jsonl(path)


@pytest.mark.parametrize("line", ["7", "[]", "{}", '{"dataset": "cora"}', "[" * 5000, '{"x": 1}'])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line)
    with pytest.raises(FormatError, match="line 1 of .*rows.jsonl is not a row"):
        read_jsonl(path)
