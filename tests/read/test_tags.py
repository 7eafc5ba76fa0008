"""Labels that are tags: in cells, in several rows, and what is said about it."""

from __future__ import annotations

import pytest

from nodecopy.core.errors import DatasetError
from nodecopy.problem.problem import Problem

EDGES = "".join(f"n{i},n{i + 1}\n" for i in range(40))
CELLS = ["a|b", "b", "a|c", "c|b", "[]", ""]


def tags_of(table: Problem) -> dict[str, str | None]:
    return dict(zip(table.ids.tolist(), table.label_values.tolist(), strict=True))


def rows(cells: list[str], count: int = 12) -> str:
    return "id,label\n" + "".join(f"n{i},{cells[i % len(cells)]}\n" for i in range(count))


@pytest.mark.parametrize("mark", ["|", ";"])
def test_cells_with_lists_are_tags(read, mark: str) -> None:
    table = read(EDGES, rows([cell.replace("|", mark) for cell in CELLS]))
    assert table.target == "tags"
    known = tags_of(table)
    expected = dict(zip(("n0", "n1", "n2", "n3", "n4"), [*CELLS[:3], "b|c", "[]"], strict=True))
    assert {id: known[id] for id in expected} == expected
    assert known["n5"] is known["n20"] is None
    (note,) = (note for note in table.notes if "3 tags" in note)
    assert "10 nodes have known tags" in note
    assert "`target` class" in note
    assert "2 nodes have none" in note


def test_brackets_and_the_option(read) -> None:
    cells = ["\"['a', 'b']\"", "['b']", "\"['a', 'c']\"", "[]"]
    assert tags_of(read(EDGES, rows(cells)))["n0"] == "a|b"
    plain = read(EDGES, rows(["a", "b"]))
    assert plain.target == "class"
    asked = read(EDGES, rows(["a", "b"]), target="tags")
    assert (asked.target, asked.class_names) == ("tags", ("a", "b"))
    classes = read(EDGES, rows(CELLS), target="class")
    assert classes.target == "class"
    assert "a|b" in classes.class_names


def test_several_rows_of_many_ids_are_tags(read) -> None:
    text = rows(["a"]) + "".join(f"n{i},b\n" for i in range(10))
    table = read(EDGES, text)
    assert table.target == "tags"
    assert tags_of(table)["n0"] == "a|b"
    assert tags_of(table)["n11"] == "a"
    assert any("10 of 12 ids have several rows" in note for note in table.notes)


def test_few_contradictions_are_an_error_unless_tags_are_asked_for(read) -> None:
    text = rows(["a"]) + "n1,b\nn2,b\n"
    with pytest.raises(DatasetError, match="disagree.*`target` tags"):
        read(EDGES, text)
    assert tags_of(read(EDGES, text, target="tags"))["n2"] == "a|b"


def test_two_files_that_contradict_each_other_are_an_error(read, put) -> None:
    more = put("more.csv", rows(["b"]))
    first = put("first.csv", rows(["a"]))
    with pytest.raises(DatasetError, match="disagree"):
        read(EDGES, [first, more])
    assert tags_of(read(EDGES, [first, more], target="tags"))["n3"] == "a|b"


def test_a_column_of_the_nodes(read) -> None:
    nodes = "id,size,kinds,copy,has_a\n"
    for i in range(41):
        cell = CELLS[i % 6]
        nodes += f"n{i},{i % 7},{cell},{cell.replace('|', '/')},{int('a' in cell)}\n"
    table = read(EDGES, None, nodes, predict="kinds")
    assert table.target == "tags"
    assert table.encoder.feature_names == ("size",)
    became = {name: text for _, name, text in table.read}
    assert became["kinds"] == "tags"
    assert all("holds the labels" in became[name] for name in ("copy", "has_a"))
    kept = read(EDGES, None, nodes, predict="kinds", column_types=("kinds=category",))
    assert kept.target == "class"


def test_misspelt_tags_are_pointed_out(read) -> None:
    table = read(EDGES, rows(["comedy|drama", "drama", "comedy"]) + "n20,comdy|drama\n")
    assert any("'comdy' occurs once" in note for note in table.notes)
