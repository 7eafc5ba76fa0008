"""The figures of the report: the paper's Figure 1, reliability diagrams, and ours beside theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.report.agreement import Agreement
from nodecopy.report.drawing import BLACK, BLUE, GREY, ORANGE, PALETTE, Drawing, draw
from nodecopy.report.paper import DATASET_TITLES, LABELS, METHOD_TITLES
from nodecopy.report.study import SPLITS, CellKey, Study, dataset_title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_1_METHOD = "copying"
FIGURE_1_DATASETS = ("cora", "citeseer")
# The shares that are the same for both, and those that differ: small, so on a scale of their own.
SAME = {"both_right": "both\nright", "both_wrong": "both\nwrong"}
DIFFERENT = {"corrected": "BGCN\ncorrects", "broken": "BGCN\nbreaks"}
GROUPS = {"low": ("at most the median degree", BLUE), "high": ("above the median", ORANGE)}

# Where a bin holds fewer nodes than this, over all trials, its accuracy says little.
_SMALLEST_BIN = 30


def figure_1(study: Study, split: str) -> Drawing | None:
    """Draw the paper's Figure 1 for one kind of split: whom node copying corrects, by degree.

    Box: 25-75 %, whiskers 5-95 %, line: median, triangle: mean of the shares over the trials.
    None if no trial has them.
    """
    panels = {
        (dataset, n): shares
        for dataset in FIGURE_1_DATASETS
        for n in LABELS
        if (shares := outcome_shares(study, CellKey(dataset, split, FIGURE_1_METHOD, n)))
    }
    if not panels:
        return None

    def paint(figure: Figure) -> None:
        datasets = [name for name in FIGURE_1_DATASETS if any(name == d for d, _ in panels)]
        labels = [n for n in LABELS if any(n == m for _, m in panels)]
        figure.set_size_inches(0.6 + 3.4 * len(labels), 0.4 + 2.7 * len(datasets))
        parts = figure.subfigures(len(datasets), len(labels), squeeze=False)
        highest = 1.1 * max(_highest(shares, DIFFERENT) for shares in panels.values())
        for i, dataset in enumerate(datasets):
            for j, n in enumerate(labels):
                shares = panels.get((dataset, n), {})
                parts[i][j].suptitle(f"{dataset_title(dataset)}, {n} labels per class", fontsize=10)
                left, right = parts[i][j].subplots(1, 2)
                paint_boxes(left, shares, SAME, 100)
                paint_boxes(right, shares, DIFFERENT, highest)
            parts[i][0].axes[0].set_ylabel("share of test nodes (%)")
        _legend(figure, *figure.axes)

    return draw(
        f"figure1-{split}",
        f"Figure 1. Whom node copying corrects, by degree ({split} splits)",
        "Test nodes in two groups at the median degree. In every trial and group: the share of "
        "nodes that GCNN and BGCN (node copying) both get right, that BGCN corrects, that it "
        "breaks, that both get wrong; the two that differ have a scale of their own. Box: 25-75 %, "
        "whiskers: 5-95 %, line: median, triangle: mean over the trials.",
        paint,
    )


def outcome_shares(study: Study, key: CellKey) -> dict[str, dict[str, list[float]]]:
    """Return the shares in per cent of each group and outcome, a number per trial."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in study.cells.get(key, ()):
        for group, shares in row.result.outcomes.items():
            for outcome in (*SAME, *DIFFERENT):
                values = found.setdefault(group, {}).setdefault(outcome, [])
                values.append(shares[outcome] * 100)
    return found


def paint_boxes(
    ax: Axes,
    shares: Mapping[str, Mapping[str, Sequence[float]]],
    outcomes: Mapping[str, str],
    highest: float,
) -> None:
    """Draw the boxes of some outcomes, the degree groups side by side.

    Args:
        ax: where.
        shares: those of `outcome_shares`.
        outcomes: the names to draw, with their labels.
        highest: the end of the axis.
    """
    for shift, (group, (label, colour)) in zip((-0.2, 0.2), GROUPS.items(), strict=True):
        if group not in shares:
            continue
        ax.boxplot(
            [shares[group][outcome] for outcome in outcomes],
            positions=np.arange(len(outcomes)) + shift,
            widths=0.34,
            whis=(5, 95),
            showfliers=False,
            showmeans=True,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": colour, "alpha": 0.55, "edgecolor": BLACK, "linewidth": 0.8},
            medianprops={"color": BLACK, "linewidth": 1.4},
            meanprops={"marker": "^", "mfc": "white", "mec": BLACK, "markersize": 4},
            whiskerprops={"linewidth": 0.8},
            capprops={"linewidth": 0.8},
        )
        ax.bar([0], [0], color=colour, alpha=0.55, label=label)
    if not shares:
        ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", color=GREY)
    ax.set_xticks(range(len(outcomes)), list(outcomes.values()))
    ax.set(xlim=(-0.5, len(outcomes) - 0.5), ylim=(0, highest))
    ax.grid(visible=False, axis="x")


