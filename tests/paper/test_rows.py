"""Rows in files: they go round, other programs read them, wrong files are one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodecopy.core.errors import FormatError, InputError
from nodecopy.paper.rows import export_rows, read_rows
from nodecopy.paper.store import Store
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
