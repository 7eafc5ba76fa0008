"""Split: which labels the model sees; the public choice, and random ones.

The fixed split takes the first L nodes of each class of the public training set and leaves
validation and test as published. A random split draws L nodes of each class, then the test nodes,
then the validation nodes from what remains, without regard to class. A node whose label is unknown
is never drawn.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.node_sets import NodeSets
from nodecopy.data.planted_settings import check_count
from nodecopy.data.split_files import SplitRecord, read_split, write_split
from nodecopy.errors import FormatError, SplitError
from nodecopy.rng import stream

SplitKind = Literal["fixed", "random"]


@dataclass(frozen=True, eq=False, repr=False)
class Split(NodeSets):
    """Disjoint training, validation and test nodes of one dataset.

    Args:
        train: nodes whose labels the model sees, int64 [n_train].
        val: validation nodes, int64 [n_val].
        test: test nodes, int64 [n_test].
        dataset_digest: the digest of the dataset it was made for.
        name: what to call it; not part of the digest.
    """

    dataset_digest: str
    name: str

    @cached_property
    def digest(self) -> str:
        """A hash of the three sets and of the dataset's digest."""
        head = [self.dataset_digest, len(self.train), len(self.val), len(self.test)]
        content = hashlib.blake2b(json.dumps(head).encode(), digest_size=16)
        for part in (self.train, self.val, self.test):
            content.update(part.data)
        return content.hexdigest()

    def check(self, dataset: NodeDataset) -> None:
        """Raise SplitError unless this split was made for ``dataset`` and its nodes have labels."""
        if self.dataset_digest != dataset.digest:
            raise SplitError(
                f"the split {self.name!r} belongs to another dataset (digest "
                f"{self.dataset_digest}); {dataset.name!r} has digest {dataset.digest}"
            )
        self.check_range(dataset.num_nodes)
        for name in ("train", "val", "test"):
            nodes = getattr(self, name)
            unknown = nodes[dataset.labels[nodes] < 0]
            if len(unknown):
                raise SplitError(f"{name} holds node {unknown[0]}, whose label is unknown")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the split to a ``.json`` or ``.npz`` file, whole or not at all."""
        sets = {"train": self.train, "val": self.val, "test": self.test}
        write_split(path, SplitRecord(self.name, self.dataset_digest, self.digest, **sets))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Split:
        """Read a split that ``save`` wrote; any other file is a FormatError."""
        record = read_split(path)
        try:
            split = cls(record.train, record.val, record.test, record.dataset_digest, record.name)
        except SplitError as error:
            raise FormatError(f"{path} holds no valid split: {error}") from error
        if split.digest != record.digest:
            raise FormatError(f"{path} was changed after it was written: its digest does not match")
        return split

    def __eq__(self, other: object) -> bool:
        """Splits are equal when they have the same sets, in order, the same dataset and name."""
        if not isinstance(other, Split):
            return NotImplemented
        return (self.digest, self.name) == (other.digest, other.name)

    def __hash__(self) -> int:
        """Hash by content, in agreement with equality."""
        return hash((self.digest, self.name))

    def __repr__(self) -> str:
        """Show the name and the sizes."""
        return super().__repr__().replace("(", f"({self.name!r}, ", 1)


def chosen_split(dataset: NodeDataset, kind: SplitKind, labels_per_class: int, seed: int) -> Split:
    """Return a `fixed_split` or a `random_split`; the seed is that of random ones."""
    if kind == "fixed":
        return fixed_split(dataset, labels_per_class)
    return random_split(dataset, labels_per_class, seed)


def fixed_split(dataset: NodeDataset, labels_per_class: int) -> Split:
    """Return the public split with only the first L = ``labels_per_class`` nodes of each class.

    >>> from nodecopy.data.load import load_dataset
    >>> fixed_split(load_dataset("cora"), labels_per_class=5)
    Split('fixed-5', train=35, val=500, test=1000)
    """
    public = dataset.public_split
    if public is None:
        raise SplitError(f"{dataset.name!r} has no public split; use random_split")
    check_count("labels_per_class", labels_per_class, least=1, error=SplitError)
    pools = _by_class(dataset, np.sort(public.train), labels_per_class, "the public training set")
    train = np.sort(np.concatenate([pool[:labels_per_class] for pool in pools]))
    return Split(train, public.val, public.test, dataset.digest, f"fixed-{labels_per_class}")


def random_split(
    dataset: NodeDataset, labels_per_class: int, seed: int, n_test: int = 1000, n_val: int = 500
) -> Split:
    """Draw L = ``labels_per_class`` training nodes of each class, then test, then validation nodes.

    The training nodes depend on the seed and L alone, so changing the size of the other two sets
    leaves them as they are.

    >>> from nodecopy.data.load import load_dataset
    >>> random_split(load_dataset("citeseer"), labels_per_class=5, seed=0)
    Split('random-5-seed-0', train=30, val=500, test=1000)
    """
    check_count("labels_per_class", labels_per_class, least=1, error=SplitError)
    check_count("n_test", n_test, least=0, error=SplitError)
    check_count("n_val", n_val, least=0, error=SplitError)
    rng = stream(seed, "split", labels_per_class)
    labelled = np.flatnonzero(dataset.labels >= 0)
    pools = _by_class(dataset, labelled, labels_per_class, "the dataset")
    picked = [rng.choice(pool, labels_per_class, replace=False) for pool in pools]
    train = np.sort(np.concatenate(picked))
    rest = np.setdiff1d(labelled, train, assume_unique=True)
    if len(rest) < n_test + n_val:
        raise SplitError(
            f"{n_test} test and {n_val} validation nodes were asked for, but only {len(rest)} "
            f"labelled nodes of {dataset.name!r} remain beside the {len(train)} training nodes"
        )
    test = np.sort(rng.choice(rest, n_test, replace=False))
    rest = np.setdiff1d(rest, test, assume_unique=True)
    val = np.sort(rng.choice(rest, n_val, replace=False))
    return Split(train, val, test, dataset.digest, f"random-{labels_per_class}-seed-{seed}")


def _by_class(
    dataset: NodeDataset, nodes: NDArray[np.int64], least: int, where: str
) -> list[NDArray[np.int64]]:
    """Return the ``nodes`` of each class, in their order; a class with too few is an error."""
    labels = dataset.labels[nodes]
    ends = np.cumsum(np.bincount(labels, minlength=dataset.num_classes))
    pools = np.split(nodes[np.argsort(labels, kind="stable")], ends[:-1])
    for name, pool in zip(dataset.class_names, pools, strict=True):
        if len(pool) < least:
            raise SplitError(
                f"{least} labels per class were asked for, but {where} has "
                f"{len(pool)} nodes of class {name!r}"
            )
    return pools
