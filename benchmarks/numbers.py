"""Numbers: a number of each node predicted from a few, with intervals, against simple methods.

    OMP_NUM_THREADS=1 python -m benchmarks.numbers [--trials 3] [--only field]
    python -m benchmarks.numbers --show --page docs/numbers.md

Ten tasks are synthetic: what a number depends on is known there. The others are numeric columns of
the tables of `benchmarks.regret_tasks` (of at most 1,500 nodes), predicted from the other columns
and the edges; the class of the table is one more column. 30 or 100 nodes drawn at random are known,
and all others are tested. Settings were chosen on the synthetic tasks and on `DEVELOPMENT`; the
other tables are for judgement. The field is also measured on graphs of 20,000 and 200,000 nodes.

Peers: ridge regression on the columns, ridge regression and histogram gradient boosting on columns
and means over neighbours, label propagation of numbers, a two-layer GCN with a squared loss. All
of them see the numbers on the scale that the default chooses (`nodecopy.stack.numbers.Scale`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from benchmarks import regret_tasks
from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    arguments,
    compute,
    publish,
    shared_rows,
)
from benchmarks.markdown import markdown_rows
from benchmarks.measure import forget_peak, peak_gibibytes
from benchmarks.regret_graphs import Table, nearest
from nodecopy import NodeCopyRegressor
from nodecopy.core.rng import child_seed, stream
from nodecopy.graph import Graph
from nodecopy.read.objects import read_problem
from nodecopy.stack.numbers import Scale

NODES = 1000
ROWS = Path("results", "numbers.jsonl")
PENALTIES = 10.0 ** np.arange(-3, 5)


@dataclass(frozen=True, eq=False)
class NumberTask:
    """A graph, columns, a number of each node [N], and the nodes whose number is known."""

    adjacency: sp.csr_array
    columns: Any
    y: np.ndarray
    known: np.ndarray

    @property
    def test(self) -> np.ndarray:
        """The other nodes that have a number."""
        return np.setdiff1d(np.flatnonzero(~np.isnan(self.y)), self.known)

    @property
    def shown(self) -> np.ndarray:
        """The known numbers, NaN elsewhere [N]."""
        shown = np.full(len(self.y), np.nan)
        shown[self.known] = self.y[self.known]
        return shown


def drawn(
    made: Callable[[int], tuple[Any, Any, np.ndarray]], labels: int, trial: int
) -> NumberTask:
    edges, columns, y = made(trial)
    having = np.flatnonzero(~np.isnan(y))
    known = stream(trial, "known").permutation(having)[:labels]
    adjacency = Table(np.asarray(edges), None, np.zeros(len(y), np.int64)).adjacency
    return NumberTask(adjacency, columns, y, np.sort(known))


# Synthetic tasks: edges, columns and numbers, given a trial.


def plane(rng: np.random.Generator, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    points = rng.random((nodes, 2))
    return points, nearest(points, 4)


def scale_free(rng: np.random.Generator) -> np.ndarray:
    """Return edges of a graph with hubs (Barabási and Albert 1999)."""
    ends, edges = [0, 1], [(0, 1)]
    for node in range(2, NODES):
        for other in {ends[int(at)] for at in rng.integers(len(ends), size=2)}:
            edges.append((node, other))
            ends += [node, other]
    return np.array(edges)


def smooth(edges: np.ndarray, values: np.ndarray, steps: int = 8) -> np.ndarray:
    """Return numbers averaged over walks, of variance one."""
    adjacency = Table(edges, None, np.zeros(len(values), np.int64)).adjacency
    walk = sp.diags_array(1 / (adjacency.sum(1) + 1)) @ (adjacency + sp.eye_array(len(values)))
    for _ in range(steps):
        values = walk @ values
    return (values - values.mean(0)) / values.std(0)


def synthetic(name: str, trial: int, nodes: int = NODES) -> tuple[Any, Any, np.ndarray]:
    rng = stream(trial, "numbers", name)
    x, noise = rng.normal(size=(nodes, 8)), 0.2 * rng.normal(size=nodes)
    if name.startswith("field"):
        points, edges = plane(rng, nodes)
        y = np.sin(7 * points[:, 0]) + np.cos(5 * points[:, 1]) + noise
        return edges, x, np.exp(1.5 * y) if name == "field, skewed" else y
    edges = scale_free(rng)
    degrees = np.bincount(edges.ravel(), minlength=NODES)
    made = {
        "hubs": lambda: smooth(edges, rng.normal(size=NODES), 3) + noise,
        "degree": lambda: 3 + np.log(degrees) + noise,
        "size by degree": lambda: degrees * np.exp(0.5 * x[:, 0] + noise),
        "columns": lambda: x[:, 0] - 0.5 * x[:, 1] + noise,
        "columns, bent": lambda: np.sin(2 * x[:, 0]) + x[:, 1] * (x[:, 2] > 0) + noise,
        "columns of neighbours": lambda: smooth(edges, x[:, 0], 1) + noise,
        "columns and field": lambda: x[:, 0] + smooth(edges, rng.normal(size=NODES), 3) + noise,
        "noise": lambda: rng.normal(size=NODES),
    }
    return edges, x, made[name]()


# Numeric columns of tables.


@cache
def tabled(load: Callable[[], Table], column: str) -> tuple[Any, Any, np.ndarray]:
    table = load()
    columns = table.columns.assign(**{"class": np.asarray(table.classes).astype(str)})
    return table.edges, columns.drop(columns=column), columns[column].to_numpy(float)


@cache
def diabetes() -> tuple[Any, Any, np.ndarray]:
    data = datasets.load_diabetes(as_frame=True)
    edges = nearest(StandardScaler().fit_transform(data.data))
    return edges, data.data, data.target.to_numpy(float)


TABLES: dict[str, tuple[Callable[[], Table], str]] = {
    "airfields, elevation": (regret_tasks.airfields, "elevation"),
    "airports, altitude": (regret_tasks.airports, "Altitude"),
    "cars, miles per gallon": (regret_tasks.cars, "mpg"),
    "countries, area": (partial(regret_tasks.countries, "region"), "area"),
    "Debian, installed size": (partial(regret_tasks.debian, "section"), "size"),
    "elements, electronegativity": (regret_tasks.elements, "en_pauling"),
    "films, score": (regret_tasks.films, "Meter"),
    "glass, refraction": (regret_tasks.glass, "RI"),
    "manual pages, length": (regret_tasks.manual, "length"),
    "moves, power": (regret_tasks.moves, "power"),
    "passengers, age": (regret_tasks.passengers, "age"),
    "Pokémon, weight": (regret_tasks.pokemon, "weight"),
}
SYNTHETIC = ("field", "field, skewed", "hubs", "degree", "size by degree", "columns")
SYNTHETIC += ("columns, bent", "columns of neighbours", "columns and field", "noise")
# Every second table, and what is generated; settings may be chosen on these.
DEVELOPMENT = (*SYNTHETIC, *sorted(TABLES)[::2])
CASES: dict[str, Callable[[int, int], NumberTask]] = {
    **{name: partial(drawn, partial(synthetic, name)) for name in SYNTHETIC},
    **{name: partial(drawn, lambda _, of=of: tabled(*of)) for name, of in TABLES.items()},
    "diabetes, progression": partial(drawn, lambda _: diabetes()),
}


# Methods: predicted numbers of all nodes, and 90 % intervals or none.

Predicted = tuple[np.ndarray, np.ndarray | None]


def default(task: NumberTask, seed: int, method: Any = "best") -> Predicted:
    reg = NodeCopyRegressor(method, random_state=seed, text_model="none", progress=False)
    reg.fit(task.adjacency, task.columns, task.shown)
    return reg.predict(), reg.predict_interval()


def matrix(task: NumberTask, *, neighbours: bool) -> np.ndarray:
    """Return the columns as nodecopy encodes them, perhaps beside means over neighbours."""
    frame = isinstance(task.columns, pd.DataFrame)
    problem = read_problem(
        Graph.from_scipy(task.adjacency), task.columns, task.shown, target="number"
    )
    features: Any = problem.scaled_by("auto" if frame else "columns").scaled
    x = features.toarray() if sp.issparse(features) else np.asarray(features)
    if not neighbours:
        return x
    degrees = np.maximum(task.adjacency.sum(1), 1)
    return np.hstack([x, task.adjacency @ x / degrees[:, None], np.log(degrees)[:, None]])


def regression(task: NumberTask, seed: int, *, neighbours: bool, model: Any) -> Predicted:
    scale, x = Scale.of(task.y[task.known]), matrix(task, neighbours=neighbours)
    fitted = model(seed).fit(x[task.known], scale.apply(task.y[task.known]))
    return scale.inverse(np.asarray(fitted.predict(x), float)), None


def propagation(task: NumberTask, seed: int) -> Predicted:
    """Spread numbers over Â, 50 steps of 0.9, and divide by what ones come to."""
    scale = Scale.of(task.y[task.known])
    root = sp.diags_array(1 / np.sqrt(task.adjacency.sum(1) + 1))
    spread = root @ (task.adjacency + sp.eye_array(len(task.y))) @ root
    start = np.zeros((len(task.y), 2))
    values = scale.apply(task.y[task.known])
    start[task.known] = np.stack([values - values.mean(), np.ones(len(values))], axis=1)
    state = start
    for _ in range(50):
        state = 0.9 * (spread @ state) + 0.1 * start
    reached = state[:, 1] > 1e-9
    mean = np.divide(state[:, 0], state[:, 1], out=np.zeros(len(state)), where=reached)
    return scale.inverse(values.mean() + mean), None


def gcn(task: NumberTask, seed: int) -> Predicted:
    """A GCN of two layers, 32 hidden units, trained as the paper's with a squared loss."""
    scale, x = Scale.of(task.y[task.known]), matrix(task, neighbours=False)
    values = scale.apply(task.y[task.known])
    mean, deviation = values.mean(), max(values.std(), 1e-12)
    root = sp.diags_array(1 / np.sqrt(task.adjacency.sum(1) + 1))
    a = (root @ (task.adjacency + sp.eye_array(len(x))) @ root).tocoo()
    indices = torch.as_tensor(np.stack([a.row, a.col]).astype(np.int64))
    operator = torch.sparse_coo_tensor(indices, torch.as_tensor(a.data), a.shape).float()
    torch.manual_seed(seed)
    first, last = torch.nn.Linear(x.shape[1], 32), torch.nn.Linear(32, 1)
    features, target = torch.as_tensor(x).float(), torch.as_tensor((values - mean) / deviation)
    optimiser = torch.optim.Adam(
        [{"params": first.parameters(), "weight_decay": 5e-4}, {"params": last.parameters()}],
        lr=0.01,
    )

    def forward(training: bool) -> torch.Tensor:
        drop = partial(torch.nn.functional.dropout, p=0.5, training=training)
        hidden = torch.relu(torch.sparse.mm(operator, first(drop(features))))
        return torch.sparse.mm(operator, last(drop(hidden)))[:, 0]

    known = torch.as_tensor(task.known)
    for _ in range(200):
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(forward(True)[known], target.float()).backward()
        optimiser.step()
    with torch.inference_mode():
        return scale.inverse(forward(False).double().numpy() * deviation + mean), None


