"""What is too large, or hidden where nobody looks, is refused before it is read."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nodecopy.data.tables import read_tables
from nodecopy.data.tables.text import MAX_LINE, scan
from nodecopy.errors import DatasetError, FormatError

EDGES = b"source,target\na,b\nb,c\n"


def refused(error: type[Exception], message: str, *files: Path | None, **limits: int) -> None:
    """Check that files are refused, and that little memory of Python's is taken for that."""
    tracemalloc.start()
    try:
        with pytest.raises(error, match=message):
            read_tables(*files, **limits)
        assert tracemalloc.get_traced_memory()[1] < 50 * 1024**2
    finally:
        tracemalloc.stop()


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_bytes(EDGES)
    return path


def archive(path: Path, **changes: object) -> Path:
    arrays = {
        "num_features": np.array(2),
        "x_indptr": np.array([0, 1, 2, 3]),
        "x_indices": np.array([0, 1, 0]),
        "ids": np.array(["a", "b", "c"]),
    }
    np.savez_compressed(path, **(arrays | changes))
    return path


def test_arrays_are_checked_by_their_headers(edges, tmp_path):
    ones = np.ones(60_000_000, np.int8)  # compressed to little
    path = archive(tmp_path / "a.npz", x_data=ones)
    refused(FormatError, r"must be of one length; found \[3\] and \[60000000\]", edges, None, path)
    path = archive(tmp_path / "b.npz", x_data=ones, x_indices=ones)
    message = r"x_indices of int8 \[60000000\] takes about 1.9 GiB of memory; max_memory is 47.7"
    refused(DatasetError, message, edges, None, path, max_memory=5 * 10**7)


@pytest.mark.parametrize("starts", [[0, 1, 2, -1], [0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 2, 4]])
def test_rows_that_do_not_follow_one_another_are_refused(edges, tmp_path, starts):
    path = archive(tmp_path / "x.npz", x_indptr=np.array(starts))
    refused(FormatError, "x_indptr must go up from 0 to 3", edges, None, path)


def test_features_are_counted_before_they_are_named(edges, tmp_path):
    path = archive(tmp_path / "wide.npz", num_features=np.array(10**9))
    message = "num_features = 1,000,000,000 takes about 67.1 GiB of memory; max_memory is 9.3 GiB"
    refused(DatasetError, message, edges, None, path, max_memory=10**10)


@pytest.mark.parametrize("shape", [(10**15,), (3, 10**10)])
def test_a_header_that_promises_more_than_there_is(edges, tmp_path, shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": shape}
    )
    path = archive(tmp_path / "x.npz")
    kept = {name: held for name, held in np.load(path).items() if name != "x_indices"}
    np.savez(path, **kept)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("x_indices.npy", header.getvalue() + b"0" * 24)
    refused(FormatError, "x_indices is int64 .* but the file has [0-9]+ bytes", edges, None, path)


def test_a_repeated_edge_is_not_unpacked_without_end(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(EDGES)
        for _ in range(80):
            file.write(b"a,b\n" * 1_000_000)
    message = "of gzip unpack to more than 256.0 MiB, which is no table; unpack it first"
    refused(FormatError, message, path)
    refused(FormatError, "unpack to more than 1.0 MiB", path, unpacked_limit=2**20)


def test_a_limit_of_unpacked_bytes_may_be_raised(tmp_path):
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(EDGES * 100))
    with pytest.raises(FormatError, match="unpack to more than 100 bytes"):
        read_tables(path, unpacked_limit=100)
    assert read_tables(path, unpacked_limit=3000).dataset.num_nodes == 5  # header rows, too


def test_rows_are_counted_before_they_are_arrays(edges, tmp_path):
    refused(DatasetError, "2 rows take about 160 bytes of memory; max_memory", edges, max_memory=99)
    path = tmp_path / "e.parquet"
    with duckdb.connect() as connection:  # the same row over and over: a few kilobytes
        rows = "SELECT 'a' AS source, 'b' AS target FROM range(3000000)"
        connection.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    assert path.stat().st_size < 10**6
    refused(DatasetError, "3,000,000 rows take about 228.9 MiB", path, max_memory=10**8)


def test_a_nul_is_found_wherever_it_is(tmp_path):
    path = tmp_path / "nul.csv"
    path.write_bytes(EDGES + b"a,c\n" * 600_000 + b"a\0,b\n" + b"a,c\n" * 10)
    refused(FormatError, r"nul.csv: line 600004 is not text", path)


@pytest.mark.parametrize("before", [b"source,target\n", EDGES, EDGES.replace(b"\n", b"\r\n"), b""])
def test_a_line_that_is_too_long_is_named(tmp_path, before):
    path = tmp_path / "long.csv"
    path.write_bytes(before + b"x" * 5_000_000 + b",b\nb,c\n")
    line = before.count(b"\n") + 1
    refused(FormatError, f"long.csv: line {line} is longer than {MAX_LINE:,} characters", path)


def test_the_longest_line_allowed_is_accepted(tmp_path):
    path = tmp_path / "edges.csv"
    for size in (MAX_LINE - 1, MAX_LINE):
        path.write_bytes(b"x" * size + b"\n")
        assert len(scan(path).beginning.strip()) == size
    path.write_bytes(b"x" * (MAX_LINE + 1) + b"\n")
    with pytest.raises(FormatError, match="line 1 is longer than"):
        scan(path)
