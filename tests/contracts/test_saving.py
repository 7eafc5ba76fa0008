"""Every class that is marked as savable comes back from a file as it was."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nodecopy.paper
from nodecopy.classifiers import (
    DiffusionClassifier,
    FittedNetwork,
    GivenProbabilities,
    LabelPropagation,
    Posterior,
)
from nodecopy.core import saving
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.network import Computing
from nodecopy.problem.problem import Problem, stored_names
from nodecopy.regressors import DiffusionRidge
from nodecopy.regressors.ridge import FittedRidge
from nodecopy.run.folder import FittedTables
from nodecopy.stack.component import Component, View
from nodecopy.stack.held_out import HeldOut
from nodecopy.stack.numbers import FittedNumberStack, HeldOutNumbers, NumberPool, Scale
from nodecopy.stack.pool import Pool
from nodecopy.stack.tags import FittedTags
from nodecopy.stack.temperature import Temperature
from nodecopy.weights import TrainConfig, WeightSamples
from tests.waiting import LIMIT


def marked() -> Iterator[str]:
    """Yield the names that files have for the classes that the sources mark as savable."""
    for path in Path(saving.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            marks = getattr(node, "decorator_list", ())
            if isinstance(node, ast.ClassDef) and "savable" in map(ast.unparse, marks):
                names = [
                    one.value.value
                    for one in node.body
                    if isinstance(one, ast.AnnAssign) and ast.unparse(one.target) == "saved_as"
                ]
                yield names[0] if names else node.name


def arguments(name: str) -> tuple[Any, ...]:
    """Return what a class needs to be made."""
    p, w, no_nodes = np.eye(3), np.ones((2, 3), np.float32), np.zeros(0, np.int64)
    samples = WeightSamples(Diffusion(), {"w": torch.zeros(1, 2, 3)}, (1,))
    one = Temperature(0.5)
    given, line = GivenProbabilities(p), FittedRidge(samples, 0.5, p[0])
    nothing = HeldOutNumbers(no_nodes, p[0][:0], p[0][:0], p[0][:0], no_nodes)
    stack = (line,), (View(),), nothing, NumberPool((1.0,)), ("one",), p[:1, :0], Scale("logarithm")
    number_stack = FittedNumberStack(*stack)
    held_out = HeldOut(no_nodes, no_nodes, p[:0], no_nodes)
    graph = Graph.from_edges(3, [(0, 1)])
    names = np.array([7, 8, 9])
    problem = Problem("three", graph, p, [0, 1, -1], [1.5, 2.0, 3.0], names=names).for_file()
    needed: dict[str, tuple[Any, ...]] = {
        "Component": (LabelPropagation(),),
        "FittedBayesianGCN": (p, samples, Posterior.undivided(p), Computing()),
        "ClassDescriptions": (w,),
        "FittedDescriptions": (w, w[0], p),
        "Elsewhere": (Pool((1.0,), (one,), one), held_out),
        "FittedBlocks": (0.5, p, p, p[None], w),
        "ColumnEncoder": (
            {"age": "number"},
            {"age": "number"},
            {"age": 0.5},
            ("age",),
            True,
            {"city": ("Ulm",)},
        ),
        "FittedKernelMap": (p[0], p[0] + 1, no_nodes, p[:0], p, p),
        "FittedNetwork": (samples, Computing(), p.astype(np.float32)),
        "FittedPlaces": (20, p, p),
        "FittedShares": (p[0] + 1, 4),
        "FittedRoles": (None, FittedNetwork(samples, Computing(), p.astype(np.float32))),
        "FittedReliability": (p[0],),
        "OwnClasses": (p[None].astype(np.float32), np.zeros(3, np.int64), p.astype(np.float32)),
        "FittedStack": (
            (given,),
            (View(),),
            held_out,
            Pool((1.0,), (one,), one),
            ("one",),
            np.ones((1, 0), bool),
        ),
        "FittedKernelRegressor": (None, False, line),
        "FittedMean": (0.5, 3),
        "FittedNeighbours": (p[0], p[1], p[0], p[:2], 0.5, p[2]),
        "FittedNumberStack": stack,
        "FittedRidge": (samples, 0.5, p[0]),
        "HeldOutNumbers": (np.array([7]), p[0][:1], p[0][:1], p[0][:1], np.array([0])),
        "KernelRegressor": (DiffusionRidge(),),
        "NumberPool": ((0.5, 0.5),),
        "NumberPosterior": (p[0], p[1]),
        "NumberResult": (problem, number_stack, {"method": "best"}),
        "SpreadNumbers": (LabelPropagation(), no_nodes, p[0][:0], p[0]),
        "StackedRegressor": ((Component(DiffusionRidge()),),),
        "FittedTags": ((GivenProbabilities(np.full((3, 2), 0.5)),),),
        FittedTables.__name__: ({"column_types": ("x=number",)},),
        "Encoder": ({"shops": None},),
        "FittedStudent": (Diffusion(), w, p),
        "GivenProbabilities": (p,),
        "Graph": (graph.indptr, graph.indices),
        "HeldOut": (np.array([7]), np.array([2]), p[:1], np.array([0])),
        "Meaning": ("MiniLM", "53aa", 384),
        "NetworkClassifier": (Diffusion(), TrainConfig()),
        "Pool": ((0.5, 0.5), (one, one), one),
        "Posterior": (p, p[0], p[0], p[0], 2, 3, p[1]),
        "Problem": ("three",),
        "Result": (problem, given, {"method": LabelPropagation(), "folds": None}),
        "TagResult": (
            Problem("tags", graph, p, [0, 1, -1], ["[]", "a|b"]).for_file(),
            FittedTags((GivenProbabilities(np.full((3, 2), 0.5)),)),
        ),
        "SpreadLabels": (LabelPropagation(), no_nodes, p[:0], p),
        "StoredNodes": (graph, (p.astype(np.float32),), stored_names(np.array(["a", "", "é"]))),
        "StackedClassifier": ((Component(DiffusionClassifier()),),),
        "Temperature": (0.5,),
        "WeightSamples": (Diffusion(), {"w": torch.zeros(2, 2, 3)}, (1,), (None, 2), 2),
    }
    return needed.get(name, ())


@pytest.mark.parametrize("name", sorted(marked()))
def test_it_comes_back(name: str, tmp_path: Path) -> None:
    value = saving._SAVABLE[name](*arguments(name))
    saving.save(tmp_path / "one", value)
    back = saving.load(tmp_path / "one", type(value))
    assert repr(back) == repr(value)
    saving.save(tmp_path / "two", back)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_reading_a_model_knows_every_class_and_the_paper_its_own() -> None:
    code = "import json, nodecopy.result; from nodecopy.core.saving import _SAVABLE\n"
    code += "known = [*_SAVABLE]; import nodecopy.paper, nodecopy.run\n"
    code += "print(json.dumps([known, [*_SAVABLE]]))"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
    known, with_paper = map(set, json.loads(run.stdout))
    assert with_paper == set(marked())
    assert with_paper - known == {*nodecopy.paper.__all__, "FittedTables"}
