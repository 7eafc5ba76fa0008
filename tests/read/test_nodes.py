"""Feature files: columns, triples, arrays, and nodes that lack them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.core.errors import DatasetError


def rows_of(table) -> list[list[float]]:
    features = table.features
    return (features.toarray() if sp.issparse(features) else features).tolist()


@pytest.mark.parametrize(
    ("content", "rows", "names"),
    [
        ("id,f,g\nc,5,6\na,1,2\nb,3,-4.5\n", [[1, 2], [3, -4.5], [5, 6]], ("f", "g")),
        ("f,id,g\n5,c,6\n1,a,2\n3,b,-4.5\n", [[1, 2], [3, -4.5], [5, 6]], ("f", "g")),
        (",0,1\nc,5,6\na,1,2\nb,3,4\n", [[1, 2], [3, 4], [5, 6]], ("0", "1")),
        ("c,5\na,1\nb,3\n", [[1], [3], [5]], ("2",)),
        ("c,5,6,7\na,1,2,3\nb,1,1,1\n", [[1, 2, 3], [1, 1, 1], [5, 6, 7]], ("2", "3", "4")),
        ("id,feature,value\nc,10,5\na,9,1\n", [[1, 0], [0, 0], [0, 5]], ("9", "10")),
        ("node,value,word\nc,5,w\na,1,v\n", [[1, 0], [0, 0], [0, 5]], ("v", "w")),
        ("c,w,5\na,v,1\n", [[1, 0], [0, 0], [0, 5]], ("v", "w")),
    ],
)
def test_features_belong_to_the_node_of_their_id(read, content, rows, names):
    table = read(nodes=content)
    assert rows_of(table) == rows
    assert table.encoder.feature_names == names


def test_mostly_zero_columns_are_kept_sparse(read):
    wide = "id," + ",".join(f"f{n}" for n in range(150))
    lines = [
        f"{node}," + ",".join("1" if n == 70 + k else "0" for n in range(150))
        for k, node in enumerate("abc")
    ]
    table = read(nodes="\n".join([wide, *lines]))
    assert isinstance(table.features, sp.csr_array)
    assert table.features.indices.tolist() == [70, 71, 72]
    assert isinstance(read(nodes="id,f\na,1.5\nb,0\nc,2\n").features, np.ndarray)


def test_missing_numbers_become_the_mean_and_a_column_says_so(read):
    table = read(nodes="id,f,g,h\na,1,NA,\nb,k.A.,5,\nc,3,7,\n")
    assert table.encoder.feature_names == ("f", "g", "f (missing)", "g (missing)")
    assert rows_of(table) == [[1, 6, 0, 1], [2, 5, 1, 0], [3, 7, 0, 0]]
    assert table.encoder.only.means == {"f": 2, "g": 6}
    assert [note for note in table.notes if "left out" in note and "'h'" in note]


def test_a_node_without_a_row_gets_the_means(read):
    table = read(nodes="id,f\na,1\nb,4\n")
    assert table.encoder.feature_names == ("f", "row (missing)")
    assert rows_of(table) == [[1, 0], [4, 0], [2.5, 1]]


def test_rows_that_are_the_same_are_dropped(read):
    table = read(nodes="id,f,g\na,1,\nb,2,3\nc,3,4\nb,2.0,3\na,1,\n")
    assert rows_of(table) == [[1, 3.5, 1], [2, 3, 0], [3, 4, 0]]
    table = read(nodes="id,feature,value\na,v,1\nb,v,2\na,v,1\n")
    assert rows_of(table) == [[1], [2], [0]]


def test_a_missing_value_of_a_listed_feature_is_zero(read):
    table = read(nodes="id,feature,value\na,v,1\nb,v,n/a\nc,v,2\n")
    assert rows_of(table) == [[1], [0], [2]]


def test_three_columns_without_a_header_row_are_a_list_only_if_values_are_numbers(read):
    assert read(nodes="a,v,1\nb,v,2\n").encoder.only.listed == ("v",)
    assert read(nodes="a,1,x\nb,2,x\nc,3,x\n").encoder.types == {"2": "number", "3": "category"}


def test_features_in_parquet(read, parquet):
    rows = "(VALUES ('c', 5, true), ('a', 1, false), ('b', 2.5, true)) AS t(id, f, g)"
    table = read(nodes=parquet("x.parquet", f"SELECT * FROM {rows}"))
    assert rows_of(table) == [[1, 0], [2.5, 1], [5, 1]]
    triples = "(VALUES ('c', 'w', 5.0)) AS t(node, word, count)"
    table = read(nodes=parquet("x.parquet", f"SELECT * FROM {triples}"))
    assert rows_of(table) == [[0], [0], [5]]


def test_features_without_edges_are_kept_as_isolated_nodes(read):
    table = read("a,b\n", nodes="id,f\nz,3\na,1\nb,2\ny,4\n")
    assert table.ids.tolist() == ["a", "b", "y", "z"]
    assert table.graph.degrees.tolist() == [1, 1, 0, 0]
    assert "features.csv: 2 ids in no edge, kept as isolated nodes: 'y', 'z'" in table.notes


def test_without_columns_there_are_no_features_and_a_note_says_what_a_fit_does(read):
    table = read("hub,b\nhub,c\nhub,d\n")
    assert (table.features, table.num_features) == (None, 0)
    assert "well-connected" in table.notes[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,f\na,1\n", r"2 nodes .* without a row: 'a', 'b' .line 1.*`nodes` FILE"),
        ("id,f\na,1e39\nb,1\nc,inf\nd,2\n", r"2 cells of 'f' .*'1e39' \(line 2\), 'inf' "),
        ("id,g\nc,x\na,1\nb,1\n", r"1 cell of 'g' .*: 'x' \(line 2\).*`column_types` g=text"),
        ("id,f\na,1\nb,2\nc,3\na,2\n", r"more than once.*'a', '1' \(line 2\), 'a', '2' \("),
        ("id,f\na,1\n,2\n", r"1 row without an id: '' \(line 3\)"),
        ("id,f,f\na,1,2\n", "more than one column can be 'f'"),
        ("a,1,2\nb,3,4\n", "three columns of numbers"),
        ("id,feature,value\na,v,nan\na,,2\n", r"name of a feature: 'a', '' \(line 3\)"),
        ("id,feature,value\na,v,1\na,v,3\n", r"1 feature .*'v', '1' \(line 2\), .*'3' \(line 3\)"),
        ("id,feature,value\na,v,x\nb,w,1e39\n", r"2 cells of 'value' .*: 'x' \(line 2\), '1e39'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, content, message):
    with pytest.raises(DatasetError, match=message):
        read(nodes=content)
