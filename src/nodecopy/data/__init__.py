"""Data: graphs with features and labels, splits of their nodes, and where they come from."""

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.load import dataset_names, load_dataset
from nodecopy.data.node_sets import NodeSets
from nodecopy.data.planetoid import read_planetoid
from nodecopy.data.planted_settings import Degrees, Noise, Words
from nodecopy.data.splits import Split, fixed_split, random_split
from nodecopy.data.stored import open_graph, write_graph
from nodecopy.data.synthetic import SyntheticDataset, Truth, planted_partition
from nodecopy.data.tables import TableDataset, read_tables
from nodecopy.data.task import Task

__all__ = [
    "Degrees",
    "NodeDataset",
    "NodeSets",
    "Noise",
    "Split",
    "SyntheticDataset",
    "TableDataset",
    "Task",
    "Truth",
    "Words",
    "dataset_names",
    "fixed_split",
    "load_dataset",
    "open_graph",
    "planted_partition",
    "random_split",
    "read_planetoid",
    "read_tables",
    "write_graph",
]
