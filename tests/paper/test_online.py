"""The online schedule: one trajectory, a fresh graph at every step, late iterates averaged."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from nodecopy.classifiers import fit_one
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import child_seed
from nodecopy.graph import Graph
from nodecopy.graph_models import CopyingPosterior, ObservedGraph
from nodecopy.nn.gcn import GCN
from nodecopy.paper import OnlineBayesianGCN
from nodecopy.problem.task import Task
from nodecopy.weights import TrainConfig, WeightSamples
from tests.problems import make_task, train

MEMBER = child_seed(1, "member", 0)


@dataclass(frozen=True)
class Recorder:
    """A graph model that answers with the observed graph and writes down what it is asked."""

    fits: list[np.ndarray] = field(default_factory=list)
    draws: list[tuple[int, int]] = field(default_factory=list)

    def fit(self, task: Task, probabilities: np.ndarray, seed: int) -> RecordingPosterior:
        self.fits.append(probabilities)
        return RecordingPosterior(self, task.graph, len(self.fits) - 1)


@dataclass(frozen=True)
class RecordingPosterior:
    """Knows how often the model was fitted before; every draw notes (epoch, that number)."""

    recorder: Recorder
    observed: Graph
    generation: int

    def graph(self, seed: int, v: int, i: int) -> Graph:
        self.recorder.draws.append((v, self.generation))
        return self.observed


def online(**settings: object) -> OnlineBayesianGCN:
    return OnlineBayesianGCN(**{"pretraining": 10, "epochs": 24, "collect": 5, **settings})


def trained(task: Task, epochs: int) -> WeightSamples:
    """Train the one network on the observed graph for so many epochs."""
    return train(GCN(), task, [task.graph], [MEMBER], TrainConfig(epochs=epochs))


def test_the_authors_number_of_epochs() -> None:
    for per_class, epochs in [(5, 400), (6, 350), (10, 350), (11, 300)]:
        assert OnlineBayesianGCN().epochs_for(make_task(per_class=per_class)) == epochs
    assert OnlineBayesianGCN(epochs=270).epochs_for(make_task()) == 270
    assert OnlineBayesianGCN(pretraining=390, collect=30).epochs_for(make_task()) == 420
    with pytest.raises(ModelError, match="at least 260; got 259"):
        OnlineBayesianGCN(epochs=259)


def test_collected_networks_are_consecutive_iterates(task: Task) -> None:
    fitted = fit_one(online(graph_model=ObservedGraph()), task, seed=1)
    assert len(fitted.samples) == len(fitted.graphs) == 5
    for i, epochs in enumerate(range(20, 25)):
        expected = trained(task, epochs).weights
        for name, weights in fitted.samples.weights.items():
            assert torch.allclose(weights[i], expected[name][0], atol=1e-6)
    first, second = fitted.samples.weights["w0"][:2]
    assert 1e-4 < (first - second).abs().max() < 0.02  # one Adam step of rate 0.01


@pytest.mark.parametrize("predict_on", ["observed", "sampled"])
def test_the_answer_is_the_average_of_the_iterates_without_dropout(
    task: Task, predict_on: str
) -> None:
    fitted = fit_one(online(predict_on=predict_on), task, seed=1)
    graphs = task.graph if predict_on == "observed" else list(fitted.graphs)
    each = fitted.samples.predict_proba(graphs, task.features)  # [5, N, K]
    np.testing.assert_allclose(fitted.probabilities, each.mean(0), atol=1e-6)
    assert fitted.posterior.num_draws == 1


def test_averages_refresh_the_model_once_collection_has_begun(task: Task) -> None:
    model = Recorder()
    fit_one(online(graph_model=model), task, seed=1)
    assert [epoch for epoch, _ in model.draws] == list(range(10, 24))
    generations = dict(model.draws)
    assert [generations[epoch] for epoch in range(10, 24)] == [0] * 10 + [1, 2, 3, 4]
    iterates = [trained(task, e).predict_proba(task.graph, task.features)[0] for e in range(20, 24)]
    for seen, expected in enumerate(np.cumsum(iterates, axis=0)):
        np.testing.assert_allclose(model.fits[1 + seen], expected / (seen + 1), atol=1e-6)


def test_networks_refresh_the_model_every_twenty_epochs(task: Task) -> None:
    model = Recorder()
    fit_one(online(epochs=60, refresh="network", graph_model=model), task, seed=1)
    generations = [generation for _, generation in model.draws]
    assert generations == [0] * 21 + [1] * 20 + [2] * 9
    for seen, epochs in enumerate((31, 51)):
        expected = trained(task, epochs).predict_proba(task.graph, task.features)[0]
        np.testing.assert_allclose(model.fits[1 + seen], expected, atol=1e-5)


@pytest.mark.parametrize("pretraining", [0, 10])
def test_without_a_base_the_pretrained_network_is_it(task: Task, pretraining: int) -> None:
    model = Recorder()
    schedule = {"pretraining": pretraining, "epochs": 13, "collect": 3}
    fitted = fit_one(online(**schedule, graph_model=model), task, seed=1)
    expected = trained(task, pretraining).predict_proba(task.graph, task.features)[0]
    np.testing.assert_allclose(model.fits[0], expected, atol=1e-6)
    assert fitted.base_probabilities is model.fits[0]
    assert len(fitted.samples) == 3


def test_collected_graphs_are_those_the_steps_were_taken_on(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[Graph] = []
    draw = CopyingPosterior.graph

    def noted(posterior: object, seed: int, v: int, i: int) -> Graph:
        used.append(draw(posterior, seed, v, i))
        return used[-1]

    monkeypatch.setattr("nodecopy.graph_models.copying.CopyingPosterior.graph", noted)
    fitted = fit_one(online(), task, seed=1)
    steps = used[:14]
    assert [g.built for g in fitted.graphs] == [g.built for g in steps[-5:]]
