"""Our architectures against PyTorch Geometric's layers, given the same weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Network
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.paper.networks import GAT, ChebNet
from nodecopy.weights import WeightSamples
from nodecopy.weights.descent import TrainConfig
from tests.problems import make_task, train

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch_geometric_nn = pytest.importorskip("torch_geometric.nn")

TASK = make_task()
EDGES = torch.as_tensor(np.stack([TASK.graph.row_of_entry(), TASK.graph.indices]).astype(np.int64))
X = torch.as_tensor(TASK.features.toarray())


def trained(network: Network) -> WeightSamples:
    return train(network, TASK, [TASK.graph] * 2, [1, 2], TrainConfig(epochs=3))


def ours(ensemble: WeightSamples) -> torch.Tensor:
    return torch.as_tensor(ensemble.predict_proba(TASK.graph, TASK.features))


@pytest.mark.parametrize("hidden", [(), (16,), (7, 5)])
def test_gcn(hidden: tuple[int, ...]) -> None:
    network = GCN(hidden=hidden)
    ensemble = trained(network)
    for member in range(2):
        h = X
        for layer in range(network.hops):
            w = ensemble.weights[f"w{layer}"][member]
            conv = torch_geometric_nn.GCNConv(*w.shape, bias=False)
            conv.lin.weight.data = w.T
            h = conv(torch.relu(h) if layer else h, EDGES)
        torch.testing.assert_close(ours(ensemble)[member], h.softmax(-1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_cheb(degree: int) -> None:
    network = ChebNet(hidden=(6,), degree=degree)
    ensemble = trained(network)
    largest = torch.tensor(2.0)
    for member in range(2):
        h = X
        for layer in range(2):
            w = ensemble.weights[f"w{layer}"][member]
            powers = w.chunk(degree + 1, dim=1)
            conv = torch_geometric_nn.ChebConv(
                w.shape[0], powers[0].shape[1], degree + 1, bias=False
            )
            for linear, power in zip(conv.lins, powers, strict=True):
                linear.weight.data = power.T
            h = conv(torch.relu(h) if layer else h, EDGES, lambda_max=largest)
        torch.testing.assert_close(ours(ensemble)[member], h.softmax(-1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("output_heads", [1, 3])
def test_gat(output_heads: int) -> None:
    network = GAT(hidden=(4,), heads=3, output_heads=output_heads)
    ensemble = trained(network)
    for member in range(2):
        h = X
        for layer, (units, heads) in enumerate([(4, 3), (TASK.num_classes, output_heads)]):
            part = {key: w[member] for key, w in ensemble.weights.items()}
            conv = torch_geometric_nn.GATConv(h.shape[1], units, heads, concat=layer == 0)
            conv.lin.weight.data = part[f"w{layer}"].T
            conv.att_dst.data = part[f"target{layer}"][None]
            conv.att_src.data = part[f"source{layer}"][None]
            conv.bias.data = part[f"b{layer}"][0]
            h = conv(torch.nn.functional.elu(h) if layer else h, EDGES)
        torch.testing.assert_close(ours(ensemble)[member], h.softmax(-1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("model", ["GraphSAGE", "GAT", "GIN", "PNA", "EdgeCNN"])
def test_its_models_can_be_members(model: str) -> None:
    more = {"v2": True, "heads": 2} if model == "GAT" else {"norm": "batch"}
    if model == "PNA":
        more |= {"aggregators": ["mean", "max"], "scalers": ["identity"], "deg": torch.ones(9)}
    kind = getattr(torch_geometric_nn, model)
    network = TorchNetwork(lambda d, k: kind(d, 8, 2, k, dropout=0.5, **more))
    p = ours(trained(network))
    assert p.shape == (2, 90, 3)
    assert not torch.allclose(p[0], p[1])
    assert torch.equal(p, ours(trained(network)))
