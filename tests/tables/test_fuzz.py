"""Anything may be in a file: it is read, or refused with an error of ours, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodecopy.errors import InputError
from nodecopy.tables import read_tables

bounded = settings(
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NAMES = ["source", "target", "weight", "id", "label", "feature", "value", "# x"]
ODD = ["", '"', '""', '"a,b"', '"a\nb"', " a", "\0", "\r", "\ufeff", "é", "[*]", "\u2028"]
NUMBERS = ["1", "-1", "007", "1.5", "nan", "inf", "1e39", "1e999", "0x1", "-"]
cells = st.sampled_from([*"abc", *"abc", *NAMES, *ODD, *NUMBERS]) | st.text(max_size=3)


@st.composite
def near_tables(draw: st.DrawFn) -> bytes:
    """Draw text that is almost a table, with odd cells, ragged rows and damaged bytes."""
    separator = draw(st.sampled_from([",", ",", "\t", ";", " ", "::"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    width = draw(st.integers(1, 4))
    row = st.lists(cells, min_size=width, max_size=width) | st.lists(cells, max_size=5)
    head = draw(st.sampled_from(["", "source,target", "id,label", "id,f", "id,feature,value"]))
    rows = [head.replace(",", separator)] * bool(head)
    rows += [separator.join(result) for result in draw(st.lists(row, max_size=8))]
    content = end.join(rows).encode("utf-8", "surrogatepass")
    if draw(st.booleans()):
        return content + end.encode()
    return damaged(draw, content)


def attempt(call: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """Return what a call gives, or the message of an error of ours; any other is a failure."""
    try:
        return call(*arguments), ""
    except InputError as error:
        return None, str(error)


def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Change a byte, or cut the end off."""
    at = draw(st.integers(0, len(content)))
    if draw(st.booleans()):
        return content[:at]
    return content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]


@bounded
@given(
    edges=near_tables() | st.binary(max_size=200),
    others=st.none() | st.tuples(near_tables(), near_tables()),
)
def test_reading_tables(tmp_path: Path, edges: bytes, others) -> None:
    paths = [tmp_path / name for name in ("e.csv", "l.csv", "f.csv")]
    contents = [edges] if others is None else [b"a,b\nb,c\n", *others]
    for path, content in zip(paths, contents, strict=False):
        path.write_bytes(content)
    table, message = attempt(read_tables, *paths[: len(contents)])
    if table is None:
        assert ".csv" in message
    else:
        assert len(set(table.ids.tolist())) == len(table.ids) == table.dataset.num_nodes > 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A good Parquet file of edges."""
    path = tmp_path_factory.mktemp("whole") / "e.parquet"
    rows = "(VALUES ('a', 'b', 1.5), ('b', 'c', 2)) AS t(source, target, weight)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM {rows}) TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


@bounded
@given(data=st.data())
def test_reading_damaged_files(tmp_path: Path, whole, data) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(damaged(data.draw, whole))
    table, message = attempt(read_tables, path)
    assert table is not None or path.name in message
