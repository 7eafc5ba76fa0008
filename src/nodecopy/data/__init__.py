"""Data: graphs with features and labels, splits of their nodes, and where they come from."""

from nodecopy.data.dataset import NodeDataset, dataset_names, load_dataset
from nodecopy.data.encoding import ColumnEncoder
from nodecopy.data.splits import Split, fixed_split, random_split
from nodecopy.data.synthetic import planted_partition
from nodecopy.data.task import Task

__all__ = [
    "ColumnEncoder",
    "NodeDataset",
    "Split",
    "Task",
    "dataset_names",
    "fixed_split",
    "load_dataset",
    "planted_partition",
    "random_split",
]