def ridge(seed: int) -> Any:
    return RidgeCV(PENALTIES)


def boosting(seed: int) -> Any:
    return HistGradientBoostingRegressor(random_state=seed % 2**32, min_samples_leaf=5)


METHODS: dict[str, Callable[[int], Any]] = {
    DEFAULT: lambda _: default,
    "ridge on columns": lambda _: partial(regression, neighbours=False, model=ridge),
    "ridge and neighbours": lambda _: partial(regression, neighbours=True, model=ridge),
    "boosting and neighbours": lambda _: partial(regression, neighbours=True, model=boosting),
    "label propagation": lambda _: propagation,
    "GCN": lambda _: gcn,
}


def measured(task: NumberTask, method: Any, trial: int) -> Row:
    """Return errors as shares of those of the median, and how many intervals hold the number.

    ``mae`` is the mean absolute error over that of the median of the known numbers, ``rmse`` that
    of their mean, on the scale of the fit; ``width`` is in deviations of that scale.
    """
    begin = time.process_time()
    predicted, intervals = method(task, child_seed(trial, "method"))
    seconds = time.process_time() - begin
    y, known, test = task.y, task.y[task.known], task.test
    scale = Scale.of(known)
    errors = np.abs(predicted[test] - y[test])
    z, zhat = scale.apply(y[test]), scale.apply(predicted[test])
    centre = scale.apply(known).mean()
    row: Row = {
        "test": len(test),
        "scale": scale.name,
        "mae": round(float(errors.mean() / np.abs(y[test] - np.median(known)).mean()), 4),
        "rmse": round(float(np.sqrt(np.mean((z - zhat) ** 2) / np.mean((z - centre) ** 2))), 4),
        "seconds": round(seconds, 2),
    }
    if intervals is not None:
        low, high = intervals[test].T
        row["coverage"] = round(float(np.mean((y[test] >= low) & (y[test] <= high))), 4)
        wide = scale.apply(high) - scale.apply(
            np.maximum(low, 1e-12) if row["scale"] != "as given" else low
        )
        row["width"] = round(float(wide.mean() / z.std()), 4)
    return row


