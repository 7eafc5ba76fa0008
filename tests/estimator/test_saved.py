"""A model file is read whole and consistent, or refused in one line, whoever wrote it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from nodecopy import NodeCopyClassifier, persistence
from nodecopy.calibration import Component
from nodecopy.classifiers import LabelPropagation
from nodecopy.errors import FormatError
from nodecopy.persistence import read_model
from nodecopy.presets import best
from nodecopy.weights.descent import TrainConfig
from tests.problems import make_task, true_labels

SAMPLES = ("model", "fields", "samples", "fields")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    task = make_task()
    y = np.where(np.isin(np.arange(90), task.train), true_labels(task), -1)
    clf = NodeCopyClassifier(
        "paper", n_zeta=2, n_weights=2, training=TrainConfig(epochs=3), random_state=0
    )
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
    return value | {keys[0]: changed(value.get(keys[0]), keys[1:], new)}


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
        (("parameters", "epsilon"), {"array": "nowhere"}),
        (("parameters", "epsilon"), {"array": ["x"]}),
        (("parameters", "calibrate"), "yes"),
        (("parameters", "preset"), "bestt"),
        (("parameters", "preset"), {"type": "GCN", "fields": {}}),
        (("model",), None),
        (("model",), {"type": "BayesianGCN", "fields": {}}),
        (("model",), {"type": "FittedStack", "fields": {}}),
        (("model", "fields", "graphs"), {"tuple": []}),
        ((*SAMPLES, "network"), None),
        ((*SAMPLES, "network", "fields", "hidden"), {"tuple": [7]}),
        ((*SAMPLES, "network", "fields", "hidden"), {"tuple": [10**15]}),
        ((*SAMPLES, "network", "fields", "hidden"), {"tuple": [3 * 10**7]}),
        ((*SAMPLES, "seeds"), {"tuple": []}),
        ((*SAMPLES, "seeds"), {"tuple": ["a", "b"]}),
        ((*SAMPLES, "seeds"), {"tuple": [1, 2, 3]}),
        ((*SAMPLES, "stored"), 0),
        ((*SAMPLES, "weights"), {"dict": []}),
        (("model", "fields", "posterior", "fields", "num_draws"), 0),
        (("model", "fields", "posterior", "fields", "num_draws"), "ab"),
        (("model", "fields", "posterior", "fields", "num_draws"), 3 * 10**8),
        (("classes", "values"), []),
        (("classes", "values"), [1, 1, 1]),
        (("classes", "values"), ["a", 1, None]),
        (("classes", "values"), [0, 1]),
        (("classes", "dtype"), "<U900000000"),
        (("features",), 0),
        (("features",), 10**12),
        (("features",), None),
        (("scaling",), None),
        (("scaling", "fields", "rows"), "no"),
        (("parameters", "n_weights"), 3 * 10**8),
        (("parameters", "n_zeta"), 3 * 10**8),
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
        ("model.samples.weights.w0", np.zeros((2, 3, 16), np.float32)),
        ("model.samples.weights.w0", np.zeros(0, np.float32)),
        ("model.samples.weights.w1", np.full((2, 16, 3), np.nan, np.float32)),
        ("model.samples.weights.w1", np.zeros((2, 16, 3), np.int64)),
        ("model.samples.weights.w1", np.zeros((2, 16, 3), np.float64)),
        ("model.posterior.probabilities", np.zeros((90, 2))),
        ("model.posterior.probabilities", np.zeros(())),
        ("model.posterior.probabilities", np.full((90, 3), np.inf)),
        ("model.posterior.expected_entropy", np.zeros(91)),
        ("model.base_probabilities", np.zeros((3, 90))),
    ],
)
def test_arrays_of_a_wrong_shape_or_type_are_refused(
    saved: Path, tmp_path: Path, name: str, array: Any
) -> None:
    settings, arrays = read_model(saved)
    assert name in arrays
    path = tampered(tmp_path / "m.safetensors", json.dumps(settings), arrays | {name: array})
    with pytest.raises(FormatError, match="m.safetensors.*model"):
        NodeCopyClassifier.load(path)


@pytest.mark.parametrize(
    ("keys", "array", "message"),
    [
        (("hubs",), np.zeros(2, np.int64), "hubs must be whole numbers"),
        (("scaling", "fields", "scale"), np.zeros(0), "scaling of the features is not that of a m"),
    ],
)
def test_inputs_without_a_number_for_each_feature_are_refused(
    saved: Path, tmp_path: Path, keys: Any, array: Any, message: str
) -> None:
    settings, arrays = read_model(saved)
    text = json.dumps(changed(settings, keys, {"array": "more"}))
    path = tampered(tmp_path / "m.safetensors", text, arrays | {"more": array})
    with pytest.raises(FormatError, match=f"m.safetensors.*{message}"):
        NodeCopyClassifier.load(path)


def test_scales_that_are_not_positive_are_refused(saved: Path, tmp_path: Path) -> None:
    settings, arrays = read_model(saved)
    d = settings["features"]
    scaled = {"rows": False, "shift": {"array": "shift"}, "scale": {"array": "scale"}}
    text = json.dumps(changed(settings, ("scaling", "fields"), scaled))
    more = {"shift": np.zeros(d), "scale": np.zeros(d)}
    with pytest.raises(FormatError, match="scaling.scale must be positive"):
        NodeCopyClassifier.load(tampered(tmp_path / "m.safetensors", text, arrays | more))


@pytest.fixture(scope="module")
def stacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model of the best preset, with every kind of component."""
    task = make_task()
    y = np.where(np.isin(np.arange(90), task.train), true_labels(task), -1)
    path = tmp_path_factory.mktemp("stacked") / "model.safetensors"
    stack = replace(best(2), components=(*best(2).components, Component(LabelPropagation())))
    NodeCopyClassifier(stack, random_state=0).fit(task.graph, task.features, y).save(path)
    return path


