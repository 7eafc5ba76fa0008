"""Methods beyond the paper: PyTorch Geometric's networks, and the default without calibration."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from nodecopy.classifiers import fit_one
from nodecopy.core.errors import ModelError
from nodecopy.paper.methods import build_method
from nodecopy.paper.networks import APPNP
from tests.problems import make_task, true_labels


@pytest.mark.parametrize("name", ["sgc", "appnp"])
def test_geometric_networks_learn_from_training_labels_alone(name: str) -> None:
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    task, method = make_task(), build_method(name, "cora", 5)
    p = fit_one(method, task, seed=1).probabilities
    assert np.mean(p.argmax(1) == true_labels(task)) > 0.6
    np.testing.assert_array_equal(p, fit_one(method, task, seed=1).probabilities)
    alone = replace(task, val=task.val[:0])
    np.testing.assert_array_equal(p, fit_one(method, alone, seed=1).probabilities)


def test_sparse_features_of_appnp_equal_dense_layers() -> None:
    layers = pytest.importorskip("torch_geometric.nn", reason="PyTorch Geometric is not installed")
    task = make_task()
    dense = task.features.toarray() if sp.issparse(task.features) else task.features
    x = torch.tensor(dense, dtype=torch.float32)
    edges = torch.tensor(np.stack([task.graph.indices, task.graph.row_of_entry()]).astype(np.int64))
    ours = APPNP(x.shape[1], task.num_classes).eval()
    hidden = ours.second(ours.first(x).relu())
    expected = layers.APPNP(10, alpha=0.1)(hidden, edges)
    torch.testing.assert_close(ours(x, edges), expected)
    ours(x, edges).square().sum().backward()
    gradient = ours.first.weight.grad.clone()
    ours.zero_grad()
    expected.square().sum().backward()
    torch.testing.assert_close(gradient, ours.first.weight.grad)


@pytest.mark.parametrize("name", ["sgc", "appnp"])
def test_without_pytorch_geometric_one_line_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(ModelError, match=r"needs PyTorch Geometric: pip install 'nodecopy\[pyg\]'"):
        build_method(name, "cora", 5)


def test_the_default_reads_no_validation_label() -> None:
    task, method = make_task(), build_method("best", "cora", 5)
    labels = task.labels.copy()
    labels[task.val] = -1
    alone = replace(task, val=task.val[:0], labels=labels)
    np.testing.assert_array_equal(
        fit_one(method, task).probabilities, fit_one(method, alone).probabilities
    )
