"""Headers in words of their own, and honest first rows of files that have none."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.data.tables import TableDataset, read_label_table
from nodecopy.errors import DatasetError

EDGES = "zlib,libc\nbash,libc\nbash,readline\ngrep,libc\ngrep,pcre\n"
LABELS = "zlib,libs\nbash,shells\nreadline,libs\n"
FEATURES = "id,size,age\nzlib,1,2\nlibc,2,3\nbash,3,1\nreadline,1,1\ngrep,2,2\npcre,1,3\n"
IDS = ["bash", "grep", "libc", "pcre", "readline", "zlib"]
DEP, SECTION = "'package', 'dep'", "'package', 'section'"


def first_rows(table: TableDataset) -> list[str]:
    return [note for note in table.notes if "first row" in note]


def known(table: TableDataset) -> dict[str, str]:
    labels, names = table.dataset.labels, table.dataset.class_names
    return {str(table.ids[n]): names[labels[n]] for n in np.flatnonzero(labels >= 0)}


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize(
    ("edges", "labels", "taken"),
    [
        ("source_pkg,dep\n", "", {"edges": "'source_pkg', 'dep'"}),
        ("", "package,section\n", {"labels": SECTION}),
        ("package,dep\n", "id,label\n", {"edges": DEP}),
        ("source,target\n", "package,class\n", {"labels": "'package', 'class'"}),
        # The same word above both: neither row makes a node of it.
        ("package,dep\n", "package,section\n", {"edges": DEP, "labels": SECTION}),
        ("", "", {}),
    ],
)
def test_a_header_in_other_words_is_one(read, edges, labels, features, taken):
    table = read(edges + EDGES, labels + LABELS, features)
    assert table.ids.tolist() == IDS
    assert table.counts.rows == 5
    assert known(table) == {"bash": "shells", "readline": "libs", "zlib": "libs"}
    assert first_rows(table) == [
        f"{name}.csv: the first row, {cells}, was taken for a header"
        for name, cells in taken.items()
    ]


def test_features_tell_that_other_lonely_pairs_are_nodes(read):
    lonely = f"package,dep\n{EDGES}dos,mbr\n"
    table = read(lonely, LABELS, f"{FEATURES}dos,1,1\nmbr,1,1\n")
    assert len(table.ids) == 8
    assert first_rows(table) == [f"edges.csv: the first row, {DEP}, was taken for a header"]
    table = read(lonely, LABELS)  # where nothing tells
    assert len(table.ids) == 10
    assert first_rows(table) == [
        f"edges.csv: the first row, {DEP}, was read as an edge, not as a header"
    ]


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        # A first node that is in no other edge, but has a label that others have.
        (f"dos,mbr\n{EDGES}", f"dos,libs\n{LABELS}"),
        # Nor is it a header where every label is the only one of its class.
        (f"dos,mbr\n{EDGES}", "dos,systems\nbash,shells\nzlib,libs\n"),
        # A label that is alone, of a node that is not.
        (EDGES, "grep,tools\nbash,shells\nzlib,libs\nreadline,libs\n"),
        # Numbers are no names.
        ("1,2\n3,4\n4,5\n", "3,x\n4,y\n5,x\n"),
    ],
)
def test_an_honest_first_row_stays(read, edges, labels):
    table = read(edges, labels)
    assert table.counts.rows == len(edges.splitlines())
    assert len(known(table)) == len(labels.splitlines())
    assert first_rows(table) == []


def test_numbers_of_columns_say_that_there_is_no_header(read):
    table = read(f"dos,mbr\n{EDGES}", None, edge_columns=("1", "2"))
    assert len(table.ids) == 8
    assert first_rows(table) == [
        "edges.csv: the first row, 'dos', 'mbr', was read as an edge, not as a header"
    ]
    with pytest.raises(DatasetError, match=r"1 id not in the graph: 'dos' \(line 1\)"):
        read(EDGES, f"dos,systems\n{LABELS}", label_columns=("1", "2"))


def test_lines_are_counted_from_the_header_on(read):
    with pytest.raises(DatasetError, match=r"1 id not in the graph: 'zsh' \(line 5\); ids are"):
        read(EDGES, f"package,section\n{LABELS}zsh,shells\n")


def test_labels_alone_are_read_in_the_same_way(put):
    found = read_label_table(put("l.csv", f"package,section\n{LABELS}"), np.array(IDS, object))
    assert found.class_names == ("libs", "shells")
    assert found.notes == (f"l.csv: the first row, {SECTION}, was taken for a header",)


def test_labels_alone_are_not_read_below_a_row_that_may_be_one_of_them(put):
    path = put("l.csv", "bash,shells\nzlib,7\ngrep,8\n")
    with pytest.raises(DatasetError, match="first row, 'bash', 'shells', may be a header or not"):
        read_label_table(path, np.array(IDS, object))


def test_a_first_row_with_a_separator_that_is_no_space_to_the_reader_is_left_as_it_is(read):
    table = read("\u2028ource,target\na,b\nb,c\nc,a\n", "id,label\na,x\nb,y\n")
    assert table.ids.tolist() == ["a", "b", "c", "target", "\u2028ource"]
