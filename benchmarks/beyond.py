"""The evidence of docs/methods.md, tables and a figure, made from the committed rows.

    python -m benchmarks.beyond                       # both from the committed rows
    python -m benchmarks.beyond --store runs.sqlite   # first replace the rows by a store's

The rows of GCN and node copying are those of the paper's tables, ``results/paper.jsonl.gz``; those
of all other methods are in ``results/beyond.jsonl.gz``. A test holds that both are current.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from benchmarks.markdown import markdown_rows
from benchmarks.paper_tables import RESULTS as PAPER_ROWS
from benchmarks.paper_tables import compact_rows, replace_block
from nodecopy.core.errors import InputError
from nodecopy.core.files import write_whole
from nodecopy.paper.experiment import load_experiment
from nodecopy.paper.figures import BLUE, GREY, VERMILION, Drawing, draw
from nodecopy.paper.store import CellKey, Row, export_rows, read_rows
from nodecopy.paper.study import (
    LABELS,
    SPLITS,
    TRIALS,
    Study,
    Summary,
    dataset_title,
    method_title,
    paper_cells,
)
from nodecopy.paper.tables import signed

PAGE = Path("docs", "methods.md")
FIGURE = Path("docs", "images", "reliability.svg")
ROWS = Path("results", "beyond.jsonl.gz")
OURS, REFERENCE = "best", "copying"
DRAWN = {OURS: BLUE, REFERENCE: VERMILION, "gcn": GREY}
# The Bayesian methods of the paper's tables.
PUBLISHED = ("mmsbm-online", "copying")
SHORTFALL = 1.0
# Of the pooled calibration error, and of |confidence - accuracy|, in per cent.
LIMIT = 3.0


def main(args: Sequence[str] | None = None) -> None:
    """Write the block of the page, and the figure; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.beyond",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", type=Path, help="take the rows from this store first")
    chosen = parser.parse_args(args)
    try:
        if chosen.store:
            commit_rows(chosen.store, PAPER_ROWS, ROWS)
        text = page_text(PAGE.read_text(encoding="utf-8"), PAPER_ROWS, ROWS)
        write_whole(PAGE, text.encode())
        write_whole(FIGURE, figure(read_study(PAPER_ROWS, ROWS)).svg)
    except (InputError, OSError) as error:
        parser.error(str(error))


def commit_rows(store: Path, paper: Path, results: Path) -> None:
    """Write the rows of the experiment that are not the paper's, compacted, to their file."""
    theirs = {row.trial for row in read_rows(paper)}
    expected = set(load_experiment("beyond").trials()) - theirs
    rows = [row for row in read_rows(store) if row.trial in expected]
    export_rows(compact_rows(rows), results)


def page_text(page: str, paper: Path, rows: Path) -> str:
    """Return the page with its block regenerated."""
    return replace_block(page, beyond_block(read_study(paper, rows)))


def read_study(paper: Path, rows: Path) -> Study:
    """Return the trials of the experiment that have a row."""
    expected = set(load_experiment("beyond").trials())
    held = [row for path in (paper, rows) for row in read_rows(path) if row.trial in expected]
    return Study(held)


def beyond_block(study: Study) -> str:
    """Return counts and a table of accuracy, then of calibration."""
    return "\n\n".join(
        [
            *_accuracy_counts(study),
            _accuracy_table(study),
            *_calibration_counts(study),
            _calibration_table(study),
        ]
    )


def figure(study: Study) -> Drawing:
    """Draw accuracy against confidence for each dataset, all trials and splits together."""

    def paint(figure: Any) -> None:
        figure.set_size_inches(9, 3.2)
        axes = figure.subplots(1, len(study.datasets), sharey=True)
        for axis, dataset in zip(axes, study.datasets, strict=True):
            axis.plot([0, 100], [0, 100], color=GREY, linewidth=0.8)
            for method, colour in DRAWN.items():
                keys = [k for k in study.cells if (k.dataset, k.method) == (dataset, method)]
                rows = [row for key in keys for row in study.cells[key]]
                confidence, accuracy = _reliability(rows)
                axis.plot(confidence, accuracy, ".-", color=colour, label=method_title(method))
            axis.set(title=dataset_title(dataset), xlabel="confidence (%)")
        axes[0].set_ylabel("accuracy (%)")
        axes[0].legend(loc="upper left", fontsize=8)

    return draw("reliability", "Accuracy against confidence", "Each point is a bin.", paint)


