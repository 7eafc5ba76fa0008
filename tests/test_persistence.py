"""Saved models come back bit for bit, and nothing else is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sklearn.linear_model import LogisticRegression

from nodecopy.classifiers import (
    FeatureClassifier,
    GCNClassifier,
    LabelPropagation,
    NetworkClassifier,
)
from nodecopy.errors import FormatError, ModelError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.graph_models import (
    MMSBM,
    CallableDonors,
    NearestNeighbours,
    NodeCopying,
    ObservedGraph,
    SoftClass,
)
from nodecopy.nn.cheb import ChebNet
from nodecopy.nn.gat import GAT
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing
from nodecopy.persistence import SavedModel, decode, encode, write_model
from nodecopy.posterior import BayesianGCN, OnlineSchedule
from nodecopy.weights import (
    SGLD,
    Laplace,
    MCDropout,
    MeanField,
    PointEstimate,
    SquaredError,
    WeightPosterior,
)
from nodecopy.weights.descent import TrainConfig
from nodecopy.weights.stopping import Patience
from tests.problems import make_task, true_labels

TASK = make_task()
Y = np.array(["x", "y", "z"])[true_labels(TASK)].astype(object)
Y[np.setdiff1d(np.arange(90), TASK.train)] = None
SHORT = TrainConfig(epochs=10)


def fitted(**settings: object) -> NodeCopyClassifier:
    clf = NodeCopyClassifier(
        "paper", n_zeta=2, n_weights=2, training=SHORT, random_state=0, **settings
    )
    return clf.fit(TASK.graph, TASK.features, Y)


@pytest.mark.parametrize("network", [None, GCN((4, 3), bias=True), ChebNet((4,), 2), GAT((2,), 2)])
def test_a_loaded_model_predicts_bit_for_bit(network: GCN | None, tmp_path: Path) -> None:
    clf = fitted(network=network)
    path = tmp_path / "model.safetensors"
    clf.save(path)
    loaded = NodeCopyClassifier.load(path)
    assert repr(loaded) == repr(clf)
    np.testing.assert_array_equal(loaded.predict(), clf.predict())
    np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())
    np.testing.assert_array_equal(loaded.uncertainty().entropy, clf.uncertainty().entropy)
    np.testing.assert_array_equal(loaded.base_proba_, clf.base_proba_)
    there = loaded.posterior_on(TASK.graph, TASK.features)
    here = clf.posterior_on(TASK.graph, TASK.features)
    np.testing.assert_array_equal(there.probabilities, here.probabilities)
    np.testing.assert_array_equal(here.probabilities, clf.predict_proba())
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize(
    "weights", [SGLD(burn_in=5, thinning=2), MeanField(epochs=5), Laplace(epochs=5)], ids=repr
)
def test_stored_draws_come_back_bit_for_bit(weights: WeightPosterior, tmp_path: Path) -> None:
    base = GCNClassifier(training=SHORT)
    clf = NodeCopyClassifier(
        "paper", n_zeta=2, n_weights=3, base=base, weights=weights, random_state=0
    )
    clf.fit(TASK.graph, TASK.features, Y).save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    assert repr(loaded) == repr(clf)
    assert loaded.samples_.num_draws == 3
    there = loaded.posterior_on(TASK.graph, TASK.features)
    np.testing.assert_array_equal(there.probabilities, clf.predict_proba())
    assert clf.uncertainty().weight_information.max() > 1e-6


@pytest.mark.parametrize("labels", [[3, 10, 11], [True, False, True], [0.0, 1.0, 2.0]])
def test_classes_of_any_type_come_back(labels: list[object], tmp_path: Path) -> None:
    y = np.array(labels, object)[true_labels(TASK)]
    y[np.setdiff1d(np.arange(90), TASK.train)] = None
    clf = NodeCopyClassifier("paper", n_zeta=1, n_weights=1, training=SHORT, random_state=0)
    clf.fit(TASK.graph, TASK.features, y).save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    assert loaded.classes_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(), clf.predict())


@pytest.mark.parametrize(
    "value",
    [
        None,
        0.5,
        (1, 2),
        NodeCopying(0.2, "sum", SoftClass()),
        TrainConfig(early_stopping=Patience(7)),
        BayesianGCN(graph_model=MMSBM()),
        BayesianGCN(base=BayesianGCN(), schedule=OnlineSchedule(), weights=PointEstimate()),
        GCNClassifier(),
        MCDropout(),
        SGLD(objective=SquaredError(0.5), computing=Computing(memory=7)),
        MeanField(0.5),
        Laplace("diagonal"),
    ],
)
def test_settings_round_trip_through_json(value: object) -> None:
    assert repr(decode(json.loads(json.dumps(encode(value, "it", {}))), {})) == repr(value)


def test_arrays_of_epsilon_round_trip() -> None:
    arrays: dict[str, Any] = {}
    written = encode(NodeCopying(np.linspace(0, 1, 5)), "it", arrays)
    assert list(arrays) == ["it.epsilon"]
    back = decode(json.loads(json.dumps(written)), arrays)
    np.testing.assert_array_equal(back.epsilon, np.linspace(0, 1, 5))


def test_an_array_that_two_parts_share_is_held_once() -> None:
    arrays: dict[str, Any] = {}
    shared = np.arange(3.0)
    written = encode({"one": shared, "other": (shared, torch.zeros(2))}, "it", arrays)
    assert sorted(arrays) == ["it.one", "it.other.1"]
    back = decode(written, arrays)
    assert back["one"] is back["other"][0]
    assert isinstance(back["other"][1], torch.Tensor)


class OwnWeights(MCDropout):
    """A weight posterior of somebody else's."""


