"""Labels by name, and rows of pandas objects, put in the order of a graph's nodes.

pandas is not imported here: a Series or DataFrame is known by what it offers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import DatasetError

_SHOWN = 3


def has_index(values: Any) -> bool:
    """Tell whether these are a pandas Series or DataFrame."""
    return hasattr(values, "index") and hasattr(values, "iloc")


def counts_rows(values: Any) -> bool:
    """Tell whether values have a row for each node: not so labels by name of a few."""
    if isinstance(values, Mapping):
        return False
    return not has_index(values) or _are_positions(values.index)


def aligned_labels(labels: Any, num_nodes: int, names: Sequence[Hashable] | None) -> Any:
    """Return labels in the order of the nodes; those that an index does not name are unknown.

    Args:
        labels: any; a mapping goes by its keys, and a pandas object by its index.
        num_nodes: N.
        names: of the nodes, where they have others than their numbers [N].
    """
    if isinstance(labels, Mapping):
        spread = np.full(num_nodes, None, object)
        for node, label in zip(
            _numbers("y", list(labels), num_nodes, names), labels.values(), strict=True
        ):
            spread[node] = label
        return spread
    if not has_index(labels):
        return labels
    values = labels.to_numpy()
    places = _places("y", labels.index, num_nodes, names)
    if places is None:
        return values
    spread = np.full((num_nodes, *values.shape[1:]), None, object)
    spread[places] = values
    return spread


def aligned_rows(rows: Any, num_nodes: int, names: Sequence[Hashable] | None) -> Any:
    """Return features in the order of the nodes; an index must name every node.

    Args:
        rows: any; only a pandas object has an index to go by.
        num_nodes: N.
        names: of the nodes, where they have others than their numbers [N].
    """
    if not has_index(rows):
        return rows
    values = rows.to_numpy()
    places = _places("X", rows.index, num_nodes, names)
    if places is None:
        return values
    if len(places) < num_nodes:
        missing = np.setdiff1d(np.arange(num_nodes), places)
        which = _listed([node if names is None else names[node] for node in missing])
        raise DatasetError(f"X has no row for {len(missing)} of {num_nodes} nodes: {which}")
    return values[np.argsort(places)]


def _places(
    what: str, index: Any, num_nodes: int, names: Sequence[Hashable] | None
) -> NDArray[np.int64] | None:
    """Return the node of each row, by its name; None where rows are in the order of the nodes."""
    if _are_positions(index):
        if names is not None and list(names) != list(index) and set(names) == set(index):
            raise DatasetError(
                f"{what} has the default index 0 to {len(index) - 1}, and the nodes of the graph "
                "are these numbers in another order: is a row that of a number or of a place? "
                f"Give {what}.loc[list(graph)].to_numpy(), or {what}.to_numpy()"
            )
        return None
    if not index.is_unique:
        twice = _listed(list(index[index.duplicated()])[:1])
        raise DatasetError(f"the index of {what} has {twice} more than once")
    return _numbers(what, list(index), num_nodes, names)


def _numbers(
    what: str, given: Sequence[Hashable], num_nodes: int, names: Sequence[Hashable] | None
) -> NDArray[np.int64]:
    """Return the node of each name."""
    nodes = range(num_nodes) if names is None else names
    number = {name: node for node, name in enumerate(nodes)}
    unknown = [name for name in given if name not in number]
    if unknown:
        called = f"0 to {num_nodes - 1}" if names is None else f"{_listed(names)}"
        raise DatasetError(
            f"{what} does not name nodes of the graph: it has {_listed(unknown)}, the nodes are "
            f"{called}; if rows are in the order of the nodes, give {what}.to_numpy()"
        )
    return np.array([number[name] for name in given], np.int64)


def _are_positions(index: Any) -> bool:
    """Tell whether an index is 0, 1, 2, …, as pandas makes it by default."""
    whole = getattr(index, "dtype", np.dtype(object)).kind in "iu"
    return whole and np.array_equal(np.asarray(index), np.arange(len(index)))


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(getattr(name, "item", lambda n=name: n)()) for name in names[:_SHOWN])
    return shown + (", …" if len(names) > _SHOWN else "")
