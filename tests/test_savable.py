"""Which classes a model file may name: those that say so where they are defined."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, savable
from nodecopy.calibration import Component, StackedClassifier
from nodecopy.classifiers import DiffusionClassifier, LabelPropagation
from nodecopy.errors import ModelError
from nodecopy.graph_models import ObservedGraph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.persistence import decode, encode
from nodecopy.weights import MaximumPosterior, TrainConfig
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
    code = "import nodecopy.persistence, nodecopy.savable; print(*sorted(nodecopy.savable._KINDS))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert run.stdout.split() == sorted(marked())
    assert len(run.stdout.split()) >= 30


@pytest.mark.parametrize("name", sorted(marked()))
def test_every_class_that_is_marked_comes_back(name: str) -> None:
    kind = savable.saved_kind(name)
    assert kind is not None
    needed: dict[str, Any] = {
        "NetworkClassifier": {"network": Diffusion(), "training": TrainConfig()},
        "Component": {"classifier": LabelPropagation()},
        "PredictionSets": {"scores": np.array([0.1, 0.4]), "own": np.array([0.2, 0.3])},
        "ClassShares": {"labelled": np.array([0.5, 0.5]), "estimated": np.array([0.4, 0.6])},
        "StackedClassifier": {"components": (Component(DiffusionClassifier()),)},
    }
    value = kind(**needed.get(name, {}))
    assert repr(decode(encode(value))) == repr(value)


def test_a_convex_model_and_a_stacked_base_are_saved(tmp_path: Path) -> None:
    task = make_task()
    y = np.full(90, -1)
    y[task.train] = task.labels[task.train]
    base = StackedClassifier((Component(LabelPropagation()), Component(DiffusionClassifier())), 2)
    clf = NodeCopyClassifier(
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
        encode(OwnModel(4))
    assert savable.savable(OwnModel) is OwnModel
    assert decode(encode(OwnModel(4))) == OwnModel(4)


def test_what_cannot_be_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savable, "_KINDS", dict(savable._KINDS))
    with pytest.raises(TypeError, match="Path is not a dataclass: put @savable above @dataclass"):
        savable.savable(Path)
    other = dataclasses.make_dataclass("Diffusion", [], frozen=True)
    with pytest.raises(TypeError, match="know a Diffusion already, of nodecopy.nn.diffusion"):
        savable.savable(other)
