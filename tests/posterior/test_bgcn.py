"""Algorithm 1: what it reduces to, what it depends on, and what it does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from nodecopy.classifiers import GCNClassifier, GivenProbabilities, LabelPropagation
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import Graph, RowGraph
from nodecopy.graph_models import MMSBM, NodeCopying, ObservedGraph
from nodecopy.nn.cheb import ChebNet
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.posterior import BayesianGCN, OnlineSchedule
from nodecopy.progress import Progress
from nodecopy.rng import child_seed
from nodecopy.weights import MCDropout, PointEstimate
from nodecopy.weights.descent import TrainConfig, train
from nodecopy.weights.samples import WeightSamples
from tests.problems import make_task, true_labels

SHORT = TrainConfig(epochs=12)
SMALL = BayesianGCN(n_zeta=2, n_graphs=2, n_weights=3, weights=MCDropout(SHORT))


def test_one_of_everything_on_the_observed_graph_is_the_plain_gcn(task: Task) -> None:
    network = GCN(dropout=0.0)
    model = BayesianGCN(
        graph_model=ObservedGraph(),
        weights=PointEstimate(SHORT),
        n_zeta=1,
        n_graphs=1,
        n_weights=1,
        network=network,
    )
    seed = child_seed(3, "member", 0)
    plain = train(network, task, [task.graph], [seed], SHORT)
    expected = plain.predict_proba(task.graph, task.features)[0]
    np.testing.assert_allclose(model.fit(task, seed=3).probabilities, expected, atol=1e-7)
    # With dropout off, drawing masks changes nothing either.
    masked = dataclasses.replace(model, weights=MCDropout(SHORT)).fit(task, seed=3)
    np.testing.assert_allclose(masked.probabilities, expected, atol=1e-7)


def test_members_are_trained_each_on_its_own_graph(task: Task) -> None:
    fitted = SMALL.fit(task, seed=1)
    posterior = NodeCopying().fit(task, fitted.base_probabilities, seed=0)
    for m, (v, i) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        graph = posterior.graph(1, v, i)
        assert fitted.graphs[m].built == graph.built
        alone = train(GCN(), task, [graph], [child_seed(1, "member", m)], SHORT)
        for name, weights in alone.weights.items():
            together = fitted.samples.weights[name][m]
            np.testing.assert_allclose(weights[0].numpy(), together.numpy(), atol=1e-6)


def test_the_base_gives_the_predicted_classes(task: Task) -> None:
    base = LabelPropagation()
    fitted = dataclasses.replace(SMALL, base=base).fit(task, seed=1)
    labels = base.fit(task).probabilities
    assert np.array_equal(fitted.base_probabilities, labels)
    drawn = NodeCopying().fit(task, labels, seed=0).graph(1, 1, 1)
    assert fitted.graphs[3].built == drawn.built


def test_without_a_base_a_network_like_the_members_is_trained(task: Task) -> None:
    model = dataclasses.replace(SMALL, network=ChebNet(degree=2))
    base = GCNClassifier(ChebNet(degree=2), SHORT).fit(task, child_seed(1, "base"))
    fitted = model.fit(task, seed=1)
    np.testing.assert_allclose(fitted.base_probabilities, base.probabilities, atol=1e-7)


def test_it_can_be_its_own_base(task: Task) -> None:
    inner = SMALL.fit(task, child_seed(1, "base"))
    outer = dataclasses.replace(SMALL, base=SMALL).fit(task, seed=1)
    assert np.array_equal(outer.base_probabilities, inner.probabilities)
    assert not np.array_equal(outer.probabilities, inner.probabilities)


def test_given_probabilities_as_base_may_be_the_truth(task: Task) -> None:
    given = np.eye(3)[true_labels(task)]
    fitted = dataclasses.replace(SMALL, base=GivenProbabilities(given)).fit(task)
    assert fitted.base_probabilities is given
    with pytest.raises(ModelError, match=r"shape \[90, 3\]"):
        dataclasses.replace(SMALL, base=GivenProbabilities(given[:5])).fit(task)


def test_predictions_may_be_made_on_the_sampled_graphs(task: Task) -> None:
    observed = SMALL.fit(task, seed=2)
    sampled = dataclasses.replace(SMALL, predict_on="sampled").fit(task, seed=2)
    by_hand = np.zeros((90, 3))
    for m, graph in enumerate(observed.graphs):
        member = observed.samples.take(slice(m, m + 1))
        for _, _, p in member.predictions(graph, task.features):
            by_hand += p[0] / 12
    np.testing.assert_allclose(sampled.probabilities, by_hand, atol=1e-6)
    assert np.abs(observed.probabilities - by_hand).max() > 1e-3


def test_the_seed_decides_every_bit(task: Task) -> None:
    first, again, other = (SMALL.fit(task, seed=s) for s in (4, 4, 5))
    for name, weights in first.samples.weights.items():
        assert np.array_equal(weights.numpy(), again.samples.weights[name].numpy())
    for part in ("probabilities", "expected_entropy", "graph_information", "weight_information"):
        one, two = getattr(first.posterior, part), getattr(again.posterior, part)
        assert np.array_equal(one, two)
        assert not np.array_equal(one, getattr(other.posterior, part))


@pytest.mark.parametrize("predict_on", ["observed", "sampled"])
def test_the_memory_bound_changes_nothing(task: Task, predict_on: str) -> None:
    model = dataclasses.replace(SMALL, predict_on=predict_on)
    tight = dataclasses.replace(model, weights=MCDropout(SHORT.replace(memory=1)))
    whole, parts = model.fit(task, seed=4).posterior, tight.fit(task, seed=4).posterior
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, atol=1e-5)
    np.testing.assert_allclose(parts.entropy, whole.entropy, atol=1e-5)
    np.testing.assert_allclose(parts.graph_information, whole.graph_information, atol=1e-5)


def test_more_zetas_keep_the_first_ones(task: Task) -> None:
    few, many = (dataclasses.replace(SMALL, n_zeta=v).fit(task, seed=4) for v in (1, 2))
    assert [g.built for g in few.graphs] == [g.built for g in many.graphs[:2]]
    assert few.samples.seeds == many.samples.seeds[:2]


def test_hidden_labels_change_nothing(task: Task) -> None:
    scrambled = true_labels(task).copy()
    hidden = np.setdiff1d(np.arange(90), [*task.train, *task.val])
    scrambled[hidden] = (scrambled[hidden] + 1) % 3
    other = Task.of(task.graph, task.features, scrambled, task.train, task.val, num_classes=3)
    assert np.array_equal(SMALL.fit(task).probabilities, SMALL.fit(other).probabilities)


@pytest.mark.parametrize(
    "base", [None, LabelPropagation(), SMALL, GivenProbabilities(np.full((90, 3), 1 / 3))]
)
def test_progress_never_goes_back_and_reaches_its_end(task: Task, base: object) -> None:
    seen: list[tuple[int, int]] = []
    model = dataclasses.replace(SMALL, base=base)
    model.fit(task, progress=lambda done, total: seen.append((done, total)))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1]
    assert len(set(done)) > 10


@pytest.mark.parametrize("construction", ["sum", "row"])
def test_other_constructions_fit_too(task: Task, construction: str) -> None:
    model = dataclasses.replace(SMALL, graph_model=NodeCopying(construction=construction))
    for predict_on in ("observed", "sampled"):
        p = dataclasses.replace(model, predict_on=predict_on).fit(task).probabilities
        np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)


def test_the_observed_graph_leaves_a_deep_ensemble(task: Task) -> None:
    ensemble = dataclasses.replace(SMALL, graph_model=ObservedGraph(), weights=PointEstimate(SHORT))
    fitted = ensemble.fit(task)
    assert all(graph is task.graph for graph in fitted.graphs)
    each = fitted.samples.predict_proba(task.graph, task.features)  # [4, N, K]
    np.testing.assert_allclose(fitted.probabilities, each.mean(0), atol=1e-6)
    assert fitted.posterior.num_draws == 1
    np.testing.assert_allclose(fitted.posterior.weight_information, 0, atol=1e-12)


def test_one_member_under_mc_dropout_has_no_graph_part(task: Task) -> None:
    model = dataclasses.replace(SMALL, graph_model=ObservedGraph(), n_zeta=1, n_graphs=1)
    posterior = model.fit(task).posterior
    np.testing.assert_allclose(posterior.graph_information, 0, atol=1e-6)
    assert np.mean(posterior.weight_information) > 1e-4


def test_weights_are_dropout_for_algorithm_1_and_iterates_for_the_online_schedule() -> None:
    assert BayesianGCN().weight_posterior() == MCDropout()
    online = BayesianGCN(schedule=OnlineSchedule())
    assert online.weight_posterior() == PointEstimate()
    for schedule in ("algorithm1", OnlineSchedule()):
        for weights in (MCDropout(), PointEstimate()):
            model = BayesianGCN(weights=weights, schedule=schedule)
            assert model.weight_posterior() is weights


def test_weight_draws_are_counted() -> None:
    task = make_task()
    for weights, draws in ((MCDropout(SHORT), 7), (PointEstimate(SHORT), 1)):
        samples = weights.fit(GCN(), task, [task.graph], [1], n_weights=7)
        assert samples.num_draws == draws
        assert len(list(samples.predictions(task.graph, task.features))) == draws


@dataclasses.dataclass(frozen=True)
class Jitter:
    """A weight posterior from outside the package: the trained weights, scaled."""

    computing = Computing()

    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        trained = train(network, tasks, graphs, seeds, SHORT, progress)
        scales = torch.arange(1.0, n_weights + 1)
        weights = {
            name: (w[:, None] * scales.view(-1, *[1] * (w.dim() - 1))).flatten(0, 1)
            for name, w in trained.weights.items()
        }
        return dataclasses.replace(trained, weights=weights, stored=n_weights)


def test_a_weight_posterior_from_outside_is_used(task: Task) -> None:
    on_classes = dataclasses.replace(SMALL, base=LabelPropagation())
    fitted = dataclasses.replace(on_classes, weights=Jitter()).fit(task, seed=1)
    plain = dataclasses.replace(on_classes, weights=PointEstimate(SHORT)).fit(task, seed=1)
    by_hand = []
    for scale in (1, 2, 3):
        weights = {name: w * scale for name, w in plain.samples.weights.items()}
        scaled = dataclasses.replace(plain.samples, weights=weights)
        by_hand.append(scaled.predict_proba(task.graph, task.features))
    np.testing.assert_allclose(fitted.probabilities, np.mean(by_hand, axis=(0, 1)), atol=1e-6)
    assert fitted.posterior.num_draws == 3


def test_it_predicts_on_a_grown_graph(task: Task) -> None:
    fitted = SMALL.fit(task)
    n = task.graph.num_nodes
    grown = Graph.from_edges(n + 1, [*task.graph.edges(), (n, 0), (n, 1)])
    features = sp.vstack([task.features, task.features[[0]]]).tocsr()
    posterior = fitted.predict(grown, features)
    assert posterior.probabilities.shape == (n + 1, 3)
    untouched = np.setdiff1d(np.arange(n), grown.k_hop([n], 3))
    assert len(untouched) > 10
    np.testing.assert_allclose(
        posterior.probabilities[untouched], fitted.probabilities[untouched], atol=1e-6
    )
    same = fitted.predict(task.graph, task.features)
    assert np.array_equal(same.probabilities, fitted.probabilities)


def test_sparse_and_dense_features_agree() -> None:
    sparse, dense = (SMALL.fit(make_task(dense=d), seed=6).probabilities for d in (False, True))
    np.testing.assert_allclose(sparse, dense, atol=1e-4)


def test_copying_helps_where_classes_are_known(task: Task) -> None:
    """With the true classes as ĉ, averaging over copies is better than the plain GCN."""
    truth = true_labels(task)
    given = GivenProbabilities(np.eye(3)[truth])
    training = TrainConfig(epochs=60)
    model = BayesianGCN(base=given, n_zeta=5, n_weights=1, weights=PointEstimate(training))
    copied = model.fit(task).probabilities
    plain = GCNClassifier(training=training).fit(task).probabilities
    loss = [-np.log(p[np.arange(90), truth]).mean() for p in (copied, plain)]
    assert loss[0] < loss[1]


@pytest.mark.parametrize("name", ["n_zeta", "n_graphs", "n_weights"])
@pytest.mark.parametrize("value", [0, -3])
def test_there_is_at_least_one_of_each_draw(name: str, value: int) -> None:
    with pytest.raises(ModelError, match=f"{name} must be a whole number, at least 1; got {value}"):
        BayesianGCN(**{name: value})


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ModelError, match="'observd'; did you mean 'observed'"):
        BayesianGCN(predict_on="observd")
    with pytest.raises(ModelError, match="must be 'algorithm1' or an OnlineSchedule; got 'online'"):
        BayesianGCN(schedule="online")


@pytest.mark.parametrize("schedule", ["algorithm1", OnlineSchedule(10, 40, 15, "network")])
def test_the_two_bayesian_rows_of_the_paper_differ_by_one_argument(
    schedule: Literal["algorithm1"] | OnlineSchedule,
) -> None:
    task = make_task()
    quick = MMSBM(cold_iterations=20, warm_iterations=10)
    shared = {"n_zeta": 2, "n_weights": 2, "schedule": schedule}
    shared["weights"] = (MCDropout if schedule == "algorithm1" else PointEstimate)(SHORT)
    copying = BayesianGCN(**shared).fit(task, seed=1)
    blocks = BayesianGCN(graph_model=quick, **shared).fit(task, seed=1)
    np.testing.assert_array_equal(copying.base_probabilities, blocks.base_probabilities)
    assert not np.allclose(copying.probabilities, blocks.probabilities)
    assert np.mean(blocks.probabilities.argmax(1) == true_labels(task)) > 0.5
    on_sampled = blocks.predict(blocks.graphs, task.features)
    again = BayesianGCN(graph_model=quick, predict_on="sampled", **shared).fit(task, seed=1)
    np.testing.assert_array_equal(on_sampled.probabilities, again.probabilities)
