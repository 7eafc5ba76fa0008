"""The one training loop: M members at once, each exactly as if it were trained alone.

Every architecture and every caller trains through `Trainer.step`: `train` repeats it on fixed
graphs, the online schedule of `posterior` on a fresh graph each time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nodecopy.data.task import Task
from nodecopy.errors import ModelError, TrainingError
from nodecopy.graph import Graph
from nodecopy.nn.batch import Batch
from nodecopy.nn.ensemble import Ensemble
from nodecopy.nn.memory import chunks_within, field_bytes
from nodecopy.nn.network import Network, Weights
from nodecopy.nn.receptive import ReceptiveField, receptive_field
from nodecopy.nn.stopping import EarlyStopping, Monitor
from nodecopy.rng import key64, stream

Progress = Callable[[int, int], None]
"""Called with (member-epochs done, member-epochs in all) after each epoch."""


@dataclass(frozen=True)
class TrainConfig:
    """How to train; the defaults are the paper's (those of Kipf and Welling's GCN).

    Attributes:
        epochs: gradient steps, at most.
        learning_rate: of Adam.
        weight_decay: λ in the penalty λ/2 ‖W‖², part of the loss (coupled), on the weights that
            the network names.
        early_stopping: a rule on the validation nodes, or None to run all epochs.
        prune: compute only the rows that the loss needs; False gives the same weights, slowly.
        device: "cpu", "cuda", …
        memory: bytes that a batch of members may take; None is a quarter of the machine's.
    """

    epochs: int = 200
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    early_stopping: EarlyStopping | None = None
    prune: bool = True
    device: str = "cpu"
    memory: int | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.epochs < 0:
            raise ModelError(f"epochs must not be negative; got {self.epochs}")
        if self.learning_rate <= 0 or self.weight_decay < 0:
            raise ModelError("learning_rate must be positive and weight_decay not negative")

    def replace(self, **changes: object) -> TrainConfig:
        """Return a copy with some settings changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


def train(
    network: Network,
    tasks: Task | Sequence[Task],
    graphs: Sequence[Graph],
    seeds: Sequence[int],
    config: TrainConfig | None = None,
    progress: Progress | None = None,
) -> Ensemble:
    """Train M networks, member m on ``graphs[m]`` with ``seeds[m]``.

    Args:
        network: the architecture.
        tasks: features and labels; one for all members, or one for each (of the same features).
        graphs: M graphs; read once each, so they may be made on demand.
        seeds: M seeds, which name the initial weights and the dropout masks.
        config: how to train.
        progress: called after each epoch.
    """
    config = config or TrainConfig()
    members = [tasks] * len(graphs) if isinstance(tasks, Task) else list(tasks)
    if not len(members) == len(graphs) == len(seeds):
        raise ModelError(
            f"one task, graph and seed per member: got {len(members)}, {len(graphs)}, {len(seeds)}"
        )
    if config.early_stopping is not None and any(len(task.val) == 0 for task in members):
        raise ModelError(
            "early stopping needs validation nodes and the task has none; "
            "give some, or set early_stopping=None"
        )
    parts = []
    fields = _member_fields(network, members, graphs, config)
    for chosen, chunk in chunks_within(fields, config.memory):

        def report(epoch: int, before: int = chosen.start, size: int = len(chunk)) -> None:
            if progress is not None:
                progress(config.epochs * before + epoch * size, config.epochs * len(graphs))

        # Nothing here keeps the batch or the optimiser of a chunk while the next one is laid out.
        trainer = Trainer(network, members[0], seeds[chosen], config, chosen.start)
        parts.append(_run(trainer, members[chosen], chunk, config, report))
        del trainer
    stacked = {name: torch.cat([part[name] for part in parts]).cpu() for name in parts[0]}
    return Ensemble(network, stacked, tuple(seeds))


