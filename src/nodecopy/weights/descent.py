"""Gradient descent on the loss: M members at once, each exactly as if it were trained alone.

    W ← Adam(W, ∇ [mean over labelled i of loss(z_i, y_i) + λ/2 ‖W‖²])

Kingma and Ba (2015), "Adam: a method for stochastic optimization". Every architecture and every
caller trains through `Trainer.step`: `PointEstimate.fit` repeats it on fixed graphs, the online
schedule of the paper on a fresh graph each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nodecopy.core.errors import TrainingError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import key64, stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Limits, NonNegative, Positive, Settings
from nodecopy.graph import RowGraph
from nodecopy.nn.batch import padded
from nodecopy.nn.network import Computing, Network, Reading, Weights
from nodecopy.problem.task import Task

PADDING = -100
"""The label of padding rows, where members have fewer labelled nodes than others."""


@savable
@dataclass(frozen=True)
class TrainConfig(Settings):
    """How to train; the defaults are the paper's (those of Kipf and Welling's GCN).

    Attributes:
        epochs: gradient steps, at most.
        learning_rate: of Adam.
        weight_decay: λ in the penalty λ/2 ‖W‖², part of the loss (coupled), on the weights that
            the network names.
        patience: epochs without a better validation loss or accuracy after which a member stops
            (`mc_dropout.Monitor`); None runs all epochs.
        computing: where to compute, and within what bounds.
    """

    epochs: Annotated[int, Limits(0)] = 200
    learning_rate: Positive = 0.01
    weight_decay: NonNegative = 5e-4
    patience: Count | None = None
    computing: Computing = field(default_factory=Computing)


@dataclass(frozen=True, eq=False)
class Supervision:
    """The inputs of some members, with the labels of their output rows."""

    inputs: Any
    targets: Tensor  # [M, n], PADDING where a member has fewer

    @cached_property
    def counts(self) -> Tensor:
        """How many labelled rows each member has, as float32 [M]."""
        return (self.targets >= 0).sum(1).float()

    def total_losses(self, logits: Tensor) -> Tensor:
        """Return each member's loss summed over its own nodes, -log p(Y | W, X, G) [M].

        The loss of a node is the cross-entropy -log softmax(z)_y, the paper's.
        """
        rows = logits[:, : self.targets.shape[1]].flatten(0, 1)  # [M n, K]
        flat = functional.cross_entropy(
            rows, self.targets.flatten(), reduction="none", ignore_index=PADDING
        )
        return flat.view_as(self.targets).sum(1)

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
    graphs: Iterable[RowGraph],
    seeds: Sequence[int],
    sets: Sequence[tuple[NDArray[np.int64], ...]],
    computing: Computing,
) -> Iterator[tuple[slice, list[Supervision]]]:
    """Lay out members around sets of labelled nodes: (members, a supervision for each set).

    Args:
        network: the architecture.
        tasks: one for each member.
        graphs: one for each member, read once each.
        seeds: one for each member.
        sets: the sets of nodes of each member; the first is trained on.
        computing: where, and within what bounds.
    """
    sizes = (tasks[0].features.shape[1], tasks[0].num_classes)
    weights = network.initial_weights(*sizes, stream(0, "size"))
    readings = (Reading(*member) for member in zip(graphs, seeds, sets, strict=True))
    layout = network.lay_out(readings, tasks[0].features, weights, computing)
    for members, inputs in layout:
        supervisions = []
        for each, nodes in zip(inputs, zip(*sets[members], strict=True), strict=True):
            chosen = zip(tasks[members], nodes, strict=True)
            labels = padded([task.labels[labelled] for task, labelled in chosen], PADDING)
            targets = torch.as_tensor(labels, device=torch.device(computing.device))  # [M, n]
            supervisions.append(Supervision(each, targets))
        yield members, supervisions
        del inputs, supervisions, each


@dataclass(frozen=True, eq=False)
class Members:
    """Some of the members, fitted at a time.

    Attributes:
        network: their architecture.
        task: says how many features and classes there are.
        seeds: one for each.
        first: number of the first of them, for messages.
    """

    network: Network
    task: Task
    seeds: Sequence[int]
    first: int = 0

    def initial_weights(self, device: str) -> Weights:
        """Stack the members' initial weights, each drawn from its own stream [M, …]."""
        sizes = (self.task.features.shape[1], self.task.num_classes)
        streams = (stream(seed, "init") for seed in self.seeds)
        drawn = [self.network.initial_weights(*sizes, rng) for rng in streams]
        weights = {name: torch.stack([one[name] for one in drawn]).to(device) for name in drawn[0]}
        return {name: w.requires_grad_(self.network.trained(name)) for name, w in weights.items()}

    def check_finite(self, losses: Tensor, epoch: int, rate: str = "learning rate") -> None:
        """Raise an error that names the first member whose loss is not finite.

        Args:
            losses: of each member [M].
            epoch: of the loss.
            rate: the setting that may be too large.
        """
        finite = torch.isfinite(losses)
        if bool(finite.all()):
            return
        m = int((~finite).nonzero()[0])
        raise TrainingError(
            f"the loss of member {self.first + m} (seed {self.seeds[m]}) is {float(losses[m])} at "
            f"epoch {epoch}; try a smaller {rate} and check the scale of the features"
        )


class Trainer:
    """Weights and optimiser state of M members, advanced one gradient step at a time."""

    def __init__(self, members: Members, config: TrainConfig) -> None:
        self._members, self.epoch = members, 0
        network = members.network
        self.weights = members.initial_weights(config.computing.device)
        groups = [
            {"params": [w], "weight_decay": config.weight_decay if network.decayed(name) else 0.0}
            for name, w in self.weights.items()
            if network.trained(name)
        ]
        self._optimiser = torch.optim.Adam(groups, lr=config.learning_rate, fused=True)

    def step(self, supervision: Supervision) -> None:
        """Take one Adam step on every member's loss; members do not influence one another."""
        masks = key64(0, "epoch", self.epoch)
        losses = supervision.losses(
            self._members.network.forward(self.weights, supervision.inputs, masks)
        )
        self._members.check_finite(losses.detach(), self.epoch)
        for weights in self.weights.values():
            weights.grad = None
        losses.sum().backward()
        self._optimiser.step()
        self.epoch += 1

    def evaluate(self, supervision: Supervision) -> tuple[Tensor, Tensor]:
        """Return (losses, accuracies) with dropout off, each [M]."""
        with torch.no_grad():
            logits = self._members.network.forward(self.weights, supervision.inputs, None)
            return supervision.losses(logits), supervision.accuracies(logits)

    def snapshot(self) -> Weights:
        """Return a copy of the current weights."""
        return {name: w.detach().clone() for name, w in self.weights.items()}


def chunk_progress(progress: Progress | None, chosen: slice, members: int) -> Progress:
    """Return the progress of some members, called with (steps done, steps in all) of theirs."""

    def report(done: int, steps: int) -> None:
        if progress is not None:
            size = chosen.stop - chosen.start
            progress(steps * chosen.start + done * size, steps * members)

    return report


def joined(parts: Sequence[Weights]) -> Weights:
    """Put the weights of some members after those of others, in main memory."""
    return {name: torch.cat([part[name].detach().cpu() for part in parts]) for name in parts[0]}