@pytest.mark.parametrize("change", [0.0, np.nan, "shape", "type"])
def test_every_array_of_a_stack_is_checked(stacked: Path, tmp_path: Path, change: Any) -> None:
    settings, arrays = read_model(stacked)
    NodeCopyClassifier.load(stacked)
    for name, array in arrays.items():
        if change == "shape":
            wrong = np.concatenate([array, array])
        elif change == "type":
            wrong = array.astype(np.float32 if array.dtype.kind in "iu" else np.int64)
        elif array.dtype.kind == "f":
            wrong = np.full_like(array, change)
        else:
            wrong = np.full_like(array, 10**6)  # no such node, class or fold
        if change == 0.0 and array.dtype.kind == "f":
            continue  # zeros are numbers like others
        path = tampered(tmp_path / "m.safetensors", json.dumps(settings), arrays | {name: wrong})
        with pytest.raises(FormatError, match="m.safetensors"):
            NodeCopyClassifier.load(path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("pool", "fields", "weights"), {"tuple": [1.0]}),
        (("pool", "fields", "weights"), {"tuple": [0.5] * 7}),
        (("pool", "fields", "weights"), {"tuple": [-1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]}),
        (("pool", "fields", "temperature"), 0.0),
        (("pool", "fields", "temperature"), float("nan")),
        (("pool", "fields", "temperature"), 1e-320),
        (("pool", "fields", "temperature"), 10**400),
        (("pool", "fields", "temperatures"), {"tuple": [1.0] * 6 + [1e-320]}),
        (("pool", "fields", "temperatures"), {"tuple": [1.0] * 6 + [-1.0]}),
        (("pool",), None),
        (("held_out",), None),
        (("weight_unit",), 0.0),
        (("weight_unit",), float("inf")),
        (("components",), {"tuple": []}),
        (("components",), {"tuple": [{"type": "Pool", "fields": {}}]}),
    ],
)
def test_wrong_settings_of_a_stack_are_refused(
    stacked: Path, tmp_path: Path, keys: Any, value: Any
) -> None:
    settings, arrays = read_model(stacked)
    text = json.dumps(changed(settings, ("model", "fields", *keys), value))
    with pytest.raises(FormatError, match="m.safetensors"):
        NodeCopyClassifier.load(tampered(tmp_path / "m.safetensors", text, arrays))


def test_every_array_of_a_kernel_is_checked(tmp_path: Path) -> None:
    rng, task = np.random.default_rng(0), make_task()
    y = np.where(np.isin(np.arange(90), task.train), true_labels(task), -1)
    x = rng.lognormal(0, 2, (90, 3))
    fitted = NodeCopyClassifier("fast").fit(task.graph, x, y)
    fitted.save(tmp_path / "kernel.safetensors")
    settings, arrays = read_model(tmp_path / "kernel.safetensors")
    names = [name for name in arrays if name.startswith("model.features.")]
    assert len(names) == 6
    assert arrays["model.features.quantiles"].shape[0] > 0  # some columns are skewed
    for name in names:
        for wrong in (arrays[name][..., :0], np.concatenate([arrays[name]] * 2), np.array(0.0)):
            held = arrays | {name: np.ascontiguousarray(wrong)}
            with pytest.raises(FormatError, match="m.safetensors"):
                NodeCopyClassifier.load(
                    tampered(tmp_path / "m.safetensors", json.dumps(settings), held)
                )


def test_steps_that_nobody_would_wait_for_are_refused(stacked: Path, tmp_path: Path) -> None:
    settings, arrays = read_model(stacked)
    text = json.dumps(settings)
    model = range(text.index('"model": '), text.index('"parameters": '))
    places = [at.start() for at in re.finditer(r'"steps": \d+', text) if at.start() in model]
    assert len(places) >= 5
    for place in places:
        wrong = text[:place] + re.sub(r"\d+", str(10**9), text[place:], count=1)
        with pytest.raises(FormatError, match="steps must be at most 1,000,000"):
            NodeCopyClassifier.load(tampered(tmp_path / "m.safetensors", wrong, arrays))


def test_devices_that_do_not_exist_are_refused(saved: Path, tmp_path: Path) -> None:
    settings, arrays = read_model(saved)
    text = json.dumps(settings)
    places = [at.start() for at in re.finditer('"device": "cpu"', text)]
    assert len(places) >= 2  # of the arguments, and of the fit
    for place in places:
        wrong = text[:place] + text[place:].replace("cpu", "gpu", 1)
        with pytest.raises(FormatError, match="m.safetensors.*unknown device 'gpu';.* accepted: "):
            NodeCopyClassifier.load(tampered(tmp_path / "m.safetensors", wrong, arrays))


def test_what_is_not_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(FormatError, match="accepted: a regular file"):
            read_model(path)
    with pytest.raises(FormatError, match="cannot read the model"):
        read_model(tmp_path / "none")