class OwnNetwork(GCN):
    """A network of somebody else's."""


class OwnModel(ObservedGraph):
    """A graph model of somebody else's."""


def drawn(task: object, probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(len(probabilities))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": OwnWeights(SHORT)}, "^weights cannot be saved: .*; got OwnWeights"),
        ({"network": OwnNetwork()}, "^network cannot be saved: .*; got OwnNetwork"),
        ({"graph_model": OwnModel()}, r"^graph_model cannot be .*set_params\(graph_model=None\)"),
        (
            {"graph_model": NodeCopying(donors=CallableDonors(drawn))},
            r"^graph_model.donors cannot be saved: .*set_params\(graph_model=None\)",
        ),
        (
            {"base": FeatureClassifier(LogisticRegression())},
            r"^base cannot be saved: .*; got FeatureClassifier.*set_params\(base=None\)",
        ),
        (
            {"base": BayesianGCN(LabelPropagation(), weights=OwnWeights(SHORT), n_zeta=1)},
            "^base.weights cannot be saved",
        ),
    ],
)
def test_a_part_that_cannot_be_saved_is_named_and_nothing_is_written(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    clf = fitted(**settings)
    with pytest.raises(ModelError, match=message):
        clf.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    if "set_params" in message:
        clf.set_params(**dict.fromkeys(settings)).save(tmp_path / "m")
        loaded = NodeCopyClassifier.load(tmp_path / "m")
        np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())


def test_every_part_of_the_package_that_is_saved_fits_again_to_the_same(tmp_path: Path) -> None:
    for number, settings in enumerate(
        (
            {"weights": "point"},
            {"weights": "dropout", "schedule": OnlineSchedule(2, 6, 2)},
            {"graph_model": NodeCopying(donors=NearestNeighbours(3))},
            {"graph_model": NodeCopying(donors=NearestNeighbours(3, TASK.features.toarray()))},
            {"network": GCN(hidden=[4, 3])},
            {"base": NetworkClassifier(GCN(), SHORT)},
        )
    ):
        clf = fitted(**settings)
        clf.save(tmp_path / f"{number}")
        loaded = NodeCopyClassifier.load(tmp_path / f"{number}")
        loaded.fit(TASK.graph, TASK.features, Y)
        np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())


