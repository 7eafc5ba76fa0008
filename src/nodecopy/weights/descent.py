"""Gradient descent on the loss: M members at once, each exactly as if it were trained alone.

Every architecture and every caller trains through `Trainer.step`: `GradientDescent.fit` repeats it
on fixed graphs, the online schedule of `posterior` on a fresh graph each time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.data.task import Task
from nodecopy.errors import ModelError, TrainingError
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Reading, Weights, check_device
from nodecopy.progress import Progress
from nodecopy.rng import key64, stream
from nodecopy.savable import savable
from nodecopy.weights.objective import PADDING, CrossEntropy, Objective
from nodecopy.weights.samples import WeightSamples
from nodecopy.weights.stopping import EarlyStopping, Monitor


@savable
@dataclass(frozen=True)
class TrainConfig:
    """How to train; the defaults are the paper's (those of Kipf and Welling's GCN).

    Attributes:
        epochs: gradient steps, at most.
        learning_rate: of Adam.
        weight_decay: λ in the penalty λ/2 ‖W‖², part of the loss (coupled), on the weights that
            the network names.
        early_stopping: a rule on the validation nodes, or None to run all epochs.
        objective: the loss of a node; a member's loss is the mean over its labelled nodes.
        prune: compute only the rows that the loss needs; False gives the same weights, slowly.
        device: "cpu", "cuda", …
        memory: bytes that a batch of members may take; None is a quarter of the machine's.
    """

    epochs: int = 200
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    early_stopping: EarlyStopping | None = None
    objective: Objective = field(default_factory=CrossEntropy)
    prune: bool = True
    device: str = "cpu"
    memory: int | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.epochs < 0:
            raise ModelError(f"epochs must not be negative; got {self.epochs}")
        if self.learning_rate <= 0 or self.weight_decay < 0:
            raise ModelError("learning_rate must be positive and weight_decay not negative")
        check_device(self.device)

    @property
    def computing(self) -> Computing:
        """Where to compute, and within what bounds."""
        return Computing(self.device, self.memory, self.prune)

    def replace(self, **changes: object) -> TrainConfig:
        """Return a copy with some settings changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class GradientDescent:
    """Weight posteriors that train their members first; what a draw is, is theirs to say.

    Args:
        training: how the members are trained.
    """

    training: TrainConfig = field(default_factory=TrainConfig)

    @property
    def computing(self) -> Computing:
        """Where the members are trained."""
        return self.training.computing

    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Train M networks, member m on ``graphs[m]`` with ``seeds[m]``, and return their draws.

        Seeds name the initial weights and the dropout masks. Graphs are read once each, so they may
        be made on demand. ``progress`` is told (member-epochs done, member-epochs in all).
        """
        config, members = self.training, each_task(tasks, graphs, seeds)
        sets = _node_sets(members, config)
        layout = supervised(
            network, members, graphs, seeds, sets, config.computing, config.objective
        )
        parts = []
        for chosen, (labelled, *validation) in layout:
            trainer = Trainer(network, members[0], seeds[chosen], config, chosen.start)
            monitor = Monitor(config.early_stopping, trainer.snapshot())
            while trainer.epoch < config.epochs and not monitor.all_stopped:
                trainer.step(labelled)
                if validation:
                    monitor.update(*trainer.evaluate(validation[0]), trainer.weights)
                _report(progress, chosen, trainer.epoch, config.epochs, len(graphs))
            _report(progress, chosen, config.epochs, config.epochs, len(graphs))
            parts.append(monitor.final(trainer.weights))
            # Nothing keeps the inputs or the optimiser of a chunk while the next one is laid out.
            del trainer, labelled, validation
        stacked = {name: torch.cat([part[name] for part in parts]).cpu() for name in parts[0]}
        return self.draws_of(WeightSamples(network, stacked, tuple(seeds)), n_weights)

    def draws_of(self, trained: WeightSamples, n_weights: int) -> WeightSamples:
        """Return the draws of trained weights: here the weights themselves."""
        return trained


def train(
    network: Network,
    tasks: Task | Sequence[Task],
    graphs: Sequence[RowGraph],
    seeds: Sequence[int],
    config: TrainConfig | None = None,
    progress: Progress | None = None,
) -> WeightSamples:
    """Train M networks; see `GradientDescent.fit`."""
    descent = GradientDescent(config or TrainConfig())
    return descent.fit(network, tasks, graphs, seeds, 1, progress)


@dataclass(frozen=True, eq=False)
class Supervision:
    """The inputs of some members, with the labels of their output rows."""

    inputs: Any
    targets: Tensor  # [M, n], PADDING where a member has fewer
    objective: Objective

    @cached_property
    def counts(self) -> Tensor:
        """How many labelled rows each member has, as float32 [M]."""
        return (self.targets >= 0).sum(1).float()

    def total_losses(self, logits: Tensor) -> Tensor:
        """Return each member's loss summed over its own nodes, -log p(Y | W, X, G) [M]."""
        rows = logits[:, : self.targets.shape[1]]
        return self.objective.losses(rows, self.targets).sum(1)

    def losses(self, logits: Tensor) -> Tensor:
        """Return each member's mean loss over its own nodes [M]."""
        return self.total_losses(logits) / self.counts

    def accuracies(self, logits: Tensor) -> Tensor:
        """Return each member's accuracy over its own nodes [M]."""
        right = logits[:, : self.targets.shape[1]].argmax(-1) == self.targets
        return right.sum(1) / self.counts