# 85 elements have the number.
LABELS = {case: (30,) if case.startswith("elements") else (30, 100) for case in CASES}
COMPARISON = Comparison(CASES, METHODS, LABELS, ROWS, measured)


def measured_large(task: NumberTask, method: Any, trial: int) -> Row:
    """Return the same, and the most memory that the process held."""
    forget_peak()
    row = measured(task, method, trial)
    return row | {"memory": round(peak_gibibytes(), 2)}


FIELDS = {
    f"field, {nodes:,} nodes": lambda labels, trial, nodes=nodes: drawn(
        partial(synthetic, "field", nodes=nodes), labels, trial
    )
    for nodes in (20_000, 200_000)
}
BOTH = {name: METHODS[name] for name in (DEFAULT, "label propagation")}
LARGE = Comparison(FIELDS, BOTH, (100, 1000), ROWS, measured_large)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return a row for each case and number of labels, and a summary."""
    lines, wins = [], []
    for case in CASES:
        for labels in LABELS[case]:
            some = {
                method: [
                    row
                    for key, row in rows.items()
                    if key[:2] == (case, labels) and key[3] == method
                ]
                for method in METHODS
            }
            if not some[DEFAULT]:
                continue
            rmse = {
                m: float(np.mean([row["rmse"] for row in own])) for m, own in some.items() if own
            }
            mae = {m: float(np.mean([row["mae"] for row in own])) for m, own in some.items() if own}
            best = min(value for m, value in rmse.items() if m != DEFAULT)
            cover = float(np.mean([row["coverage"] for row in some[DEFAULT]]))
            wins.append((case in DEVELOPMENT, rmse[DEFAULT] - best, cover, labels))
            cells = [f"{rmse[m]:.2f}" if m in rmse else "" for m in METHODS]
            lines.append([case, str(labels), *cells, f"{mae[DEFAULT]:.2f}", f"{cover:.0%}"])
    head = ["number", "labels", *METHODS, "default, MAE", "in 90 % interval"]
    return f"{markdown_rows(head, lines)}\n{summary(wins)}\n{large_table(rows)}\n"


def large_table(rows: Mapping[Key, Row]) -> str:
    """Return errors, coverage and cost on large graphs."""
    lines = []
    for case, labels in product(FIELDS, (100, 1000)):
        if cell := shared_rows(LARGE, rows, case, labels):
            keys = "rmse", "coverage", "seconds", "memory"
            rmse, coverage, seconds, memory = (
                float(np.mean([row[key] for row in cell[DEFAULT]])) for key in keys
            )
            peer = float(np.mean([row["rmse"] for row in cell["label propagation"]]))
            ours = f"{coverage:.0%}", f"{seconds:.0f}", f"{memory:.1f}"
            lines.append([case, str(labels), f"{rmse:.2f}", f"{peer:.2f}", *ours])
    head = ["number", "labels", DEFAULT, "label propagation", "in 90 % interval", "CPU s", "GiB"]
    return markdown_rows(head, lines)


def summary(wins: list[tuple[bool, float, float, int]]) -> str:
    """Say how often the default is best, and how many intervals hold the number."""
    sentences = []
    for name, chosen in (("for judgement", False), ("for development", True)):
        gaps = np.array([gap for own, gap, _, _ in wins if own == chosen])
        cover = np.array([one for own, _, one, _ in wins if own == chosen])
        if len(gaps):
            first, near = np.mean(gaps <= 0), np.mean(gaps <= 0.02)
            sentences.append(
                f"On the {len(gaps)} cells {name}, the default has the smallest error in "
                f"{first:.0%}, is within 0.02 of the best in {near:.0%} and at worst "
                f"{gaps.max():.2f} behind; its intervals hold {cover.mean():.1%} on average, "
                f"{cover.min():.0%} to {cover.max():.0%}."
            )
    return "\n".join(["", *sentences, ""])


if __name__ == "__main__":
    chosen = arguments(COMPARISON, __doc__ or "").parse_args()
    for part in (COMPARISON, LARGE):
        computed = compute(part, chosen)
    publish(tables(computed), chosen.page)