@dataclass(frozen=True, eq=False)
class Supervision:
    """A batch with the labels of its output rows."""

    batch: Batch
    targets: Tensor  # [M, n_0], -100 where padded

    @cached_property
    def counts(self) -> Tensor:
        """How many labelled rows each member has, as float32 [M]."""
        return (self.targets >= 0).sum(1).float()

    @classmethod
    def over(
        cls,
        network: Network,
        tasks: Sequence[Task],
        graphs: Sequence[Graph],
        part: str,
        seeds: Sequence[int],
        config: TrainConfig,
    ) -> Supervision:
        """Lay out the members' graphs around their ``part``: "train" or "val" nodes."""
        fields = [
            receptive_field(
                graph, getattr(task, part), network.hops, network.operator, prune=config.prune
            )
            for task, graph in zip(tasks, graphs, strict=True)
        ]
        return cls.of_fields(fields, tasks, part, seeds, config)

    @classmethod
    def of_fields(
        cls,
        fields: Sequence[ReceptiveField],
        tasks: Sequence[Task],
        part: str,
        seeds: Sequence[int],
        config: TrainConfig,
    ) -> Supervision:
        """Do the same from receptive fields that are there already."""
        device = torch.device(config.device)
        batch = Batch(fields, tasks[0].features, seeds, device)
        targets = np.full((len(tasks), max(len(getattr(t, part)) for t in tasks)), -100)
        for row, task in zip(targets, tasks, strict=True):
            nodes = getattr(task, part)
            row[: len(nodes)] = task.labels[nodes]
        return cls(batch, torch.as_tensor(targets, device=device))

    def losses(self, logits: Tensor) -> Tensor:
        """Return each member's mean cross-entropy over its own nodes [M]."""
        rows = logits[:, : self.targets.shape[1]].flatten(0, 1)
        entropy = functional.cross_entropy(rows, self.targets.flatten(), reduction="none")
        return entropy.view_as(self.targets).sum(1) / self.counts

    def accuracies(self, logits: Tensor) -> Tensor:
        """Return each member's accuracy over its own nodes [M]."""
        right = logits[:, : self.targets.shape[1]].argmax(-1) == self.targets
        return right.sum(1) / self.counts


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
        self.weights = _initial_weights(network, task, seeds, torch.device(config.device))
        decayed = [w for name, w in self.weights.items() if network.decayed(name)]
        others = [w for name, w in self.weights.items() if not network.decayed(name)]
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": config.weight_decay},
            {"params": others},
        ]
        groups = [group for group in groups if group["params"]]
        self._optimiser = torch.optim.Adam(groups, lr=config.learning_rate, fused=True)

    def step(self, supervised: Supervision) -> None:
        """Take one Adam step on every member's loss; members do not influence one another."""
        logits = self.network.forward(self.weights, supervised.batch, epoch_key(self.epoch))
        losses = supervised.losses(logits)
        total = losses.sum()
        if not math.isfinite(total.item()):
            self._blame(losses.detach())
        for weights in self.weights.values():
            weights.grad = None
        total.backward()
        self._optimiser.step()
        self.epoch += 1

    def evaluate(self, supervised: Supervision) -> tuple[Tensor, Tensor]:
        """Return (losses, accuracies) with dropout off, each [M]."""
        with torch.no_grad():
            logits = self.network.forward(self.weights, supervised.batch, None)
            return supervised.losses(logits), supervised.accuracies(logits)

    def snapshot(self) -> Weights:
        """Return a copy of the current weights."""
        return {name: w.detach().clone() for name, w in self.weights.items()}

    def _blame(self, losses: Tensor) -> None:
        """Raise an error that names the first member whose loss is not finite."""
        wrong = (~torch.isfinite(losses)).nonzero()
        if len(wrong) == 0:
            return  # only the sum is too large to write down
        member = int(wrong[0])
        raise TrainingError(
            f"the loss of member {self._first + member} (seed {self.seeds[member]}) is "
            f"{float(losses[member])} at epoch {self.epoch}; try a smaller learning rate and "
            "check the scale of the features"
        )


def epoch_key(epoch: int) -> int:
    """Return the key of an epoch's dropout masks."""
    return key64(0, "epoch", epoch)


def draw_key(draw: int) -> int:
    """Return the key of the dropout masks of a posterior weight draw."""
    return key64(0, "draw", draw)


def _run(
    trainer: Trainer,
    tasks: Sequence[Task],
    fields: Sequence[_Fields],
    config: TrainConfig,
    report: Callable[[int], None],
) -> Weights:
    """Train the members of a chunk to the end and return their weights."""
    around = [f.train for f in fields]
    supervised = Supervision.of_fields(around, tasks, "train", trainer.seeds, config)
    monitor, validation = None, None
    if config.early_stopping is not None:
        watched = [f.val for f in fields if f.val is not None]
        validation = Supervision.of_fields(watched, tasks, "val", trainer.seeds, config)
        monitor = Monitor(config.early_stopping, trainer.snapshot())
    for epoch in range(config.epochs):
        trainer.step(supervised)
        if monitor is not None and validation is not None:
            monitor.update(*trainer.evaluate(validation), trainer.weights)
            if monitor.all_stopped:
                break
        report(epoch + 1)
    report(config.epochs)
    return trainer.snapshot() if monitor is None else monitor.final(trainer.weights)


class _Fields(NamedTuple):
    """What one member reads: around its training nodes and, to stop early, its validation nodes."""

    train: ReceptiveField
    val: ReceptiveField | None


def _member_fields(
    network: Network, tasks: Sequence[Task], graphs: Sequence[Graph], config: TrainConfig
) -> Iterator[tuple[_Fields, int]]:
    """Yield the fields of each member and the bytes it takes in a batch."""
    sizes = (tasks[0].features.shape[1], tasks[0].num_classes)
    weights = network.initial_weights(*sizes, stream(0, "size"))

    def around(graph: Graph, nodes: NDArray[np.int64]) -> ReceptiveField:
        return receptive_field(graph, nodes, network.hops, network.operator, prune=config.prune)

    for task, graph in zip(tasks, graphs, strict=True):
        fields = _Fields(around(graph, task.train), None)
        size = field_bytes(fields.train, task.features, network, weights, training=True)
        if config.early_stopping is not None:
            val = around(graph, task.val)
            fields = fields._replace(val=val)
            size += field_bytes(val, task.features, network, weights, training=False)
        yield fields, size


def _initial_weights(
    network: Network, task: Task, seeds: Sequence[int], device: torch.device
) -> Weights:
    """Stack the members' initial weights, each drawn from its own stream."""
    sizes = (task.features.shape[1], task.num_classes)
    drawn = [network.initial_weights(*sizes, stream(seed, "init")) for seed in seeds]
    return {
        name: torch.stack([member[name] for member in drawn]).to(device).requires_grad_()
        for name in drawn[0]
    }
