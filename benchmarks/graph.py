"""Graph against the memory limit: growth with the number of edges, and ratios to plain NumPy.

    OMP_NUM_THREADS=1 python benchmarks/graph.py [--quick]

Everything printed is a ratio of CPU times measured in this one run, or a fitted power, so it can be
compared between machines.
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import cpu_time, environment, fitted_power

from nodecopy.graph import Graph

MEAN_DEGREE = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the edges, 3 repeats")
    parser.add_argument("--repeats", type=int, help="times each is measured; the median counts")
    arguments = parser.parse_args()
    sizes = [10**4, 10**5, 10**6] if arguments.quick else [10**5, 10**6, 10**7]
    repeats = arguments.repeats or (3 if arguments.quick else 5)
    print(f"{environment('numpy', 'scipy')}; median of {repeats} CPU times")
    show_growth(sizes, repeats)
    show_distinct(sizes[-1], repeats)
    show_operations(sizes[-1], repeats)


def show_growth(sizes: list[int], repeats: int) -> None:
    print("\nBuilding a graph of E random pairs, time per edge relative to the smallest E:")
    times = []
    for size in sizes:
        pairs = random_pairs(size)
        nodes = num_nodes(size)
        times.append(cpu_time(lambda n=nodes, p=pairs: Graph.from_edges(n, p), repeats))
        print(f"  E = {size:>10,}  {times[-1] / size * sizes[0] / times[0]:6.2f}")
    print(f"  time grows as E^{fitted_power(sizes, times):.2f} (a sort is E log E)")


def show_distinct(size: int, repeats: int) -> None:
    keys = np.random.default_rng(1).integers(num_nodes(size) ** 2, size=size)
    masked = cpu_time(lambda: sort_and_mask(keys), repeats)
    print(f"\nDistinct values of {size:,} random 64-bit keys, relative to a sort and a mask:")
    for label, call in [
        ("np.sort alone", lambda: np.sort(keys)),
        ("np.unique", lambda: np.unique(keys)),
        ("np.unique(return_counts=True)", lambda: np.unique(keys, return_counts=True)),
        ("np.unique(return_inverse=True)", lambda: np.unique(keys, return_inverse=True)),
    ]:
        print(f"  {label:<32}{cpu_time(call, repeats) / masked:6.2f}")


def show_operations(size: int, repeats: int) -> None:
    nodes = num_nodes(size)
    graph = Graph.from_edges(nodes, random_pairs(size))
    every = np.arange(nodes)
    random = np.random.default_rng(2).integers(nodes, size=nodes)
    print(f"\nGraph of {nodes:,} nodes and {graph.num_edges:,} edges.")
    print("Rows relative to the plain gather indices[entries] of the same entries:")
    for label, rows in [("take_rows, all rows in order", every), ("take_rows, random", random)]:
        entries = entries_of(graph, rows)
        gather = cpu_time(lambda e=entries: graph.indices[e], repeats)
        taken = cpu_time(lambda r=rows: graph.take_rows(r), repeats)
        print(f"  {label:<32}{taken / gather:6.2f}")
    copied = graph.with_rows(random)
    print("Relative to the gather of the random rows:")
    for label, call in [
        ("transpose of the copied rows", copied.transpose),
        ("symmetrise, union", copied.symmetrise),
        ("symmetrise, sum", lambda: copied.symmetrise("sum")),
        ("permuted", lambda: graph.permuted(every[::-1])),
        ("check (public constructor)", lambda: Graph(graph.indptr, graph.indices)),
    ]:
        print(f"  {label:<32}{cpu_time(call, repeats) / gather:6.2f}")


def entries_of(graph: Graph, rows: np.ndarray) -> np.ndarray:
    """Return where in ``indices`` the entries of the rows are, row after row."""
    indptr = graph.take_rows(rows).indptr
    return np.arange(indptr[-1]) + np.repeat(graph.indptr[rows] - indptr[:-1], np.diff(indptr))


def sort_and_mask(keys: np.ndarray) -> np.ndarray:
    ordered = np.sort(keys)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def random_pairs(size: int) -> np.ndarray:
    return np.random.default_rng(0).integers(num_nodes(size), size=(size, 2))


def num_nodes(size: int) -> int:
    """Return the number of nodes at which E edges give a constant mean degree."""
    return 2 * size // MEAN_DEGREE


if __name__ == "__main__":
    main()
