"""Columns of any type become features, alike for the table they were fitted to and for others."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import DatasetError
from nodecopy.core.saving import load, save
from nodecopy.features.column_encoder import ColumnEncoder
from nodecopy.features.columns import columns_of_frame
from nodecopy.read.synthetic import planted_partition

MONTHS = pd.to_datetime(
    ["2020-01-31", "2020-07-01", None, "2021-01-15", "2020-04-02", "2020-10-09"]
)
FRAME = pd.DataFrame(
    {
        "age": [30, np.nan, 50, 40, 20, 60],
        "city": ["Köln", "Köln", "Ulm", None, "Ulm", "Ulm"],
        "active": [True, False, True, True, False, False],
        "joined": MONTHS,
        "notes": [
            f"{word} and some more words" for word in ("red", "red", "blue", "blue", "", "x")
        ],
        "code": list("abcdef"),
    }
)


def encoded(frame: pd.DataFrame) -> tuple[ColumnEncoder, np.ndarray]:
    columns = columns_of_frame(frame)
    encoder = ColumnEncoder.fit(columns)
    values = encoder.apply(columns)
    return encoder, values.toarray() if sp.issparse(values) else values


def test_types_are_found_by_types_and_values():
    encoder, _ = encoded(FRAME)
    assert encoder.types == {
        "age": "number",
        "city": "category",
        "active": "boolean",
        "joined": "date",
        "notes": "text",
        "code": "skip",
    }
    assert "6 different values" in encoder.made["code"]
    assert encoder.made["age"] == "number, 1 missing"
    named, _ = encoded(FRAME.rename(columns={"code": "user_name"}))
    assert named.types["user_name"] == "name"


def test_numbers_alone_are_kept_with_means_and_marks():
    encoder, values = encoded(FRAME[["age", "active"]])
    assert encoder.feature_names == ("age", "active", "age (missing)")
    assert values[:3].tolist() == [[30, 1, 0], [40, 0, 1], [50, 1, 0]]


def test_dates_are_years_and_points_on_circles():
    encoder, values = encoded(FRAME[["joined"]])
    years, cos, sin = values[:, 0], values[:, 1], values[:, 2]
    assert encoder.feature_names[:3] == ("joined", "joined (month, cos)", "joined (month, sin)")
    assert years[0] == pytest.approx(50.08, abs=0.01)
    np.testing.assert_allclose([cos[0], sin[0], cos[1], sin[4]], [1, 0, -1, 1], atol=1e-6)
    same_day = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    assert "day (month, cos)" not in encoded(same_day)[0].feature_names


def test_a_category_has_its_values_a_rare_one_and_missing():
    cities = pd.DataFrame({"city": ["Ulm"] * 3 + ["Köln"] * 2 + ["Bonn", None, "Trier"]})
    encoder, values = encoded(cities.astype("category"))
    names = [name.removeprefix("city = ") for name in encoder.feature_names]
    assert names == ["Ulm", "Köln", "(other)", "(missing)"]
    assert values.argmax(1).tolist() == [0, 0, 0, 1, 1, 2, 3, 2]
    new = columns_of_frame(pd.DataFrame({"city": ["Rome", "Ulm"]}), encoder.types)
    assert encoder.apply(new).toarray().argmax(1).tolist() == [2, 0]


def test_every_block_has_rows_of_the_same_length():
    encoder, values = encoded(FRAME)
    assert len(encoder.widths) == 3
    start = 0
    for width in encoder.widths:
        lengths = np.linalg.norm(values[:, start : start + width], axis=1)
        np.testing.assert_allclose(lengths[lengths > 0], 3**-0.5, rtol=1e-5)
        start += width


def test_a_saved_encoder_does_the_same_to_parts_in_any_order(tmp_path: Path):
    encoder, values = encoded(FRAME)
    save(tmp_path / "encoder", encoder)
    again = load(tmp_path / "encoder", ColumnEncoder)
    part = FRAME[list(reversed(FRAME.columns))].iloc[[4, 0]].assign(new="x")
    rows = again.apply(columns_of_frame(part, again.types)).toarray()
    np.testing.assert_allclose(rows, values[[4, 0]], atol=1e-6)
    with pytest.raises(DatasetError, match="'age'"):
        again.apply(columns_of_frame(FRAME.drop(columns="age"), again.types))


def test_what_cannot_be_used_is_said():
    with pytest.raises(DatasetError, match="'code': an id"):
        encoded(FRAME[["code"]])
    with pytest.raises(DatasetError, match="more than one column 'age'"):
        columns_of_frame(FRAME[["age", "age"]])


def test_a_classifier_takes_mixed_columns_and_remembers_them(tmp_path: Path):
    data = planted_partition(120, 2, seed=1)
    rng, truth = np.random.default_rng(0), data.labels
    words = np.array([["apple pear", "plum cherry"], ["nut almond", "walnut pecan"]])
    frame = pd.DataFrame(
        {
            "text": words[truth, rng.integers(2, size=120)],
            "noise": np.where(rng.random(120) < 0.1, np.nan, rng.normal(size=120)),
            "city": rng.choice(["a", "b", "c"], 120),
        }
    )
    y = np.where(np.arange(120) < 20, truth, -1)
    clf = NodeCopyClassifier("fast", random_state=0).fit(data.graph, frame, y)
    assert np.mean(clf.predict() == truth) > 0.9
    clf.save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    same = loaded.predict_on(data.graph, frame).probabilities
    np.testing.assert_allclose(same, clf.predict_proba(), atol=1e-6)
    more = {node: truth[node] for node in range(20, 40)}
    every = NodeCopyClassifier("fast", random_state=0)
    every.fit(data.graph, frame, np.where(np.arange(120) < 40, truth, -1))
    np.testing.assert_array_equal(clf.add_labels(more).predict_proba(), every.predict_proba())


def test_a_polars_frame_is_read_as_a_pandas_one() -> None:
    polars = pytest.importorskip("polars")
    cells = {
        "age": [31.0, None, 28.0, 52.0],
        "member": [True, False, None, True],
        "city": ["Köln", "Hof", "Köln", None],
        "since": [date(2020, 1, day) for day in (1, 2, 3, 4)],
    }
    pandas, other = columns_of_frame(pd.DataFrame(cells)), columns_of_frame(polars.DataFrame(cells))
    assert pandas.types == other.types
    first, second = (ColumnEncoder.fit(columns) for columns in (pandas, other))
    assert first.made == second.made
    np.testing.assert_array_equal(
        first.apply(pandas).toarray(), second.apply(other).toarray(), strict=True
    )


TEN = ["ok"] * 5 + ["fraud"] * 5


@pytest.mark.parametrize(
    ("column", "labels", "held"),
    [
        (["Hi", "Ho", "Hi", "Ho"], ["Hi", "Ho", None, None], True),  # the truth, known everywhere
        (["Ho", "Hi", "Hi", "Ho"], ["Hi", "Ho", None, None], False),
        ([0, 1, np.nan, np.nan], [0, 1, None, None], True),  # one table as labels and as nodes
        ([True, True, False, None], ["yes", "yes", "no", None], True),
        ([0, 1, -1, -1], [0, 1, None, None], True),
        ([0, 1, 1, 0], [0, 1, None, None], False),  # by chance, perhaps
        ([31, 45, 28, 50], ["a", "b", None, None], False),  # a value for each of few labels
        ([31, 45, np.nan, np.nan], ["a", "b", None, None], False),
        ([0] * 5 + [1] * 5 + [0, 1], [*TEN, None, None], True),
        ([False] * 5 + [True] * 5 + [False] * 30, TEN + [None] * 30, True),
        (["n"] * 5 + ["y"] * 5 + ["n", "y"], [*TEN, None, None], True),
        ([None] * 5 + ["x"] * 5 + [None] * 9, TEN + [None] * 9, True),
        ([0] * 5 + [1] * 4 + [0, 1], [*TEN, None], False),  # not on all of them
        ([0] * 3 + [1, 1] + [0, 1] * 9, ["ok"] * 3 + ["fraud"] * 2 + [None] * 18, False),
        ([0] * 3 + [1, 1] + [0] * 18, ["ok"] * 3 + ["fraud"] * 2 + [None] * 18, True),  # a mark
        ([*range(10), 3, 4], [*TEN, None, None], False),
    ],
)
def test_columns_that_hold_the_labels(column, labels, held):
    columns = columns_of_frame(pd.DataFrame({"x": column}))
    assert columns.holding(np.array(labels, object)) == ["x"] * held


def test_columns_that_agree_with_few_labels_by_chance_are_kept():
    """Of a thousand independent columns of two values, eight agree with ten labels."""
    words = np.random.default_rng(0).integers(2, size=(200, 3000))
    columns = columns_of_frame(pd.DataFrame(words).assign(leak=[0] * 5 + [1] * 5 + [0] * 190))
    assert columns.holding(np.array([*TEN, *[None] * 190], object)) == ["leak"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_empty_string_is_a_missing_cell(library: str) -> None:
    frame = pytest.importorskip(library).DataFrame
    texts = [f"the number {n} in words" if n % 3 == 0 else "" for n in range(30)]
    gaps = columns_of_frame(frame({"text": texts, "size": ["", " ", *map(str, range(28))]}))
    whole = columns_of_frame(frame({"text": [text or None for text in texts]}))
    assert gaps.types["text"] == whole.types["text"] == "text"
    np.testing.assert_array_equal(gaps.values["text"], whole.values["text"])
    assert gaps.values["size"][:2].tolist() == [None, None]
