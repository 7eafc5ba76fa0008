"""A model file is read whole and consistent, or refused in one line, whoever wrote it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from nodecopy import NodeCopyClassifier, persistence
from nodecopy.errors import FormatError
from nodecopy.persistence import read_model
from nodecopy.weights.descent import TrainConfig
from tests.problems import make_task, true_labels


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    task = make_task()
    y = np.where(np.isin(np.arange(90), task.train), true_labels(task), -1)
    clf = NodeCopyClassifier(2, n_weights=2, training=TrainConfig(epochs=3), random_state=0)
    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    clf.fit(task.graph, task.features, y).save(path)
    return path


def tampered(path: Path, settings: str, arrays: dict[str, Any]) -> Path:
    """Write a file with a digest that is right."""
    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {"format": persistence.FORMAT, "version": str(persistence.VERSION)}
    header |= {"settings": settings, "digest": persistence._digest(settings, held)}
    path.write_bytes(save(held, metadata=header))
    return path


def changed(value: Any, keys: tuple[Any, ...], new: Any) -> Any:
    if not keys:
        return new
    return value | {keys[0]: changed(value[keys[0]], keys[1:], new)}


@pytest.mark.parametrize("settings", ["", "{", "[]", "7", "[" * 100_000, '{"a":' * 5000, "{}"])
def test_settings_that_are_none_are_refused(saved: Path, tmp_path: Path, settings: str) -> None:
    path = tampered(tmp_path / "m.safetensors", settings, read_model(saved).arrays)
    with pytest.raises(FormatError, match="m.safetensors"):
        NodeCopyClassifier.load(path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("parameters",), []),
        (("parameters", "n_zeta"), "many"),
        (("parameters", "n_zeta"), True),
        (("parameters", "weights"), "pointt"),
        (("parameters", "weights"), {"unsaved": "OwnWeights()"}),
        (("parameters", "random_state"), {"generator": {"bit_generator": "os", "state": {}}}),
        (("parameters", "random_state"), {"generator": {"bit_generator": "PCG64", "state": {}}}),
        (("parameters", "weights"), {"type": "GCN", "fields": {}}),
        (("parameters", "training"), {"type": "TrainConfig", "fields": {"epochs": "3"}}),
        (("parameters", "training"), {"type": "TrainConfig", "fields": []}),
        (("parameters", "training"), {"type": "TrainConfig", "fields": {"speed": 3}}),
        (("parameters", "network"), {"type": "GCN", "fields": {"hidden": {"tuple": 5}}}),
        (("parameters", "network"), {"type": "GCN", "fields": {"hidden": {"tuple": [-1]}}}),
        (("parameters", "network"), {"type": "os.system", "fields": {}}),
        (("parameters", "epsilon"), {"array": [1], "dtype": "|V999999999"}),
        (("parameters", "epsilon"), {"array": [[1], [2, 3]], "dtype": "<f8"}),
        (("model",), None),
        (("model", "fields", "network"), None),
        (("model", "fields", "network", "fields", "hidden"), {"tuple": [7]}),
        (("model", "fields", "network", "fields", "hidden"), {"tuple": [10**15]}),
        (("classes", "values"), []),
        (("classes", "values"), [1, 1, 1]),
        (("classes", "values"), ["a", 1, None]),
        (("classes", "values"), [0, 1]),
        (("classes", "dtype"), "<U900000000"),
        (("features",), 0),
        (("features",), 10**12),
        (("features",), None),
        (("scaled_rows",), "no"),
        (("members",), []),
        (("members",), ["a", "b"]),
        (("members",), [1, 2, 3]),
        (("draws",), [2]),
        (("draws",), [0, 1]),
        (("draws",), "ab"),
        (("draws",), [2, 3 * 10**8]),
        (("parameters", "n_weights"), 3 * 10**8),
        (("parameters", "n_zeta"), 3 * 10**8),
        (("model", "fields", "network", "fields", "hidden"), {"tuple": [3 * 10**7]}),
    ],
)
def test_wrong_settings_are_refused(saved: Path, tmp_path: Path, keys: Any, value: Any) -> None:
    settings, arrays = read_model(saved)
    text = json.dumps(changed(settings, keys, value))
    with pytest.raises(FormatError, match="m.safetensors"):
        NodeCopyClassifier.load(tampered(tmp_path / "m.safetensors", text, arrays))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("weights.w0", np.zeros((2, 3, 16), np.float32)),
        ("weights.w0", np.zeros(0, np.float32)),
        ("weights.w1", np.full((2, 16, 3), np.nan, np.float32)),
        ("weights.w1", np.zeros((2, 16, 3), np.int64)),
        ("weights.w1", np.zeros((2, 16, 3), np.float64)),
        ("weights.more", np.zeros((2, 1), np.float32)),
        ("posterior.probabilities", np.zeros((90, 2))),
        ("posterior.probabilities", np.zeros(())),
        ("posterior.expected_entropy", np.zeros(91)),
        ("base_proba", np.zeros((3, 90))),
        ("hubs", np.zeros(2, np.int64)),
        ("scaling.scale", np.zeros(0)),
    ],
)
def test_arrays_of_a_wrong_shape_or_type_are_refused(
    saved: Path, tmp_path: Path, name: str, array: Any
) -> None:
    settings, arrays = read_model(saved)
    path = tampered(tmp_path / "m.safetensors", json.dumps(settings), arrays | {name: array})
    with pytest.raises(FormatError, match=f"m.safetensors.*{name.split('.')[0]}"):
        NodeCopyClassifier.load(path)


def test_scales_that_are_not_positive_are_refused(saved: Path, tmp_path: Path) -> None:
    settings, arrays = read_model(saved)
    d = settings["features"]
    arrays |= {"scaling.shift": np.zeros(d), "scaling.scale": np.zeros(d)}
    path = tampered(tmp_path / "m.safetensors", json.dumps(settings), arrays)
    with pytest.raises(FormatError, match="scaling.scale must be positive"):
        NodeCopyClassifier.load(path)


def test_what_is_not_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(FormatError, match="accepted: a regular file"):
            read_model(path)
    with pytest.raises(FormatError, match="cannot read the model"):
        read_model(tmp_path / "none")
