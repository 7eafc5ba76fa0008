"""What is wrong with all files is said at once, by `nodecopy inspect` and in the error."""

from __future__ import annotations

import pickle

import pytest

from nodecopy import cli
from nodecopy.errors import DatasetError, TablesError

EDGES = "source,target,weight\na,b,-1\nb,,2\nc,d,x\n"
LABELS = "id,label\na,x\na,y\nq,z\nb,X\n"
FEATURES = "id,f,g\na,1,old\n,2,3\nb,1,2\nb,2,2\n"


def test_all_problems_of_all_files_are_found(read):
    with pytest.raises(TablesError) as raised:
        read(EDGES, "id,label\n,x\nb,y,z\n", FEATURES)
    said = [problem.rpartition("/")[2] for problem in raised.value.problems]
    beginnings = [
        "edges.csv: 1 row without two ids: 'b', '' (line 3)",
        "edges.csv: 2 weights missing, negative",
        "features.csv: 1 row without an id: '' (line 3)",
        "features.csv: 1 cell of 'g' that cannot be read",
        "features.csv: 1 id given more than once, with different numbers: 'b', '1', '2' (line 4)",
        "labels.csv: 1 line cannot be read: line 3 has 3 cells instead of 2",
    ]
    assert [one[: len(two)] for one, two in zip(said, beginnings, strict=True)] == beginnings
    message = str(raised.value)
    assert message.endswith("(and 5 more problems, which nodecopy inspect shows)")
    assert "\n" not in message
    assert pickle.loads(pickle.dumps(raised.value)).problems == raised.value.problems


def test_what_does_not_fit_together_is_found_at_once(read):
    with pytest.raises(TablesError) as raised:
        read("a,b\nb,c\n", LABELS, "id,f\n01,2\n")
    said = " / ".join(raised.value.problems)
    assert len(raised.value.problems) == 4
    assert "1 id not in the graph: 'q' (line 4)" in said
    assert "differ in nothing but case or the encoding of accents: 'X' and 'x'" in said
    assert "1 id with labels that disagree: 'a', 'x' (line 2), 'a', 'y' (line 3)" in said
    assert "3 nodes of" in said


def test_inspect_lists_all_problems(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in (("e.csv", EDGES), ("l.csv", "a\n"), ("f.csv", FEATURES)):
        (tmp_path / name).write_text(content)
    words = ["--edges=e.csv", "--labels=l.csv", "--labels=none.csv", "--features=f.csv"]
    assert cli.main(["inspect", *words]) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == ""
    assert all(line.startswith("error: ") for line in lines)
    assert len(lines) == 7
    assert "error: none.csv does not exist" in lines
    assert cli.main(["fit", *words, "--out=run"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_several_files_of_labels_are_one(read, put):
    files = [put("one.csv", "id,label\na,x\nb,\n"), put("two.csv", "rank,id,label\n1,b,y\n2,c,\n")]
    table = read("a,b\nb,c\n", files)
    assert table.dataset.labels.tolist() == [0, 1, -1]
    same = [*files, put("three.csv", "customer,segment\na,x\n")]
    columns = {"label_columns": ["customer", "segment"]}
    assert read("a,b\nb,c\n", same, **columns).dataset.labels.tolist() == [0, 1, -1]
    with pytest.raises(
        DatasetError,
        match=r"1 id with labels that disagree: 'a', 'x' \(line 2\); .*four.csv: 'a', 'y' \(",
    ):
        read("a,b\nb,c\n", [files[0], put("four.csv", "id,label\na,y\n")])
    with pytest.raises(DatasetError, match=r"one.csv and .*five.csv holds no label"):
        read("a,b\nb,c\n", [put("one.csv", "id,label\na,\n"), put("five.csv", "id,label\nb,\n")])


def test_an_empty_list_to_fill_in_is_no_problem(read, put):
    files = [put("known.csv", "id,label\na,x\nb,y\n"), put("next.csv", "rank,id,label\n1,c,\n")]
    assert read("a,b\nb,c\n", files).dataset.labels.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "klingon"}, "unknown encoding 'klingon'; accepted: utf-8, utf-16"),
        ({"encoding": "base64"}, "unknown encoding 'base64'"),
        ({"encoding": "utf-16"}, "is not text in utf-16"),
        ({"encoding": "ascii"}, "is not text in ascii"),
        ({"decimal": ";"}, "decimal must be '.' or ','; got ';'"),
        ({"na_values": "NA"}, "na_values must be a list of words; got 'NA'"),
        ({"missing": "drop"}, "unknown missing 'drop'; accepted: impute, refuse"),
    ],
)
def test_ways_to_read_that_do_not_exist_are_refused(read, options, message):
    with pytest.raises(ValueError, match=message):
        read("ä,b\nb,c\n", **options)