def _reliability(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence and accuracy of the bins with at least 100 nodes, in %."""
    confidence, accuracy, count = _bins(rows)
    nodes = count.sum(0)
    kept = nodes >= 100
    sums = (confidence * count).sum(0)[kept], (accuracy * count).sum(0)[kept]
    return 100 * sums[0] / nodes[kept], 100 * sums[1] / nodes[kept]


def published_best(key: CellKey) -> float:
    """Return the highest accuracy that the paper's tables have for a Bayesian method, in %.

    >>> published_best(CellKey("cora", "random", "best", 5))
    74.6
    """
    cells = paper_cells()
    return max(cells[key._replace(method=name)].mean for name in PUBLISHED)


class PairedMean(NamedTuple):
    """The mean of n paired differences and Student's 95 % interval; NaN ends of one difference."""

    n: int
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, gaps: Sequence[float]) -> PairedMean:
        """Return the mean of differences [n].

        >>> gap = PairedMean.of([1.0, 2.0, 3.0])
        >>> gap.mean, round(gap.low, 2), round(gap.high, 2)
        (2.0, -0.48, 4.48)
        """
        n, mean, deviation = Summary.of(gaps)
        margin = deviation / math.sqrt(n) * float(t.ppf(0.975, n - 1)) if n > 1 else math.nan
        return cls(n, mean, mean - margin, mean + margin)


def paired(study: Study, key: CellKey, other: str, score: str = "accuracy") -> PairedMean | None:
    """Return the mean of a method minus another on the seeds, and so splits, that both have."""
    values = [
        {row.trial.seed: getattr(row.result, score) for row in study.cells.get(cell, ())}
        for cell in (key, key._replace(method=other))
    ]
    seeds = sorted(values[0].keys() & values[1].keys())
    if not seeds:
        return None
    return PairedMean.of([values[0][seed] - values[1][seed] for seed in seeds])


class PooledCalibration(NamedTuple):
    """Of all test nodes of several trials, as shares.

    Attributes:
        error: expected calibration error: Σ_bins |Σ (right - confidence)| / nodes.
        gap: mean confidence minus accuracy; negative where a method is less sure than it may be.
    """

    error: float
    gap: float


def pooled_calibration(rows: Sequence[Row]) -> PooledCalibration:
    """Return the calibration of the test nodes of all rows, at least one, together.

    The bins are the same 15 intervals in every trial, so those of several trials add up exactly.
    Committed rows have bins of three decimals: what is computed from them is exact to 0.05 points.
    """
    confidence, accuracy, count = _bins(rows)
    gaps = (count * (confidence - accuracy)).sum(0)  # [bins]
    nodes = count.sum()
    return PooledCalibration(float(np.abs(gaps).sum() / nodes), float(gaps.sum() / nodes))


def _bins(rows: Sequence[Row]) -> np.ndarray:
    """Return confidence, accuracy and size of every bin of every trial [3, trials, bins]."""
    bins = [[(c or 0.0, a or 0.0, n) for c, a, n in row.result.reliability] for row in rows]
    return np.moveaxis(np.array(bins, np.float64), -1, 0)


def cells_of(study: Study) -> list[CellKey]:
    """Return the cells that our method was run in."""
    return [key for key in study.cells if key.method == OURS]


def beats_all(study: Study, key: CellKey, score: str, sign: int) -> bool:
    """Tell whether our method is better than each other one, on the splits that both have."""
    gaps = [
        paired(study, key, other, score) for other in study.methods if not other.startswith(OURS)
    ]
    return all(sign * gap.mean > 0 for gap in gaps if gap is not None)


def _accuracy_counts(study: Study) -> Iterator[str]:
    keys = cells_of(study)
    ours = {key: Summary.of(list(study.accuracy(key).values())).mean for key in keys}
    above = {key: mean - published_best(key) for key, mean in ours.items()}
    worst = min(above, key=lambda key: above[key])
    gaps = {key: gap for key in keys if (gap := paired(study, key, REFERENCE)) is not None}
    title, reference = method_title(OURS), method_title(REFERENCE)
    yield (
        f"Of {len(keys)} cells, {title} is above the paper's best published Bayesian number in "
        f"{sum(gap > 0 for gap in above.values())}, and more than {SHORTFALL:g} point below it in "
        f"{sum(gap < -SHORTFALL for gap in above.values())}; the lowest difference is "
        f"{signed(above[worst])} points ({_name(worst)}). It is above every other method of these "
        f"tables, each compared on the splits that both have, in "
        f"{sum(beats_all(study, key, 'accuracy', 1) for key in keys)} of {len(keys)}."
    )
    if gaps:
        surely = sum(gap.low > 0 for gap in gaps.values())
        yield (
            f"Against {reference} on the same splits it is higher in "
            f"{sum(gap.mean > 0 for gap in gaps.values())} of {len(gaps)} cells, in {surely} of "
            f"them with a 95 % interval above zero, and lower with an interval below zero in "
            f"{sum(gap.high < 0 for gap in gaps.values())}."
        )
    yield (
        f"Mean accuracy in % with 5, 10 and 20 labels per class, {TRIALS} trials or as many as in "
        f"brackets; the highest in bold. The last line: {title} minus {reference} on the same "
        "splits; * marks a 95 % interval without zero."
    )


