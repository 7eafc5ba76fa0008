"""The original Planetoid files, ``ind.<name>.*``, read safely into a NodeDataset.

A dataset is eight files. Rows 0 … n-1 of ``allx`` and ``ally`` are the first n nodes, of which the
first ones are labelled for training (``x``, ``y``). Row i of ``tx`` and ``ty`` is the node that
line i of ``test.index`` names. ``graph`` lists the neighbours of every node.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.load import CLASS_NAMES
from nodecopy.data.node_sets import NodeSets
from nodecopy.data.planetoid_pickle import read_array, read_matrix, read_neighbours
from nodecopy.errors import DatasetError, FormatError, GraphError
from nodecopy.graph import Graph
from nodecopy.regular_file import regular_file

_PARTS = ("x", "y", "allx", "ally", "tx", "ty", "graph", "test.index")
_PUBLIC_VAL = 500


def read_planetoid(folder: str | os.PathLike[str], name: str) -> NodeDataset:
    """Read the files ``ind.<name>.*`` of a folder.

    Self-loops are dropped and repeated edges count once. A node that ``test.index`` leaves out
    (CiteSeer has 15) keeps its edges; it has label -1 and no features. The public split is the
    usual one: the nodes of ``y`` train, the next 500 validate, those of ``test.index`` test.
    """
    files = _files(Path(folder), name)
    _, y = beginning = _block(files, "x", "y")
    allx, ally = _block(files, "allx", "ally")
    tx, ty = _block(files, "tx", "ty")
    _check_blocks(name, beginning, (allx, ally), (tx, ty))
    neighbours = read_neighbours(files["graph"])
    num_nodes = len(neighbours)
    test = _test_index(files["test.index"], len(ty), len(ally), num_nodes)
    row_of_node = np.full(num_nodes, len(ally) + len(ty))
    row_of_node[: len(ally)] = np.arange(len(ally))
    row_of_node[test] = len(ally) + np.arange(len(ty))
    # The last row, all zero, is that of the nodes without features and label.
    features = sp.vstack([allx, tx, sp.csr_array((1, allx.shape[1]))], format="csr")
    classes = np.concatenate([_classes(ally), _classes(ty), [-1]])
    val = np.arange(len(y), min(len(y) + _PUBLIC_VAL, len(ally)))
    return NodeDataset(
        name,
        _graph(files["graph"], neighbours),
        features[row_of_node],
        classes[row_of_node],
        _class_names(name, y.shape[1]),
        NodeSets(np.arange(len(y)), val, np.sort(test)),
    )


def _files(folder: Path, name: str) -> dict[str, Path]:
    files = {part: folder / f"ind.{name}.{part}" for part in _PARTS}
    missing = [path.name for path in files.values() if not path.is_file()]
    if missing:
        raise DatasetError(f"{folder} lacks {', '.join(missing)} of the dataset {name!r}")
    return files


def _block(
    files: dict[str, Path], x: str, y: str
) -> tuple[sp.csr_array[Any], NDArray[np.integer[Any]]]:
    """Return the features [n, D] and the labels as indicators [n, K] of some nodes."""
    features, indicators = read_matrix(files[x]), read_array(files[y])
    if indicators.ndim != 2 or indicators.dtype.kind not in "iu":
        raise FormatError(f"{files[y]} must hold whole numbers [n, K]; got {indicators.dtype}")
    if np.any((indicators != 0) & (indicators != 1)) or np.any(indicators.sum(axis=1) > 1):
        raise FormatError(f"{files[y]} must hold at most a single 1 per row, and zeros")
    if features.shape[0] != len(indicators):
        raise DatasetError(
            f"{files[x].name} has {features.shape[0]} rows, {files[y].name} has {len(indicators)}"
        )
    return features, indicators


def _check_blocks(name: str, *blocks: tuple[sp.csr_array[Any], NDArray[Any]]) -> None:
    """Check that the blocks have equal widths and that (x, y) are the first of (allx, ally)."""
    widths = {(x.shape[1], y.shape[1]) for x, y in blocks}
    if len(widths) > 1:
        raise DatasetError(
            f"the files of {name!r} differ in their numbers of features or classes: "
            f"{', '.join(f'{d} and {k}' for d, k in sorted(widths))}"
        )
    (x, y), (allx, ally), _ = blocks
    first = slice(len(y))
    if not np.array_equal(y, ally[first]) or abs(x - allx[first]).sum():
        raise DatasetError(f"ind.{name}.x and .y are not the first rows of .allx and .ally")


def _test_index(path: Path, expected: int, first: int, num_nodes: int) -> NDArray[np.int64]:
    """Return the node of each test row: distinct ones of ``first`` … ``num_nodes - 1``."""
    try:
        test = [int(line) for line in regular_file(path).read_text(encoding="ascii").split()]
    except ValueError as error:
        raise FormatError(f"{path} must hold a node index per line: {error}") from error
    if len(test) != expected:
        raise DatasetError(f"{path.name} has {len(test)} lines; there are {expected} test nodes")
    if len(set(test)) != len(test):
        raise DatasetError(f"{path.name} names a node more than once")
    if num_nodes < first or any(not first <= node < num_nodes for node in test):
        raise DatasetError(
            f"{path.name} must name nodes from {first} (the rows of allx) to {num_nodes - 1} "
            f"(the nodes of graph)"
        )
    return np.array(test, dtype=np.int64)


def _graph(path: Path, neighbours: dict[int, list[int]]) -> Graph:
    num_nodes = len(neighbours)
    if set(neighbours) != set(range(num_nodes)):
        raise FormatError(f"{path} must list the nodes 0 to {num_nodes - 1}, each once")
    source = np.repeat(np.array(list(neighbours)), [len(row) for row in neighbours.values()])
    try:
        target = np.array(list(chain.from_iterable(neighbours.values())), dtype=np.int64)
        return Graph.from_edges(num_nodes, np.stack([source, target], axis=1))
    except (GraphError, OverflowError) as error:
        raise FormatError(f"{path} holds an impossible edge: {error}") from error


def _classes(indicators: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the place of the 1 in each row [n], -1 where there is none."""
    return np.where(indicators.any(axis=1), indicators.argmax(axis=1), -1)


def _class_names(name: str, num_classes: int) -> tuple[str, ...]:
    known = CLASS_NAMES.get(name, ())
    numbered = tuple(f"class {k}" for k in range(num_classes))
    return known if len(known) == num_classes else numbered
