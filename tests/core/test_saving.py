"""Files of savable values: what they hold, and that anything else is refused in one line."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save as serialise
from sklearn.linear_model import LogisticRegression

from nodecopy import NodeCopyClassifier
from nodecopy.classifiers import FeatureClassifier, LabelPropagation
from nodecopy.core import saving
from nodecopy.core.errors import FormatError, ModelError, NodecopyError
from nodecopy.core.saving import load, save
from nodecopy.graph_models import NodeCopying, ObservedGraph
from nodecopy.paper import GAT, MMSBM, ChebNet, OnlineBayesianGCN
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best, fast
from nodecopy.stack.component import Component
from nodecopy.weights import SGLD, MCDropout, TrainConfig
from tests.problems import make_task, true_labels

TASK = make_task()
Y = np.where(np.isin(np.arange(90), TASK.train), true_labels(TASK), -1)
COLUMNS = np.random.default_rng(0).lognormal(0, 2, (90, 3))
SHORT = TrainConfig(epochs=3)
SHORT_CHAIN = SGLD(burn_in=5, thinning=2)
BLOCKS = MMSBM(cold_iterations=20)
SMALL = BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(SHORT))
EVERYTHING = replace(
    best(2), components=(*best(2).components, Component(SMALL), Component(LabelPropagation()))
)


def fitted(method: Any, y: Any = Y, features: Any = TASK.features) -> NodeCopyClassifier:
    return NodeCopyClassifier(method, random_state=0).fit(TASK.graph, features, y)


@pytest.mark.parametrize(
    ("method", "dense"),
    [
        ("fast", False),
        (EVERYTHING, True),
        (replace(fast(), most_nodes=60), True),
        (replace(SMALL, network=ChebNet((4,), 2)), False),
        (replace(SMALL, network=GAT((2,), 2), graph_model=BLOCKS, base=LabelPropagation()), False),
        (replace(SMALL, graph_model=NodeCopying(0.5)), True),
        (OnlineBayesianGCN(pretraining=2, epochs=6, collect=2), False),
        (replace(SMALL, base=LabelPropagation(), n_weights=3, weights=SHORT_CHAIN), True),
    ],
)
def test_a_loaded_model_is_the_same_bit_for_bit(method: Any, dense: bool, tmp_path: Path) -> None:
    features = COLUMNS if dense else TASK.features
    clf = fitted(method, features=features)
    clf.save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    assert repr(loaded) == repr(clf)
    np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())
    there, here = (one.predict_on(TASK.graph, features) for one in (loaded, clf))
    np.testing.assert_array_equal(there.probabilities, here.probabilities)
    np.testing.assert_array_equal(there.entropy, here.entropy)
    again = loaded.fit(TASK.graph, features, Y)
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())


@pytest.mark.parametrize("labels", [["x", "yy", "z"], [3, 10, 11], [False, True], [0.0, 1.0, 2.0]])
def test_classes_of_any_type_come_back_and_a_generator_does_not(
    labels: list[Any], tmp_path: Path
) -> None:
    y = np.array(labels, object)[true_labels(TASK) % len(labels)]
    y[Y < 0] = None
    clf = NodeCopyClassifier(LabelPropagation(), random_state=np.random.default_rng(5))
    clf.fit(TASK.graph, TASK.features, y)
    clf.save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    assert loaded.classes_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(), clf.predict())
    assert loaded.random_state is None


@dataclass(frozen=True)
class OwnModel(ObservedGraph):
    """A graph model of somebody else's."""

    size: int = 3


@pytest.mark.parametrize(
    ("method", "named"),
    [
        (replace(SMALL, graph_model=OwnModel()), r"method.graph_model .*OwnModel"),
        (replace(SMALL, base=FeatureClassifier(LogisticRegression())), r"method.base .*Feature"),
    ],
)
def test_a_part_that_cannot_be_saved_is_named(method: Any, named: str, tmp_path: Path) -> None:
    clf = fitted(method)
    with pytest.raises(ModelError, match=named):
        clf.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_class_of_ones_own_is_saved_once_it_is_marked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(saving, "_SAVABLE", dict(saving._SAVABLE))
    saving.savable(OwnModel)
    save(tmp_path / "m", OwnModel(4))
    assert load(tmp_path / "m", OwnModel) == OwnModel(4)
    with pytest.raises(TypeError, match="Path is not a dataclass"):
        saving.savable(Path)
    with pytest.raises(TypeError, match="nodecopy.nn.diffusion"):
        saving.savable(make_dataclass("Diffusion", [], frozen=True))


def parts_of(path: Path) -> tuple[Any, dict[str, Any]]:
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["nodecopy"]), arrays


def write(path: Path, content: Any, arrays: dict[str, Any]) -> Path:
    """Write a file as `save` does, with the checksum of what it holds."""
    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if isinstance(content, dict) and "value" in content:
        content = content | {"sha256": saving.checksum(content["value"], held)}
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(serialise(held, metadata={"nodecopy": text}))
    return path


