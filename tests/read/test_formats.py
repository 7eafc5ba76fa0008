"""Files: formats, encodings, header rows, sizes, and options for reading them."""

from __future__ import annotations

import gzip
import signal
import tempfile
import threading
from dataclasses import fields

import numpy as np
import pytest

from nodecopy import cli
from nodecopy.core.errors import DatasetError, FormatError, InputError, RunError
from nodecopy.read import database
from nodecopy.read.database import Database
from nodecopy.read.options import TableOptions
from nodecopy.read.tables import read_tables
from nodecopy.run.folder import write_table

WORDS = "bash,libc\nbash,readline\nreadline,libc\n"


@pytest.mark.parametrize(
    ("first", "header", "nodes"),
    [
        ("source,target\n", None, 3),
        ("Source-ID,to\n", None, 3),
        ("", None, 3),
        ("package,depends\n", None, 3),
        ("package,libc\n", None, 4),
        ("source,target\n", False, 5),
        ("", True, 3),
    ],
)
def test_a_first_row_of_words_that_are_no_ids_elsewhere_is_a_header_row(read, first, header, nodes):
    table = read(first + WORDS, header=header)
    assert table.num_nodes == nodes
    guessed = first.startswith("package,d")  # a note names what may be an edge
    assert any("'package', 'depends' taken" in note for note in table.notes) == guessed
    assert not any("taken" in note for note in table.notes) or guessed


def test_the_index_of_a_data_frame_is_no_column(read):
    for names in (",source,target", ",sender,needs"):
        table = read(f"{names}\n0,bash,libc\n1,sh,libc\n", ",id,class\n0,sh,x\n1,bash,y\n")
        assert table.ids.tolist() == ["bash", "libc", "sh"]
        assert table.class_names == ("x", "y")


def test_words_above_numbers_are_a_header_row(read):
    table = read("paper,cites\n1,2\n2,3\n", "paper,topic\n1,4\n2,5\n")
    assert table.ids.tolist() == [1, 2, 3]
    assert table.class_names == ("4", "5")
    # Numbers below the first label may be classes.
    assert read(WORDS, "bash,x\nlibc,1\n").class_names == ("1", "x")


def test_a_first_row_above_known_ids_is_a_header_row(read):
    edges, labels = "program,needs,kind\nbash,libc,d\nbash,sh,r\n", "program,section\nbash,x\n"
    nodes = "program,title\nbash,a shell\nlibc,a library\nsh,another shell\n"
    table = read(edges, labels, nodes)
    assert table.ids.tolist() == ["bash", "libc", "sh"]
    assert table.class_names == ("x",)
    assert list(table.graph.relations) == ["d", "r"]


@pytest.mark.parametrize("name", ["e*.csv", "e[X].csv", "e?.csv", "it's.csv", "new\nline.csv"])
def test_a_name_that_is_a_pattern_stands_for_itself(put, name):
    put("eX.csv", "wrong,other\nwrong,third\n")
    assert read_tables(put(name, "a,b\n"), threads=1).ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_an_editor(read, end):
    rows = ["# comment", "source,target,weight", "a,b,1", "", '"c', 'c",a,1', "b,d,-1", ""]
    with pytest.raises(DatasetError, match=r"'-1' \(line 7\)"):
        read(end.join(rows))
    with pytest.raises(FormatError, match="Original Line: b,d Expected .*Found: 2"):
        read(end.join(rows).replace(",-1", ""))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"", "no rows"),
        ("e.csv", b"# a comment\n\n", "no rows"),
        ("e.csv", b"source,target\n", "no rows"),
        ("e.parquet", b"PAR1 but no more", "Parquet"),
        ("e.csv", b"a,b\nb,\0\n", "`encoding`"),
        ("e.csv", b"a,b\nb,\x81\n", "`encoding`"),
        ("e.csv.gz", gzip.compress(b"a,b\n" * 9999, mtime=0)[:-20], "cannot be read"),
        ("e.csv", b"a,b\n" + b"x" * 3_000_000 + b",c\n", "line 2 .*2,000,000"),
        ("e.csv", b"a,b\n" + b"a,b,c\n" * 1500, "Line: 2 .*Found: 3"),
        ("e.csv", b'a,"b\nb,c\n', "Line: 1 .*quote"),
    ],
)
def test_what_is_no_table_is_one_line(put, name, content, message):
    with pytest.raises((DatasetError, FormatError), match=message) as caught:
        read_tables(put(name, content), threads=1)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wide_tables_are_read_some_columns_at_a_time(read, monkeypatch):
    """A header row beyond 131,072 characters; the number of statements grows with the columns."""
    counts, plain = [], Database.arrays
    monkeypatch.setattr(Database, "arrays", lambda db, sql: counts.append(sql) or plain(db, sql))
    width = 6000
    names = [f"a long name of a feature {n}" for n in range(width)]
    rows = [",".join([node, *(str(n % 7) for n in range(width))]) for node in "abc"]
    table = read(nodes="\n".join([",".join(["id", *names]), *rows]))
    assert table.encoder.feature_names == tuple(names)
    assert np.array_equal(table.features[1], np.arange(width) % 7)
    assert len(counts) < width / 100