def _accuracy_table(study: Study) -> str:
    places = _places(study)
    keys = {place: [CellKey(*place, OURS, n) for n in LABELS] for place in places}
    lines = [
        [_with_trials(study, method), *(_accuracies(study, keys[p], method) for p in places)]
        for method in study.methods
    ]
    best = [", ".join(f"{published_best(key):.1f}" for key in keys[p]) for p in places]
    gaps = [", ".join(_gap(paired(study, key, REFERENCE)) for key in keys[p]) for p in places]
    lines += [["the paper's best Bayesian", *best], ["difference to node copying", *gaps]]
    return markdown_rows(["accuracy", *_heads(places)], lines)


def _with_trials(study: Study, method: str) -> str:
    """Return the title of a method, with the number of its trials where it is another one."""
    counts = sorted({len(rows) for key, rows in study.cells.items() if key.method == method})
    if counts == [TRIALS]:
        return method_title(method)
    return f"{method_title(method)} ({' to '.join(map(str, counts))})"


def _accuracies(study: Study, keys: Sequence[CellKey], method: str) -> str:
    cells = []
    for key in keys:
        means = {
            name: np.mean(list(values))
            for name in study.methods
            if (values := study.accuracy(key._replace(method=name)).values())
        }
        mean = means.get(method)
        text = "–" if mean is None else f"{mean:.1f}"
        cells.append(f"**{text}**" if mean == max(means.values()) else text)
    return ", ".join(cells)


def _gap(gap: PairedMean | None) -> str:
    if gap is None:
        return "–"
    return signed(100 * gap.mean) + ("*" if gap.low > 0 or gap.high < 0 else "")


def _calibration_counts(study: Study) -> Iterator[str]:
    keys = cells_of(study)
    pooled = [pooled_calibration(study.cells[key]) for key in keys]
    errors = [100 * cell.error for cell in pooled]
    gaps = [abs(100 * cell.gap) for cell in pooled]
    lowest = sum(beats_all(study, key, "nll", -1) for key in keys)
    yield (
        f"The pooled ECE of {method_title(OURS)} is at most {LIMIT:g} % in {_count(errors, LIMIT)} "
        f"of {len(keys)} cells, and its mean confidence within {LIMIT:g} points of the accuracy in "
        f"{_count(gaps, LIMIT)}; the largest are {max(errors):.1f} % and {max(gaps):.1f} points. "
        f"Its NLL is the lowest of all methods in {lowest}."
    )
    yield (
        "Each cell: pooled ECE in % (15 bins of equal width, all test nodes together) and NLL in "
        "nats, means over splits and numbers of labels."
    )


def _calibration_table(study: Study) -> str:
    lines = [
        [method_title(method), *(_calibration(study, name, method) for name in study.datasets)]
        for method in study.methods
    ]
    return markdown_rows(["ECE, NLL", *map(dataset_title, study.datasets)], lines)


def _places(study: Study) -> list[tuple[str, str]]:
    return [(dataset, split) for dataset in study.datasets for split in SPLITS]


def _heads(places: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{dataset_title(dataset)}, {split}" for dataset, split in places]


def _calibration(study: Study, dataset: str, method: str) -> str:
    keys = [key for key in study.cells if (key.dataset, key.method) == (dataset, method)]
    if not keys:
        return ""
    nll = np.mean([np.nanmean(study.scores(key, "nll")) for key in keys])
    error = np.mean([pooled_calibration(study.cells[key]).error for key in keys])
    return f"{100 * error:.1f}, {nll:.3f}"


def _count(values: Iterable[float], limit: float) -> int:
    return sum(value <= limit for value in values)


def _name(key: CellKey) -> str:
    return f"{dataset_title(key.dataset)}, {key.split} splits, {key.labels} labels"


if __name__ == "__main__":
    main()
