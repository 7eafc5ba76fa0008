"""How a file is opened: by its content, with its separator and its header found."""

from __future__ import annotations

import gzip
import os

import pytest

from nodecopy.data.tables.files import open_table
from nodecopy.data.tables.kinds import EDGES, FEATURES, LABELS
from nodecopy.data.tables.text import MAX_LINE
from nodecopy.errors import DatasetError, FormatError


@pytest.mark.parametrize(
    ("name", "content", "delimiter", "cells"),
    [
        ("e.csv", "a,b\nb,c\n", ",", ("a", "b")),
        ("e.tsv", "a,x\tb\nb\tc,y\n", "\t", ("a,x", "b")),
        ("e.tsv", "a,b\nb,c\n", ",", ("a", "b")),
        ("e.txt", "a\tb\nb\tc\n", "\t", ("a", "b")),
        ("e.csv", "a;b\nDoe, J;c\n", ";", ("a", "b")),
        ("e.csv", "a|b\nb|c\n", "|", ("a", "b")),
        ("e.edges", "1 2\n2 3\n", " ", ("1", "2")),
        ("e.csv", "New York,b\nparis,c d\n", ",", ("New York", "b")),
        ("e.csv", '"a,""x""",b\nb,c\n', ",", ('a,"x"', "b")),
        ("e.csv", "a,b\r\nb,c\r\n", ",", ("a", "b")),
        ("e.csv", "a,b\rb,c\r", ",", ("a", "b")),
        ("e.csv", b"\xef\xbb\xbfa,b\nb,c\n", ",", ("a", "b")),
        ("e.csv", "# SNAP\n#\n\na,b\nb,c", ",", ("a", "b")),
        ("e.csv", "a,b\nc,d,e\n", ",", ("a", "b")),
        ("e.csv", "a;b;1,5\nb;c;2,5\n", ";", ("a", "b", "1,5")),
        ("e.csv", "x|1,x|2\nx|2,x|3\n", ",", ("x|1", "x|2")),
        ("e.csv", "sep=;\na;b\nb;c\n", ";", ("a", "b")),
    ],
)
def test_the_separator_is_found(put, name, content, delimiter, cells):
    table = open_table(put(name, content), EDGES)
    assert table.delimiter == delimiter
    assert table.sample[0] == cells
    assert not table.header


@pytest.mark.parametrize("name", ["e.csv.gz", "e.csv"])
def test_compressed_text_is_known_by_its_content(put, name):
    table = open_table(put(name, gzip.compress(b"a,b\nb,c\n")), EDGES)
    assert table.text.packed
    assert table.sample == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize(
    ("kind", "first", "second", "header"),
    [
        (EDGES, "source,target", "a,b", True),
        (EDGES, "#source,target", "a,b", True),
        (EDGES, "From_Node-ID , to node id", "a,b", True),
        (EDGES, "source,from", "a,b", True),
        (EDGES, "paper,cites", "1,2", True),
        (EDGES, "paper,cites", "a,2", True),
        (EDGES, "paper,cites", "a,b", False),
        (EDGES, "alice,1", "2,3", False),
        (EDGES, "1,2", "2,3", False),
        (EDGES, "u,v", "v,w", False),
        (LABELS, "id,topic", "a,b", True),
        (LABELS, "paper,class", "a,b", False),
        (LABELS, ",topic", "a,b", True),
        (LABELS, "a,", "b,c", False),
        (FEATURES, "id,0,1", "a,1,2", True),
        (FEATURES, ",0,1", "a,1,2", True),
        (FEATURES, "paper,age,size", "a,1,2", True),
        (FEATURES, "paper,age,", "a,1,", True),
        (FEATURES, "paper,,age", "a,1,2", False),
        (FEATURES, "a,1,2", "b,1,2", False),
    ],
)
def test_the_header_is_told_from_the_rows(put, kind, first, second, header):
    table = open_table(put("t.csv", f"{first}\n{second}\n{second}\n"), kind)
    assert table.header is header
    assert table.skip == (1 if header else 0)
    assert len(table.sample) == (2 if header else 3)


def test_lines_before_the_rows_are_counted(put):
    table = open_table(put("e.csv", '# one\n# two\n"source\nid",target\na,b\n'), EDGES)
    assert (table.header, table.skip) == (True, 4)


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("e.csv", "", DatasetError, "e.csv is empty; accepted: CSV or TSV"),
        ("e.csv", "\n \n", DatasetError, "is empty"),
        ("e.csv", b"\xef\xbb\xbf", DatasetError, "is empty"),
        ("e.csv", "# only\n# this\n", DatasetError, "only comments"),
        ("e.csv", "source,target\n", DatasetError, "has a header, 'source', 'target', but no rows"),
        ("e.csv", "a:b\nc:d\n", FormatError, "no separator in the first row, 'a:b'; accepted: com"),
        ("e.csv", b"a,b\nc\0,d\n", FormatError, "line 2 is not text"),
        ("e.csv", b"a,b\n\nc,\x81\xe9\n", FormatError, "not text in UTF-8 or Windows-1252; --enc"),
        ("e.csv", b"\xff\xfea\0,\0\n", FormatError, "is not text in utf-16; --encoding NAME reads"),
        ("e.csv", "a,b\n".encode("utf-16-le"), FormatError, "line 1 is not text"),
        ("e.xlsx", b"PK\x03\x04....", FormatError, "a zip archive or an Excel workbook"),
        ("e.parquet", "a,b\n", FormatError, "is not a Parquet file, as its name says"),
        ("e.csv.gz", b"\x1f\x8b\x08" + b"?" * 40, FormatError, "cannot be read"),
        ("e.csv", "x" * (MAX_LINE + 2), FormatError, "longer than 2,000,000 characters"),
        ("e.csv", "a," + '"' + "x" * 200_000 + '"\n', FormatError, "field larger than field limit"),
    ],
)
def test_what_is_not_a_table_is_refused(put, name, content, error, message):
    with pytest.raises(error, match=message):
        open_table(put(name, content), EDGES)


def test_what_is_not_a_file_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="is a folder"):
        open_table(tmp_path, EDGES)
    with pytest.raises(DatasetError, match="nowhere.csv does not exist"):
        open_table(tmp_path / "nowhere.csv", EDGES)
    with pytest.raises(DatasetError, match="cannot be read: embedded null"):
        open_table("nul\0.csv", EDGES)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DatasetError, match="not a regular file; accepted: CSV or TSV"):
        open_table(tmp_path / "pipe", EDGES)