def test_little_memory_is_enough_or_the_message_says_so(put, monkeypatch):
    rows = np.random.default_rng(0).integers(30_000, size=(100_000, 2))
    path = put("e.csv", "\n".join(f"node number {a},node number {b}" for a, b in rows.tolist()))
    whole = read_tables(path, threads=1)
    monkeypatch.setattr(database, "MEMORY_LIMIT", 24 * 2**20)
    assert read_tables(path, threads=1).graph == whole.graph
    monkeypatch.setattr(database, "MEMORY_LIMIT", 2**20)
    with pytest.raises(RunError, match="more than 1 MiB of memory"):
        read_tables(path, threads=1)


def test_no_temporary_file_is_left_behind(read, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    read("a,b\r\nb,c\r\n", "a,x\n")
    with pytest.raises(FormatError):
        read("a,b\nb,c,d\n")
    assert list(folder.iterdir()) == []


def test_ctrl_c_ends_a_query_that_is_running():
    main = threading.main_thread().ident
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    try:
        with Database(threads=1) as db:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                db.run("SELECT count(*) FROM range(1000000000000)")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "klingon"}, "klingon; `encoding`"),
        ({"encoding": "base64"}, "base64; `encoding`"),
        ({"encoding": "utf-16"}, "not text in utf-16"),
        ({"encoding": "ascii"}, "not text in ascii"),
        ({"decimal": ";"}, "decimal .*';'"),
        ({"delimiter": "::"}, "delimiter .*'::'"),
        ({"na_values": "NA"}, "na_values .*'NA'"),
        ({"repeated_edges": "sums"}, "repeated_edges .*sum"),
        ({"header": "yes"}, "header .*'yes'"),
        ({"edge_columns": ["a"]}, "edge_columns .*'a'"),
        ({"edge_columns": ["1", "1"]}, "more than one column"),
        ({"edge_columns": [1, 2]}, "edge_columns must be"),
        ({"edge_columns": ["b", "z"]}, "no column 'z'; its first row is 'ä', 'b'"),
        ({"label_columns": ["id", "label"]}, "no file of labels"),
    ],
)
def test_options_that_do_not_exist_are_refused(put, options, message):
    with pytest.raises(InputError, match=message):
        read_tables(put("e.csv", "ä,b\nb,c\n"), **options)


@pytest.mark.parametrize(
    ("columns", "weights"), [(["buyer", "shop"], None), (["3", "2", "1"], [2.5, 3])]
)
def test_columns_are_chosen_by_name_or_by_number(read, columns, weights):
    table = read("amount,shop,buyer\n2.5,s,x\n3,t,x\n", edge_columns=columns, header=True)
    assert table.ids.tolist() == ["s", "t", "x"]
    graph = table.graph
    assert weights is None or graph.weights[:2].tolist() == weights
    assert graph.num_edges == 2


def test_every_option_is_one_of_the_command_line(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("a;b;1,500\nb;c;2,500\n")
    command = ["inspect", f"--edges={tmp_path / 'e.csv'}"]
    assert cli.main(command) == 2
    assert "--decimal" in capsys.readouterr().err
    given = ["--decimal=,", "--no-header", "--edge-columns=1,2,3", "--repeated-edges=sum"]
    assert cli.main([*command, *given]) == 0
    assert "weighted" in capsys.readouterr().out
    cli.main(["inspect", "--help"])
    words = capsys.readouterr().out
    assert all(f"--{field.name.replace('_', '-')}" in words for field in fields(TableOptions))


def test_a_folder_named_like_a_column_is_no_column(tmp_path, parquet):
    folder = tmp_path / "source=7"
    folder.mkdir()
    (folder / "edges.csv").write_text("source,target\n1,2\n2,3\n")
    made = parquet("source=7/edges.parquet", "FROM (VALUES (1, 2), (2, 3)) AS t(source, target)")
    for path in (folder / "edges.csv", made):
        assert read_tables(path, threads=1).ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_is_refused(put, packed):
    """DuckDB leaves out a last line of 40 MB without a word."""
    rows = b"source,target\na,b\nc," + b"d" * 40_000_000
    path = put("edges.csv.gz", gzip.compress(rows, 1)) if packed else put("edges.csv", rows)
    with pytest.raises(FormatError, match="line 3"):
        read_tables(path, threads=1)


def test_a_file_that_unpacks_to_too_much_is_refused(put, monkeypatch):
    monkeypatch.setattr("nodecopy.read.plain_text._MOST_UNPACKED", 2**21)
    path = put("edges.csv.gz", gzip.compress(b"a,b\n" * 2**20))
    with pytest.raises(FormatError, match="unpack it first"):
        read_tables(path, threads=1)


def test_cells_that_a_spreadsheet_would_run_are_read_back(read, tmp_path):
    ids = ["=1+1", "'=1+1", "''@x", "+49 30", "-5", "'tis", "-"]
    write_table(
        [{"source": np.array(ids, object), "target": np.full(7, "@b", object)}], tmp_path / "e.csv"
    )
    text = (tmp_path / "e.csv").read_text()
    assert not any(cell[0] in "=+@" for line in text.splitlines()[1:] for cell in line.split(","))
    assert set(read(tmp_path / "e.csv").ids) == {*ids, "@b"}
