"""A model in a folder, applied to a graph that has grown."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.errors import DatasetError, FormatError
from nodecopy.labelling import FitSettings, label_tables
from nodecopy.labelling.model_folder import IDS_FILE, MODEL_FILE, TABLES_FILE, ModelFolder


@pytest.fixture
def saved(labelled, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    ModelFolder.of(labelled).save(folder)
    return folder


def read(path: str | Path) -> list[tuple[str, ...]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def test_the_same_tables_give_the_same_predictions(saved, settings, labelled):
    table, posterior = ModelFolder.load(saved).predict(settings.edges, settings.features)
    assert table.ids.tolist() == labelled.table.ids.tolist()
    assert np.array_equal(posterior.probabilities, labelled.posterior.probabilities)


def test_the_estimator_loads_the_folder(saved, labelled):
    loaded = NodeCopyClassifier.load(saved)
    assert loaded.classes_.tolist() == ["=red", "blue"]
    assert np.array_equal(loaded.predict_proba(), labelled.posterior.probabilities)


def test_a_grown_graph_with_columns_in_another_order_and_one_more(saved, settings, rows_file):
    edges = rows_file("edges.csv", [*read(settings.edges), ("new", "b3")])
    head, *rows = read(settings.features)
    wider = [("id", "second", "third", "first"), *((i, b, "9", a) for i, a, b in rows)]
    features = rows_file("features.csv", [*wider, ("new", "0.5", "9", "-1.0")])
    table, posterior = ModelFolder.load(saved).predict(edges, features)
    assert "new" in table.ids.tolist()
    assert table.feature_names == head[1:]
    assert table.notes[-1] == "1 features that the model has not seen were left out: 'third'"
    straight = [*read(settings.features), ("new", "-1.0", "0.5")]
    _, same = ModelFolder.load(saved).predict(edges, rows_file("straight.csv", straight))
    assert np.array_equal(posterior.probabilities, same.probabilities)


def test_repeated_edges_are_read_as_they_were_for_the_fit(settings, rows_file, tmp_path: Path):
    edges = rows_file("edges.csv", [*read(settings.edges), *read(settings.edges)[1:9]])
    changes = {"edges": edges, "n_zeta": 1}
    found = {}
    for way in ("largest", "sum"):
        fitted = label_tables(replace(settings, repeated_edges=way, **changes))
        ModelFolder.of(fitted).save(tmp_path)
        _, found[way] = ModelFolder.load(tmp_path).predict(edges, settings.features)
        np.testing.assert_array_equal(found[way].probabilities, fitted.posterior.probabilities)
    assert not np.allclose(found["sum"].probabilities, found["largest"].probabilities)
    content = json.loads((tmp_path / TABLES_FILE).read_text())
    (tmp_path / TABLES_FILE).write_text(json.dumps(content | {"repeated_edges": ["sum"]}))
    with pytest.raises(FormatError, match=r"unknown repeated_edges \['sum'\]"):
        ModelFolder.load(tmp_path)


def test_missing_numbers_become_the_means_of_the_fit(settings, rows_file, tmp_path: Path):
    head, *rows = read(settings.features)
    gaps = [(id, "NA" if n in (3, 7) else x, y) for n, (id, x, y) in enumerate(rows)]
    features = rows_file("gaps.csv", [head, *gaps])
    found = label_tables(replace(settings, features=features, n_zeta=1))
    assert found.table.feature_names == ("first", "second", "first (missing)")
    ModelFolder.of(found).save(tmp_path)
    folder = ModelFolder.load(tmp_path)
    _, again = folder.predict(settings.edges, features)
    np.testing.assert_array_equal(again.probabilities, found.posterior.probabilities)
    # What is missing elsewhere becomes the mean of the fit, and nothing missing needs no column.
    other = rows_file(
        "other.csv", [head, *((id, "1000" if n else "", y) for n, (id, _, y) in enumerate(rows))]
    )
    table, _ = folder.predict(settings.edges, other)
    first = np.asarray(table.dataset.features)[[str(id) == rows[0][0] for id in table.ids], 0]
    assert first == np.float32(found.table.filled["first"])
    table, _ = folder.predict(settings.edges, settings.features)
    assert np.asarray(table.dataset.features)[:, 2].tolist() == [0] * 20
    content = json.loads((tmp_path / TABLES_FILE).read_text())
    (tmp_path / TABLES_FILE).write_text(json.dumps(content | {"filled": {"first": "x"}}))
    with pytest.raises(FormatError, match="'filled' must be finite numbers by the names"):
        ModelFolder.load(tmp_path)


def test_a_missing_column_is_an_error_that_names_it(saved, settings, rows_file):
    features = rows_file("few.csv", [row[:2] for row in read(settings.features)])
    with pytest.raises(DatasetError, match="1 features that the model was fitted to .*'second'"):
        ModelFolder.load(saved).predict(settings.edges, features)


def test_a_missing_sparse_feature_is_zero(settings, rows_file, tmp_path):
    head, *rows = read(settings.features)
    triples = [(i, name, x) for i, *xs in rows for name, x in zip(head[1:], xs, strict=True)]
    sparse = rows_file("triples.csv", [("id", "feature", "value"), *triples])
    quick = FitSettings(settings.edges, settings.labels, sparse, n_zeta=1)
    found = label_tables(quick, progress=False)
    folder = ModelFolder(found.classifier, found.table.feature_names, structural=False)
    less = [row for row in triples if row[1] == "second"]
    zeros = [(i, name, x if name == "second" else "0") for i, name, x in triples]
    one = folder.predict(settings.edges, rows_file("a.csv", [("id", "feature", "value"), *less]))[1]
    two = folder.predict(settings.edges, rows_file("b.csv", [("id", "feature", "value"), *zeros]))[
        1
    ]
    assert np.array_equal(one.probabilities, two.probabilities)


def test_without_features_the_ties_keep_their_meaning(settings, rows_file):
    quick = FitSettings(settings.edges, settings.labels, n_zeta=1)
    found = label_tables(quick, progress=False)
    folder = ModelFolder(found.classifier, found.table.feature_names, structural=True)
    _, same = folder.predict(settings.edges)
    assert np.array_equal(same.probabilities, found.posterior.probabilities)
    fewer = rows_file("fewer.csv", [row for row in read(settings.edges) if "ß" not in row])
    table, _ = folder.predict(fewer)
    assert table.notes[-1].endswith("not in this graph: 'ß'")


def test_a_graph_without_any_known_node_is_refused_where_ties_are_the_features(settings, rows_file):
    quick = FitSettings(settings.edges, settings.labels, n_zeta=1)
    folder = ModelFolder.of(label_tables(quick, progress=False))
    other = rows_file("other.csv", [("source", "target"), ("p", "q"), ("q", "r")])
    with pytest.raises(DatasetError, match="none of the nodes that the model knows is in this"):
        folder.predict(other)


def test_features_where_none_were_or_none_where_some_were_is_refused(saved, settings, labelled):
    with pytest.raises(DatasetError, match="a file of features is missing"):
        ModelFolder.load(saved).predict(settings.edges)
    bare = ModelFolder(labelled.classifier, labelled.table.feature_names, structural=True)
    with pytest.raises(DatasetError, match="fitted without features"):
        bare.predict(settings.edges, settings.features)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": "nodecopy tables", "version": 2}',
        '{"format": "nodecopy tables", "version": 1}',
        '{"format": "nodecopy tables", "version": 1, "feature_names": ["a"]}',
        '{"format": "nodecopy tables", "version": 1, "feature_names": ["a"], "structural": true}',
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(saved, content):
    (saved / TABLES_FILE).write_text(content)
    with pytest.raises(FormatError, match=TABLES_FILE):
        ModelFolder.load(saved)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("known", ["a"], "lacks 'known'"),
        ("known", {"a": 1}, "lacks 'known'"),
        ("known", None, "lacks 'known'"),
        ("ids", ["a", 1], "lacks the ids"),
        ("ids", ["a"] * 20, "repeats one of the ids"),
        ("ids", ["a"], "names 1 nodes; the model has 20"),
        ("feature_names", "first", "lacks the names"),
        ("feature_names", ["first", "first"], "repeats one of the names"),
        ("structural", 1, "lacks 'structural'"),
        ("version", [[[]]], "is of version"),
    ],
)
def test_tables_json_with_a_wrong_value_is_refused(saved, key, value, message):
    content = json.loads((saved / TABLES_FILE).read_text("utf-8")) | {key: value}
    if key == "ids":  # which were there in version 2
        content |= {"version": 2}
    (saved / TABLES_FILE).write_text(json.dumps(content), "utf-8")
    with pytest.raises(FormatError, match=message):
        ModelFolder.load(saved)


def test_a_folder_of_version_2_has_its_ids_in_tables_json(saved, labelled, settings):
    file = saved / TABLES_FILE
    before = ModelFolder.load(saved).predict(settings.edges, settings.features)
    content = json.loads(file.read_text("utf-8"))
    assert "ids" not in content
    ids = {"version": 2, "ids": [str(id) for id in labelled.table.ids]}
    file.write_text(json.dumps(content | ids), "utf-8")
    (saved / IDS_FILE).unlink()
    after = ModelFolder.load(saved).predict(settings.edges, settings.features)
    assert np.array_equal(before[1].probabilities, after[1].probabilities)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"ids": np.arange(3)}, "ids.npz names 3 nodes; the model has 20"),
        ({"ids": np.zeros(20, np.int64)}, "ids.npz is damaged: it holds no ids"),
        ({"ids": np.arange(20.0)}, "ids.npz is damaged: it holds no ids"),
        ({"id_text": np.zeros(9, np.uint8)}, "cannot read .*ids.npz"),
        (
            {"id_text": np.zeros(9, np.uint8), "id_offsets": np.arange(21)},
            "ids.npz is damaged: it holds no ids",
        ),
        (
            {"id_text": np.ones(20, np.uint8), "id_offsets": np.arange(21)},
            "ids.npz is damaged: it holds no ids",
        ),
        ({"ids": np.array([None])}, "cannot read .*ids.npz"),
    ],
)
def test_damaged_ids_are_refused(saved, arrays, message):
    np.savez(saved / IDS_FILE, **arrays)
    with pytest.raises(FormatError, match=message):
        ModelFolder.load(saved)


def test_ids_that_are_cut_short_or_missing_are_refused(saved):
    content = (saved / IDS_FILE).read_bytes()
    for length in (0, 10, len(content) - 30):
        (saved / IDS_FILE).write_bytes(content[:length])
        with pytest.raises(FormatError, match="cannot read .*ids.npz"):
            ModelFolder.load(saved)
    (saved / IDS_FILE).unlink()
    with pytest.raises(FormatError, match="lacks ids.npz"):
        ModelFolder.load(saved)


def test_tables_json_that_is_nested_without_end_is_refused(saved):
    (saved / TABLES_FILE).write_text("[" * 100_000)
    with pytest.raises(FormatError, match="cannot read .*tables.json"):
        ModelFolder.load(saved)


def test_a_folder_that_is_not_there_or_holds_no_model_is_refused(saved, tmp_path):
    with pytest.raises(FormatError, match="there is no folder"):
        ModelFolder.load(tmp_path / "none")
    (saved / MODEL_FILE).unlink()
    with pytest.raises(FormatError, match="cannot read the model"):
        ModelFolder.load(saved)


def test_the_names_of_features_are_kept_as_they_are(saved):
    assert json.loads((saved / TABLES_FILE).read_text("utf-8"))["feature_names"] == [
        "first",
        "second",
    ]


def test_a_folder_without_its_tables_is_refused(saved):
    (saved / TABLES_FILE).unlink()
    with pytest.raises(FormatError, match="model lacks tables.json, which nodecopy fit writes"):
        ModelFolder.load(saved)


@pytest.mark.parametrize("structural", [False, True])
def test_new_nodes_elsewhere_change_nothing_wherever_their_ids_stand(
    saved, settings, labelled, rows_file, structural
):
    folder, features = ModelFolder.load(saved), settings.features
    if structural:
        bare = FitSettings(settings.edges, settings.labels, n_zeta=2)
        folder, features = ModelFolder.of(label_tables(bare, progress=False)), None
    before = folder.classifier.posterior_.probabilities
    edges = [*read(settings.edges), ("!0", "~~"), ("~~", "m0")]
    if features is not None:
        new = [(id, "1", "-1") for id in ("!0", "~~", "m0")]
        features = rows_file("more.csv", [*read(features), *new])
    table, posterior = folder.predict(rows_file("more_edges.csv", edges), features)
    place = {str(id): n for n, id in enumerate(table.ids)}
    old = [place[str(id)] for id in labelled.table.ids]
    assert old != list(range(len(old)))
    np.testing.assert_allclose(posterior.probabilities[old], before, atol=1e-6)
    total = len(table.ids)
    untold = ", 3 of them without a feature or a path to one" if structural else ""
    assert f"3 of {total} nodes are new{untold}" in table.notes


def test_a_node_that_is_gone_changes_nothing_elsewhere(settings, rows_file, tmp_path):
    paper = replace(settings, preset="paper", n_weights=2, epochs=20)
    labelled = label_tables(paper, progress=False)
    ModelFolder.of(labelled).save(saved := tmp_path)
    graph, ids = labelled.table.dataset.graph, [str(id) for id in labelled.table.ids]
    reached = graph.k_hop([3], 3)
    edges = [row for row in read(settings.edges) if ids[3] not in row]
    features = [row for row in read(settings.features) if row[0] != ids[3]]
    table, posterior = ModelFolder.load(saved).predict(
        rows_file("fewer_edges.csv", edges), rows_file("fewer.csv", features)
    )
    place = {str(id): n for n, id in enumerate(table.ids)}
    far = [n for n in range(len(ids)) if n not in reached]
    assert far
    found = posterior.probabilities[[place[ids[n]] for n in far]]
    np.testing.assert_allclose(found, labelled.posterior.probabilities[far], atol=1e-6)
