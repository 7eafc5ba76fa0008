"""Which classes a model file may name: those that say so where they are defined."""

from __future__ import annotations

import ast
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nodecopy import NodeCopyClassifier, savable
from nodecopy.calibration import Component, HeldOut, Pool, StackedClassifier
from nodecopy.classifiers import DiffusionClassifier, GivenProbabilities, LabelPropagation
from nodecopy.errors import ModelError
from nodecopy.graph_models import ObservedGraph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.network import Computing
from nodecopy.persistence import decode, encode
from nodecopy.posterior import Posterior
from nodecopy.weights import MaximumPosterior, TrainConfig, WeightSamples
from tests.problems import make_task
from tests.waiting import LIMIT

PACKAGE = Path(savable.__file__).parent


def marked() -> Iterator[str]:
    """Yield the names of the classes that the sources mark as savable."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                marks = [ast.unparse(mark) for mark in node.decorator_list]
                if "savable" in marks:
                    yield node.name


def test_reading_a_model_knows_every_class_that_is_marked() -> None:
    code = "import nodecopy.estimator, nodecopy.savable; print(*sorted(nodecopy.savable._KINDS))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert run.stdout.split() == sorted(marked())
    assert len(run.stdout.split()) >= 30


@pytest.mark.parametrize("name", sorted(marked()))
def test_every_class_that_is_marked_comes_back(name: str) -> None:
    kind = savable.saved_kind(name)
    assert kind is not None
    p, samples = np.eye(3), WeightSamples(Diffusion(), {"w": torch.zeros(1, 2, 3)}, (1,))
    w, none = np.ones((2, 3), np.float32), np.zeros(0, np.int64)
    held_out, pool = HeldOut(none, none, p[None, :0], none), Pool((1.0,), (0.5,), 2.0)
    needed: dict[str, Any] = {
        "FittedBayesianGCN": (p, samples, Posterior.undivided(p), Computing()),
        "FittedBlocks": (0.5, p, p, p, w),
        "FittedNetwork": (samples, Computing(), p),
        "FittedPart": (none, 0.5, Posterior.undivided(p)),
        "FittedStack": ((GivenProbabilities(p),), held_out, pool),
        "FittedStudent": (Diffusion(), w, p),
        "GivenProbabilities": (p,),
        "HeldOut": (none, none, p[None, :0], none),
        "Pool": ((1.0,), (0.5,), 2.0),
        "Posterior": (p, p[0], p[0], p[0], 2, 3, p[1]),
        "SpreadLabels": (LabelPropagation(), none, p, p),
        "WeightSamples": (Diffusion(), {"w": torch.zeros(1, 2, 3)}, (1,), (None, 2), 1),
        "NetworkClassifier": (Diffusion(), TrainConfig()),
        "Component": (LabelPropagation(),),
        "PredictionSets": (np.array([0.1, 0.4]), np.array([0.2, 0.3])),
        "ClassShares": (np.array([0.5, 0.5]), np.array([0.4, 0.6])),
        "FittedKernelMap": (p[0], p[0] + 1, none, p[:0], p, p),
        "StackedClassifier": ((Component(DiffusionClassifier()),),),
    }
    value, arrays = kind(*needed.get(name, ())), dict[str, Any]()
    written = json.loads(json.dumps(encode(value, "it", arrays)))
    assert repr(decode(written, arrays)) == repr(value)


def test_a_convex_model_and_a_stacked_base_are_saved(tmp_path: Path) -> None:
    task = make_task()
    y = np.full(90, -1)
    y[task.train] = task.labels[task.train]
    base = StackedClassifier((Component(LabelPropagation()), Component(DiffusionClassifier())), 2)
    clf = NodeCopyClassifier(
        "paper",
        n_zeta=2,
        network=Diffusion(),
        weights=MaximumPosterior(),
        base=base,
        random_state=0,
    ).fit(task.graph, task.features, y)
    clf.save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())
    again = loaded.fit(task.graph, task.features, y)
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())


@dataclass(frozen=True)
class OwnModel(ObservedGraph):
    """A graph model of somebody else's."""

    size: int = 3


def test_a_class_of_ones_own_is_saved_once_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savable, "_KINDS", dict(savable._KINDS))
    with pytest.raises(ModelError, match="cannot be saved"):
        encode(OwnModel(4), "it", {})
    assert savable.savable(OwnModel) is OwnModel
    assert decode(encode(OwnModel(4), "it", {}), {}) == OwnModel(4)


def test_what_cannot_be_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savable, "_KINDS", dict(savable._KINDS))
    with pytest.raises(TypeError, match="Path is not a dataclass: put @savable above @dataclass"):
        savable.savable(Path)
    other = dataclasses.make_dataclass("Diffusion", [], frozen=True)
    with pytest.raises(TypeError, match="know a Diffusion already, of nodecopy.nn.diffusion"):
        savable.savable(other)
