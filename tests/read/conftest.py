"""Files written where a test wants them, and tables read from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nodecopy.problem.problem import Problem
from nodecopy.read.tables import read_tables

Content = str | bytes | Path | list[Path] | None


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write the rows of an SQL query to a Parquet file."""

    def parquet(name: str, query: str) -> Path:
        path = tmp_path / name
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        return path

    return parquet


@pytest.fixture
def read(put) -> Callable[..., Problem]:
    """Read tables given by their content, or by their path."""

    def read(
        edges: Content = "a,b\nb,c\n",
        labels: Content = None,
        nodes: Content = None,
        *,
        names: tuple[str, str, str] = ("edges.csv", "labels.csv", "features.csv"),
        **reading: Any,
    ) -> Problem:
        contents = (edges, labels, nodes)
        paths = [
            put(name, content) if isinstance(content, (str, bytes)) else content
            for name, content in zip(names, contents, strict=True)
        ]
        return read_tables(*paths, threads=1, **reading)

    return read
