"""Rows in files: they go round, other programs read them, wrong files are one line."""

from __future__ import annotations

import csv
import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from nodecopy.errors import FormatError, InputError
from nodecopy.paper.rows import export_rows, read_rows
from nodecopy.paper.store import Store
from nodecopy.paper.trial import Row
from tests.paper.fake_trials import make_rows

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


def test_csv_and_parquet_hold_nested_columns_as_json(tmp_path: Path) -> None:
    (row,) = make_rows(1)
    row = Row(row.trial, replace(row.result, error_auroc=math.nan))
    for name in ("rows.csv", "rows.csv.gz", "rows.parquet"):
        export_rows([row], tmp_path / name)
    text = (tmp_path / "rows.csv").read_text()
    assert gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()).decode() == text
    (held,) = csv.DictReader(text.splitlines())
    assert (held["dataset"], held["seed"], held["error_auroc"]) == ("cora", "0", "")
    assert float(held["nll"]) == row.result.nll
    assert json.loads(held["outcomes"]) == row.result.outcomes
    parquet = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    columns = dict(zip(parquet.columns, parquet.fetchall()[0], strict=True))
    assert columns["nll"] == row.result.nll
    assert columns["error_auroc"] is None
    assert json.loads(columns["versions"]) == row.result.versions


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv"):
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
    ("name", "trials"), [("paper.jsonl.gz", 4500), ("beyond.jsonl.gz", 2970)], ids=str
)
def test_committed_rows_are_rows_of_this_version(tmp_path: Path, name: str, trials: int) -> None:
    rows = read_rows(ROOT / "results" / name)
    assert len({row.trial for row in rows}) == len(rows) >= trials
    with Store.open(tmp_path / "runs.sqlite") as store:  # so that a grid can go on from them
        assert store.add(rows) == len(rows)