def reliability_figure(study: Study) -> Drawing | None:
    """Draw accuracy against confidence, a panel per method and a line per dataset."""
    methods = study.methods
    if not methods:
        return None

    def paint(figure: Figure) -> None:
        columns = min(4, len(methods))
        lines = -(-len(methods) // columns)
        figure.set_size_inches(0.8 + 2.5 * columns, 0.9 + 2.5 * lines)
        axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for ax, method in zip(axes.flat, methods, strict=False):
            _paint_reliability(ax, study, method)
        for ax in axes.flat[len(methods) :]:
            ax.remove()
        for ax in axes.flat[len(methods) - columns : len(methods)]:
            ax.tick_params(labelbottom=True)  # the lowest of its column
        figure.supxlabel("confidence (%)", fontsize=9)
        figure.supylabel("accuracy (%)", fontsize=9)
        _legend(figure, *axes.flat[: len(methods)])

    return draw(
        "reliability",
        "Reliability",
        "Accuracy of the test nodes whose confidence lies in each of 15 bins, all trials of all "
        "splits and label counts together. On the dashed line confidence is right; above it the "
        f"method is less sure than it may be. Bins of fewer than {_SMALLEST_BIN} nodes are left "
        "out.",
        paint,
    )


def pooled_bins(
    study: Study, method: str, dataset: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return confidence, accuracy and count of the bins over all trials; NaN where count is 0."""
    keys = [key for key in study.cells if (key.method, key.dataset) == (method, dataset)]
    bins = np.array(
        [
            [(c or 0.0, a or 0.0, n) for c, a, n in row.result.reliability]
            for key in keys
            for row in study.cells[key]
        ],
        np.float64,
    )  # [trials, bins, 3]
    count = bins[:, :, 2].sum(0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of an empty bin
        confidence, accuracy = (bins[:, :, i] * bins[:, :, 2] for i in (0, 1))
        return confidence.sum(0) / count, accuracy.sum(0) / count, count.astype(np.int64)


def overview_figure(study: Study, agreements: Mapping[CellKey, Agreement]) -> Drawing:
    """Draw every published cell, open, with ours, filled, beside it."""
    ran = {cell.key.method for cell in agreements.values() if cell.ours}
    methods = [name for name in METHOD_TITLES if name in ran] or list(METHOD_TITLES)

    def paint(figure: Figure) -> None:
        figure.set_size_inches(11, 6.4)
        axes = figure.subplots(len(SPLITS), len(DATASET_TITLES), sharex=True, squeeze=False)
        for line, split in zip(axes, SPLITS, strict=True):
            for ax, dataset in zip(line, DATASET_TITLES, strict=True):
                _paint_cells(ax, agreements, dataset, split, methods)
                ax.set_title(f"{dataset_title(dataset)}, {split} split")
            line[0].set_ylabel("accuracy (%)")
        for i, method in enumerate(methods):
            axes[0][0].plot([], [], "o", color=PALETTE[i], label=study.method_title(method))
        axes[0][0].plot([], [], "o", mfc="white", mec=GREY, label="open: the paper")
        _legend(figure, axes[0][0])

    return draw(
        "overview",
        "Accuracy beside the paper's",
        "Mean accuracy ± standard deviation over the trials: ours filled, the published values "
        "open, to the left of ours.",
        paint,
    )


def _highest(shares: Mapping[str, Mapping[str, Sequence[float]]], outcomes: Iterable[str]) -> float:
    return max(max(shares[group][outcome]) for group in shares for outcome in outcomes)


def _paint_reliability(ax: Axes, study: Study, method: str) -> None:
    ax.plot([0, 100], [0, 100], "--", color=GREY, linewidth=0.8)
    for i, dataset in enumerate(study.datasets):
        if not any((key.method, key.dataset) == (method, dataset) for key in study.cells):
            continue
        confidence, accuracy, count = pooled_bins(study, method, dataset)
        shown = count >= _SMALLEST_BIN
        x, y = confidence[shown] * 100, accuracy[shown] * 100
        colour = PALETTE[i % len(PALETTE)]
        ax.plot(x, y, "o-", color=colour, ms=3, lw=1.2, label=dataset_title(dataset), clip_on=False)
    ax.set_title(study.method_title(method))
    ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")


def _paint_cells(
    ax: Axes,
    agreements: Mapping[CellKey, Agreement],
    dataset: str,
    split: str,
    methods: Sequence[str],
) -> None:
    step = 0.8 / len(methods)
    for i, method in enumerate(methods):
        for at, n in enumerate(LABELS):
            cell = agreements[CellKey(dataset, split, method, n)]
            x = at - 0.4 + step * (i + 0.5)
            bars: dict[str, Any] = {"fmt": "o", "ms": 4.5, "elinewidth": 1.0, "color": PALETTE[i]}
            ax.errorbar(x - step / 5, *cell.paper, mfc="white", **bars)
            if cell.ours:
                deviation = np.nan_to_num(cell.ours.deviation)
                ax.errorbar(x + step / 5, cell.ours.mean, deviation, **bars)
    ax.set_xticks(range(len(LABELS)), [f"{n} labels" for n in LABELS])
    ax.grid(visible=False, axis="x")


def _legend(figure: Figure, *axes: Axes) -> None:
    """Put one legend above all panels, every name once."""
    found: dict[str, Artist] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    names = list(found)
    figure.legend(
        [found[name] for name in names], names, loc="outside upper center", ncols=len(names)
    )
