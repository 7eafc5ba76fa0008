"""Any PyTorch module as a network: its own dropout and batch norm, member by member."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nodecopy import TorchNetwork
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.nn.network import Computing, Reading
from nodecopy.nn.torch_module import ModuleInputs
from nodecopy.problem.task import Task
from nodecopy.weights import TrainConfig, WeightSamples
from tests.modules import Sage, Weighted, without_dropout
from tests.problems import make_task, train

NETWORK = TorchNetwork(Sage)
SHORT = TrainConfig(epochs=5)


def inputs_of(network: TorchNetwork, task: Task, graph: Graph, **settings: object) -> ModuleInputs:
    weights = network.initial_weights(task.features.shape[1], task.num_classes, stream(0, "size"))
    readings = [Reading(graph, 7, (None,))]
    ((_, (inputs,)),) = network.lay_out(readings, task.features, weights, Computing(**settings))
    return inputs


def same(one: WeightSamples, other: WeightSamples) -> bool:
    """Tell whether weights are the same but for the last digits, which vector lengths decide."""
    close = (torch.allclose(w, other.weights[name], atol=1e-6) for name, w in one.weights.items())
    return one.weights.keys() == other.weights.keys() and all(close)


def test_it_trains_as_a_plain_loop_does(task: Task) -> None:
    """Dropout off, so that nothing but the order of random numbers could differ."""

    network, module = TorchNetwork(without_dropout), without_dropout(24, 3)
    trained = train(network, task, [task.graph], [4], SHORT)
    start = network.initial_weights(task.features.shape[1], task.num_classes, stream(4, "init"))
    module.load_state_dict(state(start))
    adam = torch.optim.Adam(module.parameters(), lr=0.01, weight_decay=5e-4)
    x = torch.as_tensor(task.features.toarray())
    edges = torch.as_tensor(
        np.stack([task.graph.indices, task.graph.row_of_entry()]).astype(np.int64)
    )
    train_nodes = torch.tensor(task.train.tolist())
    y = torch.as_tensor(task.labels[task.train])
    for _ in range(5):
        adam.zero_grad()
        functional.cross_entropy(module(x, edges)[train_nodes], y).backward()
        adam.step()
    result = state({name: w[0] for name, w in trained.weights.items()})
    for name, w in module.state_dict().items():
        torch.testing.assert_close(result[name], w)
    assert int(result["norm.num_batches_tracked"]) == 5
    expected = module.eval()(x, edges).softmax(1).detach().numpy()
    for key in (None, 3):  # dropout on: batch norm keeps to its statistics in draws
        drawn = dataclasses.replace(trained, keys=(key,))
        p = drawn.predict_proba(task.graph, task.features)[0]
        np.testing.assert_allclose(p, expected, atol=1e-6)


def state(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix("fixed:"): w for name, w in weights.items() if name != "fixed:num_classes"
    }


class FunctionalDropout(nn.Module):
    """Dropout as PyTorch Geometric's layers have it, and a statistic that is assigned again."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(num_features, num_classes)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        self.calls = self.calls + 1
        return self.linear(functional.dropout(x, 0.5, training=self.training))


@pytest.mark.parametrize("build", [Sage, FunctionalDropout])
def test_dropout_is_on_under_a_key_only(task: Task, build: type[nn.Module]) -> None:
    network = TorchNetwork(build)
    weights = train(network, task, [task.graph], [1], SHORT).weights
    before = {name: w.clone() for name, w in weights.items()}
    inputs = inputs_of(network, task, task.graph)
    with torch.no_grad():
        off, again = (network.forward(weights, inputs, None) for _ in range(2))
        first, other = (network.forward(weights, inputs, s) for s in range(2))
        repeated = network.forward(weights, inputs, 0)
    assert torch.equal(off, again)
    # Predicting changes nothing that was learnt; training keeps a buffer that is assigned again.
    assert all(torch.equal(w, before[name]) for name, w in weights.items())
    assert weights.get("fixed:calls", torch.tensor([5.0])).tolist() == [5.0]
    assert torch.equal(first, repeated)
    assert not torch.allclose(first, other)
    assert not torch.allclose(first, off)


@pytest.mark.parametrize("dense", [True, False])
def test_a_node_aggregates_over_its_row(dense: bool) -> None:
    task = make_task(dense=dense)
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(
        90, rng.integers(0, 90, (200, 2)), rng.random(200) + 0.1, directed=True
    )
    network = TorchNetwork(Weighted)
    weights = network.initial_weights(24, 3, stream(0, "x"))
    x = task.features if dense else task.features.toarray()
    for given in (graph, Graph.from_edges(90, graph.edges(), directed=True)):
        inputs = inputs_of(network, task, given)
        stacked = {name: w[None] for name, w in weights.items()}
        logits = network.forward(stacked, inputs, None)[0]
        hidden = torch.as_tensor(given.to_scipy() @ x, dtype=torch.float32)
        expected = functional.linear(hidden, weights["linear.weight"], weights["linear.bias"])
        torch.testing.assert_close(logits, expected)


def test_frozen_parameters_stay(task: Task) -> None:
    def build(d: int, k: int) -> nn.Module:
        module = Sage(d, k)
        module.first.requires_grad_(False)
        return module

    network = TorchNetwork(build)
    start = network.initial_weights(24, 3, stream(1, "init"))
    trained = train(network, task, [task.graph], [1], SHORT)
    assert torch.equal(trained.weights["fixed:first.weight"][0], start["fixed:first.weight"])
    assert not torch.equal(trained.weights["last.weight"][0], start["last.weight"])


class Probabilities(Sage):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return super().forward(x, edge_index).softmax(1)


class Cached(Sage):
    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__(num_features, num_classes)
        self.first.cached = True  # type: ignore[assignment]


def test_mistakes_that_would_go_unnoticed_are_refused(task: Task) -> None:
    for build, message in ((Probabilities, "probabilities.* log_softmax"), (Cached, "cached=Fal")):
        with pytest.raises(ModelError, match=message):
            train(TorchNetwork(build), task, [task.graph], [1], SHORT)
    with pytest.raises(ModelError, match="a function .* got a Sage"):
        TorchNetwork(Sage(24, 3))