def check_refused(path: Path, word: str) -> None:
    with pytest.raises(FormatError, match=word) as refused:
        NodeCopyClassifier.load(path)
    assert len(str(refused.value).splitlines()) == 1


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m"
    clf = fitted(LabelPropagation())
    clf.save(path)
    whole, expected = path.read_bytes(), clf.predict_proba()
    for bit in np.random.default_rng(0).integers(8 * len(whole), size=200).tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with contextlib.suppress(FormatError):  # but for spaces between the header and the arrays
            loaded = NodeCopyClassifier.load(path)
            np.testing.assert_array_equal(loaded.predict_proba(), expected)


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted(LabelPropagation()).save(path)
    content, (tree, arrays) = path.read_bytes(), parts_of(path)
    for size in (0, 5, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        check_refused(path, "cannot read")
    path.write_bytes(serialise({"a": np.zeros(3)}))
    check_refused(path, "not of nodecopy")
    check_refused(write(path, tree | {"version": 3}, arrays), "version 3.*fit the model again")
    for text in ("", "{", "[]", "7", "{}", "[" * 100_000, '{"a":' * 5_000):
        check_refused(write(path, text, arrays), "cannot read")
    save(path, LabelPropagation())
    check_refused(path, "LabelPropagation")
    check_refused(tmp_path, "cannot read")
    check_refused(tmp_path / "none", "cannot read")
    os.mkfifo(tmp_path / "pipe")
    check_refused(tmp_path / "pipe", "regular file")


def leaves(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all values of a tree, inner ones too."""
    if not isinstance(tree, (dict, list)):
        return [at]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [at, *(place for key, item in items for place in leaves(item, (*at, key)))]


def replaced(tree: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    changed = dict(tree) if isinstance(tree, dict) else list(tree)
    changed[at[0]] = replaced(tree[at[0]], at[1:], new)
    return changed


DEEP: Any = []
for _ in range(500):
    DEEP = [DEEP]
ODD = (None, -1, 0, True, 1e39, float("nan"), 10**400, "x", [], {}, {"array": "none"}, DEEP)
ODD += ({"type": "Popen", "fields": {"args": "ls"}},)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "m"
    fitted(EVERYTHING, features=COLUMNS).save(path)
    return path


ODD_ARRAYS: tuple[Callable[[Any], Any], ...] = (
    lambda array: array[:0],
    lambda array: np.concatenate([array, array]),
    lambda array: array[..., None],
    lambda array: array - 10**6,
    lambda array: 0 - array,
    lambda array: array.astype(np.int64),
    lambda array: array.astype(np.float32),
    lambda array: np.full_like(array, 0),
    lambda array: np.full(array.shape, np.nan),
    lambda array: np.zeros(()),
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers may be beyond all measure
@settings(max_examples=60)
@given(st.booleans(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_crafted_file_is_refused_or_holds_a_model(
    saved: Path, in_arrays: bool, place: int, change: int
) -> None:
    path, (tree, arrays) = saved.with_name("crafted"), parts_of(saved)
    if in_arrays:
        name = sorted(arrays)[place % len(arrays)]
        odd = ODD_ARRAYS[change % len(ODD_ARRAYS)]
        arrays = arrays | {name: odd(np.atleast_1d(arrays[name]))}
    else:
        places = leaves(tree)
        tree = replaced(tree, places[place % len(places)], ODD[change % len(ODD)])
    write(path, tree, arrays)
    with contextlib.suppress(NodecopyError):
        model = NodeCopyClassifier.load(path)
        for p in (model.predict_proba(), model.predict_on(TASK.graph, COLUMNS).probabilities):
            assert np.isfinite(p).all()
            assert np.allclose(p.sum(1), 1, atol=1e-3)


def test_arrays_that_do_not_fit_together_are_refused(saved: Path) -> None:
    tree, arrays = parts_of(saved)
    needed = ("known", "before", "w", "feature_weights", "landmarks", "whitening")
    parts = (".model.components", ".model.features")
    names = [name for name in arrays if name.startswith(parts) and name.split(".")[-1] in needed]
    assert len(names) >= 10  # arrays that parts share are there once
    for name in names:
        shorter = arrays | {name: arrays[name][..., :-1]}
        check_refused(write(saved.with_name("crafted"), tree, shorter), "cannot read")


def test_a_file_holds_the_probabilities_of_the_nodes_once(saved: Path) -> None:
    _, arrays = parts_of(saved)
    whole = [
        name for name, one in arrays.items() if name.endswith("probabilities") and len(one) == 90
    ]
    assert whole == [".model.applied.probabilities"]


def test_a_class_that_is_not_defined_here_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted(replace(SMALL, graph_model=BLOCKS)).save(tmp_path / "m")
    monkeypatch.delitem(saving._SAVABLE, "MMSBM")
    with pytest.raises(FormatError, match=r"'MMSBM'.*nodecopy\.paper"):
        NodeCopyClassifier.load(tmp_path / "m")