def supervised(
    network: Network,
    tasks: Sequence[Task],
    graphs: Sequence[RowGraph],
    seeds: Sequence[int],
    sets: Sequence[tuple[NDArray[np.int64], ...]],
    computing: Computing,
    objective: Objective,
) -> Iterator[tuple[slice, list[Supervision]]]:
    """Lay out members around sets of labelled nodes: (members, a supervision for each set).

    Args:
        network: the architecture.
        tasks: one for each member.
        graphs: one for each member, read once each.
        seeds: one for each member.
        sets: the sets of nodes of each member; the first is trained on.
        computing: where, and within what bounds.
        objective: the loss.
    """
    sizes = (tasks[0].features.shape[1], tasks[0].num_classes)
    weights = network.initial_weights(*sizes, stream(0, "size"))
    readings = (Reading(*member) for member in zip(graphs, seeds, sets, strict=True))
    computing = computing.within(tasks[0].memory)
    layout = network.lay_out(readings, tasks[0].features, weights, computing, gradients=True)
    for members, inputs in layout:
        yield (
            members,
            [
                Supervision(each, _targets(tasks[members], nodes, computing.device), objective)
                for each, nodes in zip(inputs, zip(*sets[members], strict=True), strict=True)
            ],
        )
        del inputs


class Trainer:
    """Weights and optimiser state of M members, advanced one gradient step at a time."""

    def __init__(
        self,
        network: Network,
        task: Task,
        seeds: Sequence[int],
        config: TrainConfig,
        first: int = 0,
    ) -> None:
        self.network = network
        self._first = first  # number of the first member, for messages
        self.seeds = tuple(seeds)
        self.epoch = 0
        self.weights = initial_weights(network, task, seeds, torch.device(config.device))
        learnt = {name: w for name, w in self.weights.items() if network.trained(name)}
        decayed = [w for name, w in learnt.items() if network.decayed(name)]
        others = [w for name, w in learnt.items() if not network.decayed(name)]
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": config.weight_decay},
            {"params": others},
        ]
        groups = [group for group in groups if group["params"]]
        self._optimiser = torch.optim.Adam(groups, lr=config.learning_rate, fused=True)

    def step(self, supervision: Supervision) -> None:
        """Take one Adam step on every member's loss; members do not influence one another."""
        logits = self.network.forward(self.weights, supervision.inputs, epoch_key(self.epoch))
        losses = supervision.losses(logits)
        total = losses.sum()
        if not math.isfinite(total.item()):
            check_finite(losses.detach(), self._first, self.seeds, self.epoch)
        for weights in self.weights.values():
            weights.grad = None
        total.backward()
        self._optimiser.step()
        self.epoch += 1

    def evaluate(self, supervision: Supervision) -> tuple[Tensor, Tensor]:
        """Return (losses, accuracies) with dropout off, each [M]."""
        with torch.no_grad():
            logits = self.network.forward(self.weights, supervision.inputs, None)
            return supervision.losses(logits), supervision.accuracies(logits)

    def snapshot(self) -> Weights:
        """Return a copy of the current weights."""
        return {name: w.detach().clone() for name, w in self.weights.items()}


