"""A model in a folder, applied to a graph that has grown or changed."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import DatasetError, FormatError
from nodecopy.core.saving import save
from nodecopy.problem.stored import StoredNodes
from nodecopy.result import GRAPH_FILE, MODEL_FILE, Result
from nodecopy.run import FitSettings, label_tables
from nodecopy.run.folder import TABLES_FILE, save_model
from nodecopy.run.predict import predict_tables


@pytest.fixture
def saved(labelled, tmp_path: Path) -> Path:
    save_model(labelled, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="session")
def structural(settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the same graph without features."""
    bare = FitSettings(settings.edges, settings.labels, method="fast")
    folder = tmp_path_factory.mktemp("structural") / "model"
    save_model(label_tables(bare, progress=False), folder)
    return folder


def read(path: str | Path) -> list[tuple[str, ...]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def predict(folder: Path, edges: str, features: str | None = None):
    table, predictions = predict_tables(folder, FitSettings(edges, nodes=features))
    return table, predictions.posterior


def test_the_same_tables_give_the_same_predictions(saved, settings, labelled):
    table, posterior = predict(saved, settings.edges, settings.nodes)
    assert table.ids.tolist() == labelled.result.given.ids.tolist()
    expected = labelled.result.probabilities
    # The same up to rounding: sums may depend on where in memory arrays begin.
    np.testing.assert_allclose(posterior.probabilities, expected, atol=1e-7)
    loaded = NodeCopyClassifier.load(saved)
    assert loaded.classes_.tolist() == ["=red", "blue"]
    np.testing.assert_array_equal(loaded.predict_proba(), expected)


@pytest.mark.parametrize(
    "features",
    [
        (),
        lambda n, d: (np.ones((n, d + 1), np.float32),),
        lambda n, d: (np.ones((n + 1, d), np.float32),),
        lambda n, d: (np.ones(n), np.full(n, 10**8, np.int32), np.arange(n + 1, dtype=np.int32)),
    ],
)
def test_a_graph_file_with_features_of_another_shape_is_refused(saved, labelled, features):
    given = labelled.result.given
    shape = given.num_nodes, given.num_features
    stored = StoredNodes(given.graph, features(*shape) if callable(features) else features)
    save(saved / GRAPH_FILE, stored)
    with pytest.raises(FormatError, match="do not fit together") as error:
        Result.load(saved)
    assert "\n" not in str(error.value)


def test_columns_may_come_in_another_order_and_be_more_but_not_fewer(saved, settings, rows_file):
    edges = rows_file("edges.csv", [*read(settings.edges), ("new", "b3")])
    head, *rows = read(settings.nodes)
    wider = [("id", "second", "third", "first"), *((i, b, "9", a) for i, a, b in rows)]
    features = rows_file("features.csv", [*wider, ("new", "0.5", "9", "-1.0")])
    table, posterior = predict(saved, edges, features)
    assert table.encoder.feature_names == head[1:]
    assert [note for note in table.notes if "not seen" in note and "'third'" in note]
    straight = [*read(settings.nodes), ("new", "-1.0", "0.5")]
    _, same = predict(saved, edges, rows_file("straight.csv", straight))
    np.testing.assert_array_equal(posterior.probabilities, same.probabilities)
    few = rows_file("few.csv", [row[:2] for row in read(settings.nodes)])
    with pytest.raises(DatasetError, match="missing: 'second'"):
        predict(saved, settings.edges, few)


def test_missing_values_become_the_means_of_the_fit(settings, rows_file, tmp_path: Path):
    head, *rows = read(settings.nodes)
    gaps = [(id, "NA" if n in (3, 7) else x, y) for n, (id, x, y) in enumerate(rows)]
    features = rows_file("gaps.csv", [head, *gaps])
    fitted = label_tables(replace(settings, method="fast", nodes=features))
    folder = tmp_path / "model"
    save_model(fitted, folder)
    _, again = predict(folder, settings.edges, features)
    np.testing.assert_array_equal(again.probabilities, fitted.result.probabilities)
    other = [head, *((id, "1000" if n else "", y) for n, (id, _, y) in enumerate(rows))]
    table, _ = predict(folder, settings.edges, rows_file("other.csv", other))
    first = np.asarray(table.features)[[str(id) == rows[0][0] for id in table.ids], 0]
    assert first == np.float32(fitted.result.given.encoder.only.means["first"])
    # Where nothing is missing, the column that marks missing values is zero.
    table, _ = predict(folder, settings.edges, settings.nodes)
    assert np.asarray(table.features)[:, 2].tolist() == [0] * 20


def test_a_missing_sparse_feature_is_zero(settings, rows_file, tmp_path: Path):
    head, *rows = read(settings.nodes)
    title = ("id", "feature", "value")
    triples = [(i, name, x) for i, *xs in rows for name, x in zip(head[1:], xs, strict=True)]
    sparse = rows_file("triples.csv", [title, *triples])
    folder = tmp_path / "model"
    save_model(label_tables(replace(settings, method="fast", nodes=sparse), progress=False), folder)
    less = rows_file("a.csv", [title, *(row for row in triples if row[1] == "second")])
    zeros = [(i, name, x if name == "second" else "0") for i, name, x in triples]
    _, one = predict(folder, settings.edges, less)
    _, two = predict(folder, settings.edges, rows_file("b.csv", [title, *zeros]))
    np.testing.assert_array_equal(one.probabilities, two.probabilities)


def test_without_features_links_to_nodes_are_matched_by_id(structural, settings, rows_file):
    _, same = predict(structural, settings.edges)
    expected = Result.load(structural).probabilities
    np.testing.assert_allclose(same.probabilities, expected, rtol=1e-5)
    fewer = rows_file("fewer.csv", [row for row in read(settings.edges) if "ß" not in row])
    predict(structural, fewer)
    other = rows_file("other.csv", [("source", "target"), ("p", "q"), ("q", "r")])
    with pytest.raises(DatasetError, match="none of the nodes"):
        predict(structural, other)


def test_features_where_there_were_none_and_the_other_way_round(saved, structural, settings):
    with pytest.raises(DatasetError, match="add --nodes"):
        predict(saved, settings.edges)
    with pytest.raises(DatasetError, match="fitted without .*leave out"):
        predict(structural, settings.edges, settings.nodes)


@pytest.mark.parametrize("described", [True, False])
def test_new_nodes_elsewhere_change_nothing_wherever_their_ids_sort(
    saved, structural, settings, labelled, rows_file, described
):
    folder, features = saved if described else structural, None
    before = Result.load(folder).probabilities
    if described:
        new = [(id, "1", "-1") for id in ("!0", "~~", "m0")]
        features = rows_file("more.csv", [*read(settings.nodes), *new])
    edges = [*read(settings.edges), ("!0", "~~"), ("~~", "m0")]
    table, posterior = predict(folder, rows_file("more_edges.csv", edges), features)
    place = {str(id): n for n, id in enumerate(table.ids)}
    old = [place[str(id)] for id in labelled.result.given.ids]
    assert old != list(range(len(old)))
    np.testing.assert_allclose(posterior.probabilities[old], before, atol=1e-6)
    assert f"3 of {len(table.ids)} nodes are new" in table.notes


def test_a_damaged_folder_is_refused(saved):
    result = Result.load(saved)
    given = result.given
    fewer = replace(
        given.for_file(), labels=given.labels[1:], names=given.names[1:], name_arrays={}
    )
    save(saved / MODEL_FILE, replace(result, given=fewer))
    with pytest.raises(FormatError, match="19 labels"):
        Result.load(saved)


@pytest.mark.parametrize("name", [TABLES_FILE, MODEL_FILE])
def test_a_folder_that_lacks_a_file_is_refused(saved, settings, name):
    (saved / name).unlink()
    with pytest.raises(FormatError, match="cannot read"):
        predict(saved, settings.edges, settings.nodes)
