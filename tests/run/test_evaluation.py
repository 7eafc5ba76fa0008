"""Predictions in a file against true labels in a file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.errors import DatasetError, FormatError
from nodecopy.run.evaluation import ClassScore, SetScore, evaluate_predictions
from nodecopy.run.predictions import read_predictions, set_texts, split_set

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
    labels = [("1", "a"), ("2", "a"), ("3", "c"), ("4", "a"), ("5", "B")]
    result = evaluate_predictions(predictions, rows_file("t.csv", [("id", "label"), *labels]))
    assert (result.nodes, result.known, result.foreign) == (4, 1, 2)
    assert set(result.foreign_classes) == {"B", "c"}
    assert result.accuracy == 1 / 4
    assert result.scores.accuracy == 1 / 2
    assert result.classes == (ClassScore("a", 2, 1, 1), ClassScore("b", 0, 3, 0))


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
        ([HEAD], "needs rows"),
        ([HEAD, ("1", "", "a", "x", "0.1")], "is damaged"),
        ([HEAD, ("1", "", "a")], "row 1 is damaged"),
        ([HEAD, ("1", "", "a", "0.9", "0.9")], "must add up to 1"),
        ([HEAD, ("1", "", "a", "nan", "0.9")], "must add up to 1"),
        ([HEAD, ("1", "", "a", "-0.5", "1.5")], "must add up to 1"),
    ],
)
def test_a_file_that_is_no_table_of_predictions_is_refused(rows_file, rows, message):
    with pytest.raises(FormatError, match=message):
        read_predictions(rows_file("p.csv", rows))


def test_sets_are_scored_and_hold_no_foreign_class(rows_file):
    sets = ["a", "a|b", "b", "b", "b|a"]
    rows = [(*row, text) for row, text in zip(ROWS, sets, strict=True)]
    file = rows_file("p.csv", [(*HEAD, "set_97.5"), *rows])
    labels = [("1", "b"), ("2", "b"), ("3", "b"), ("4", "a"), ("5", "c")]
    result = evaluate_predictions(file, rows_file("t.csv", [("id", "label"), *labels])).sets
    assert result == SetScore(0.975, 2 / 4, (2 + 1 + 1 + 2) / 4)


def test_a_set_of_something_else_than_classes_is_refused(rows_file):
    rows = [(*row, text) for row, text in zip(ROWS, ["a", "a|x", "b", "b", "a"], strict=True)]
    with pytest.raises(FormatError, match="damaged: 'x'"):
        read_predictions(rows_file("p.csv", [(*HEAD, "set_90"), *rows]))


@given(st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True), st.data())
def test_any_names_of_classes_come_back_from_the_text_of_a_set(names, data):
    held = np.array([data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))])
    p = np.arange(len(names), 0, -1)[None] / 100
    (text,) = set_texts(held, p, names)
    assert split_set(text) == [name for name, inside in zip(names, held[0], strict=True) if inside]