def each_task(
    tasks: Task | Sequence[Task], graphs: Sequence[RowGraph], seeds: Sequence[int]
) -> list[Task]:
    """Return one task for each member, or say which of tasks, graphs and seeds are too few."""
    members = [tasks] * len(graphs) if isinstance(tasks, Task) else list(tasks)
    if not len(members) == len(graphs) == len(seeds):
        raise ModelError(
            f"one task, graph and seed per member: got {len(members)}, {len(graphs)}, {len(seeds)}"
        )
    return members


def initial_weights(
    network: Network, task: Task, seeds: Sequence[int], device: torch.device
) -> Weights:
    """Stack the members' initial weights, each drawn from its own stream."""
    sizes = (task.features.shape[1], task.num_classes)
    drawn = [network.initial_weights(*sizes, stream(seed, "init")) for seed in seeds]
    return {
        name: torch.stack([member[name] for member in drawn])
        .to(device)
        .requires_grad_(network.trained(name))
        for name in drawn[0]
    }


def check_finite(
    losses: Tensor, first: int, seeds: Sequence[int], epoch: int, rate: str = "learning rate"
) -> None:
    """Raise an error that names the first member whose loss is not finite.

    Args:
        losses: of each member [M].
        first: number of the first of them.
        seeds: of the members.
        epoch: when this was seen.
        rate: the setting that may be too large.
    """
    wrong = (~torch.isfinite(losses)).nonzero()
    if len(wrong) == 0:
        return  # only the sum is too large to write down
    member = int(wrong[0])
    raise TrainingError(
        f"the loss of member {first + member} (seed {seeds[member]}) is "
        f"{float(losses[member])} at epoch {epoch}; try a smaller {rate} and "
        "check the scale of the features"
    )


def epoch_key(epoch: int) -> int:
    """Return the key of an epoch's dropout masks."""
    return key64(0, "epoch", epoch)


def draw_key(draw: int) -> int:
    """Return the key of the dropout masks of a posterior weight draw."""
    return key64(0, "draw", draw)


def _targets(tasks: Sequence[Task], nodes: Sequence[NDArray[np.int64]], device: str) -> Tensor:
    """Return the labels of each member's nodes, filled up with PADDING [M, n]."""
    targets = np.full((len(tasks), max(len(chosen) for chosen in nodes)), PADDING)
    for row, task, chosen in zip(targets, tasks, nodes, strict=True):
        row[: len(chosen)] = task.labels[chosen]
    return torch.as_tensor(targets, device=torch.device(device))


def _node_sets(tasks: Sequence[Task], config: TrainConfig) -> list[tuple[NDArray[np.int64], ...]]:
    """Return the nodes that each member is trained on, and with early stopping those it watches."""
    if config.early_stopping is None:
        return [(task.train,) for task in tasks]
    if any(len(task.val) == 0 for task in tasks):
        raise ModelError(
            "early stopping needs validation nodes and the task has none; "
            "give some, or set early_stopping=None"
        )
    return [(task.train, task.val) for task in tasks]


def _report(
    progress: Progress | None, chosen: slice, epoch: int, epochs: int, members: int
) -> None:
    """Say how many member-epochs are done, the members of a chunk being at an epoch."""
    if progress is not None:
        done = epochs * chosen.start + epoch * (chosen.stop - chosen.start)
        progress(done, epochs * members)
