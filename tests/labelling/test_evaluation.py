"""Predictions in a file against true labels in a file."""

from __future__ import annotations

import pytest

from nodecopy.errors import DatasetError, FormatError
from nodecopy.labelling.evaluation import ClassScore, evaluate_predictions, read_predictions

HEAD = ("id", "known", "predicted", "p_a", "p_b")
ROWS = [
    ("1", "a", "a", "0.9", "0.1"),
    ("2", "", "a", "0.8", "0.2"),
    ("3", "", "b", "0.3", "0.7"),
    ("4", "", "b", "0.4", "0.6"),
    ("5", "", "b", "0.1", "0.9"),
]


@pytest.fixture
def predictions(rows_file) -> str:
    return rows_file("predictions.csv", [HEAD, *ROWS])


def test_known_labels_do_not_count_and_foreign_classes_are_errors(predictions, rows_file):
    labels = [("1", "a"), ("2", "a"), ("3", "b"), ("4", "a"), ("5", "c")]
    found = evaluate_predictions(predictions, rows_file("t.csv", [("id", "label"), *labels]))
    assert (found.nodes, found.known, found.foreign) == (4, 1, 1)
    assert found.foreign_classes == ("c",)
    assert found.accuracy == 2 / 4
    assert found.scores.accuracy == 2 / 3
    assert found.classes == (ClassScore("a", 2, 1, 1), ClassScore("b", 1, 3, 1))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([("1", "a")], "all 1 labels were known"),
        ([("2", "x"), ("3", "y")], "classes, 'x', 'y', is one of the model's: 'a', 'b'"),
        ([("9", "a")], "1 id not in the graph"),
    ],
)
def test_labels_that_leave_nothing_to_evaluate_are_refused(predictions, rows_file, labels, message):
    with pytest.raises(DatasetError, match=message):
        evaluate_predictions(predictions, rows_file("t.csv", [("id", "label"), *labels]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b")], "is not a table of predictions"),
        ([HEAD], "has no rows"),
        ([HEAD, ("1", "", "a", "x", "0.1")], "row 1 is damaged"),
        ([HEAD, ("1", "", "a")], "row 1 is damaged"),
        ([HEAD, ("1", "", "a", "0.9", "0.9")], "must add up to 1"),
        ([HEAD, ("1", "", "a", "nan", "0.9")], "must add up to 1"),
        ([HEAD, ("1", "", "a", "-0.5", "1.5")], "must add up to 1"),
    ],
)
def test_a_file_that_is_no_table_of_predictions_is_refused(rows_file, rows, message):
    with pytest.raises(FormatError, match=message):
        read_predictions(rows_file("p.csv", rows))


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "p.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="cannot be read"):
        read_predictions(tmp_path / "p.csv")
    with pytest.raises(FormatError, match="cannot be read"):
        read_predictions(tmp_path / "none.csv")