@pytest.mark.parametrize("source", [np.random.PCG64, np.random.MT19937, np.random.SFC64])
def test_a_generator_goes_on_where_it_was(source: type, tmp_path: Path) -> None:
    clf = fitted().set_params(random_state=np.random.Generator(source(5)))
    clf.random_state.integers(7, dtype=np.int32)
    clf.save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    expected = [clf.random_state.integers(2**62), clf.random_state.normal()]
    assert [loaded.random_state.integers(2**62), loaded.random_state.normal()] == expected


def test_settings_too_large_for_a_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = fitted(epsilon=np.full(90, 0.25))
    monkeypatch.setattr("nodecopy.persistence._MOST_SETTINGS", 1000)
    with pytest.raises(ModelError, match="characters; a file holds at most 1,000"):
        clf.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_tampered_truncated_foreign_and_newer_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted().save(path)
    content = path.read_bytes()

    def refused(message: str) -> None:
        with pytest.raises(FormatError, match=message):
            NodeCopyClassifier.load(path)

    for size in (0, 5, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        refused("cannot read the model")
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused("digest does not match")
    path.write_bytes(content.replace(b'n_zeta\\": 2', b'n_zeta\\": 3'))
    refused("digest does not match")
    path.write_bytes(content.replace(b'"version":"3"', b'"version":"2"'))
    refused("format version 2; this release reads 3: fit the model again")
    path.write_text("not a model at all, but a text that is long enough to look at")
    refused("cannot read the model")
    save_file({"a": np.zeros(3)}, path)
    refused("not a nodecopy model")
    path.unlink()
    refused("cannot read the model")
    path.mkdir()
    refused("cannot read the model")


def test_a_file_that_lacks_a_part_is_refused(tmp_path: Path) -> None:
    from nodecopy.persistence import SavedModel, read_model, write_model

    path = tmp_path / "m"
    fitted().save(path)
    whole = read_model(path)
    for name in whole.settings:
        settings = {key: value for key, value in whole.settings.items() if key != name}
        write_model(path, SavedModel(settings, whole.arrays))
        with pytest.raises(FormatError, match="lacks a part of the model"):
            NodeCopyClassifier.load(path)
    arrays = {key: a for key, a in whole.arrays.items() if "posterior.prob" not in key}
    write_model(path, SavedModel(whole.settings, arrays))
    with pytest.raises(FormatError, match="lacks a part of the model"):
        NodeCopyClassifier.load(path)
    bad = json.loads(json.dumps(whole.settings).replace('"type": "GCN"', '"type": "Popen"'))
    write_model(path, SavedModel(bad, whole.arrays))
    with pytest.raises(FormatError, match="unknown type 'Popen'"):
        NodeCopyClassifier.load(path)
    for name in ("colour", "return", "self"):
        bad = whole.settings | {"parameters": whole.settings["parameters"] | {name: None}}
        write_model(path, SavedModel(bad, whole.arrays))
        with pytest.raises(FormatError, match=f"the classifier has no {name}$"):
            NodeCopyClassifier.load(path)


def test_writing_is_whole_or_not_at_all(tmp_path: Path) -> None:
    clf = fitted()
    with pytest.raises(FormatError, match="there is no folder"):
        clf.save(tmp_path / "nowhere" / "m")
    with pytest.raises(FormatError, match="is not a regular file"):
        clf.save(tmp_path)
    clf.save(tmp_path / "m")
    before = load_file(tmp_path / "m")
    clf.classes_ = np.array([object(), object(), object()])
    with pytest.raises(ValueError, match="cannot be saved"):
        clf.save(tmp_path / "m")
    assert set(load_file(tmp_path / "m")) == set(before)


def test_the_same_model_is_the_same_bytes(tmp_path):
    arrays = {name: np.arange(5.0) for name in "abcdefgh"}
    for name in ("one", "two", "three"):
        write_model(tmp_path / name, SavedModel({"b": 1, "a": 2}, arrays))
    assert len({(tmp_path / name).read_bytes() for name in ("one", "two", "three")}) == 1
