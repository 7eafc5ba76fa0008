"""The figures: how they are drawn, and the paper's Figure 1.

A drawing is a Matplotlib figure as SVG, the same bytes on every run, with a white ground, so that
it reads on light and dark pages, colours of Okabe and Ito, which colour-blind readers can tell
apart, and text kept as text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nodecopy.core.errors import InputError, missing_extra
from nodecopy.paper.store import CellKey
from nodecopy.paper.study import LABELS, Study, dataset_title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
GREY = "#777777"

# DejaVu Sans comes with Matplotlib and sets the layout; the others replace it where it is absent.
_FONT = "'DejaVu Sans'"
_FONTS = f"{_FONT}, Verdana, 'Bitstream Vera Sans', Geneva, sans-serif"

FIGURE_1_METHOD = "copying"
FIGURE_1_DATASETS = ("cora", "citeseer")
# The shares that are the same for both, and those that differ: small, so on a separate scale.
SAME = {"both_right": "both\nright", "both_wrong": "both\nwrong"}
DIFFERENT = {"corrected": "BGCN\ncorrects", "broken": "BGCN\nbreaks"}
GROUPS = {"low": ("at most the median degree", BLUE), "high": ("above the median", ORANGE)}


@dataclass(frozen=True)
class Drawing:
    """A figure that is ready to be written.

    Args:
        name: of its files, without the ending.
        title: one line.
        description: what it shows, for those who read about it and those who cannot see it.
        svg: a whole SVG file.
    """

    name: str
    title: str
    description: str
    svg: bytes


def draw(name: str, title: str, description: str, paint: Callable[[Figure], None]) -> Drawing:
    """Call ``paint`` with an empty figure in the common style; return the drawing."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(missing_extra("a report", "Matplotlib", "report")) from None
    # The salt makes the identifiers inside the SVG; Matplotlib's own would be random.
    style = Path(__file__).with_name("figures.mplstyle")
    with rc_context({"svg.hashsalt": name}, style):
        figure = Figure(layout="constrained")
        paint(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # a second layout would move everything a little
        return Drawing(name, title, description, _svg(figure))


def figure_1(study: Study, split: str) -> Drawing | None:
    """Draw the paper's Figure 1 for one type of split: whom node copying corrects, by degree.

    Box: 25-75 %, whiskers 5-95 %, line: median, triangle: mean of the shares over the trials.
    None if no trial has them.
    """
    panels = {
        (dataset, n): shares
        for dataset in FIGURE_1_DATASETS
        for n in LABELS
        if (shares := _outcome_shares(study, CellKey(dataset, split, FIGURE_1_METHOD, n)))
    }
    if not panels:
        return None

    def paint(figure: Figure) -> None:
        datasets = [name for name in FIGURE_1_DATASETS if any(name == d for d, _ in panels)]
        labels = [n for n in LABELS if any(n == m for _, m in panels)]
        figure.set_size_inches(0.6 + 3.4 * len(labels), 0.4 + 2.7 * len(datasets))
        parts = figure.subfigures(len(datasets), len(labels), squeeze=False)
        highest = 1.1 * max(
            max(by_outcome[outcome])
            for shares in panels.values()
            for by_outcome in shares.values()
            for outcome in DIFFERENT
        )
        for i, dataset in enumerate(datasets):
            for j, n in enumerate(labels):
                shares = panels.get((dataset, n), {})
                parts[i][j].suptitle(f"{dataset_title(dataset)}, {n} labels per class", fontsize=10)
                left, right = parts[i][j].subplots(1, 2)
                _paint_boxes(left, shares, SAME, 100)
                _paint_boxes(right, shares, DIFFERENT, highest)
            parts[i][0].axes[0].set_ylabel("share of test nodes (%)")
        _legend(figure, *figure.axes)

    return draw(
        f"figure1-{split}",
        f"Figure 1. Whom node copying corrects, by degree ({split} splits)",
        "Test nodes in two groups at the median degree. In every trial and group: the share of "
        "nodes that GCNN and BGCN (node copying) both get right, that BGCN corrects, that it "
        "breaks, that both get wrong; the two that differ have a separate scale. Box: 25-75 %, "
        "whiskers: 5-95 %, line: median, triangle: mean over the trials.",
        paint,
    )


def _paint_boxes(
    ax: Axes,
    shares: Mapping[str, Mapping[str, Sequence[float]]],
    outcomes: Mapping[str, str],
    highest: float,
) -> None:
    """Draw the boxes of some outcomes, the degree groups side by side."""
    for shift, (group, (label, colour)) in zip((-0.2, 0.2), GROUPS.items(), strict=True):
        if group not in shares:
            continue
        ax.boxplot(
            [shares[group][outcome] for outcome in outcomes],
            positions=np.arange(len(outcomes)) + shift,
            widths=0.34,
            manage_ticks=False,
            boxprops={"facecolor": colour, "alpha": 0.55},
        )
        ax.bar([0], [0], color=colour, alpha=0.55, label=label)
    if not shares:
        ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", color=GREY)
    ax.set_xticks(range(len(outcomes)), list(outcomes.values()))
    ax.set(xlim=(-0.5, len(outcomes) - 0.5), ylim=(0, highest))
    ax.grid(visible=False, axis="x")


def _outcome_shares(study: Study, key: CellKey) -> dict[str, dict[str, list[float]]]:
    """Return the shares in per cent of each group and outcome, a number per trial."""
    by_group: dict[str, dict[str, list[float]]] = {}
    for row in study.cells.get(key, ()):
        for group, shares in row.result.outcomes.items():
            for outcome in (*SAME, *DIFFERENT):
                values = by_group.setdefault(group, {}).setdefault(outcome, [])
                values.append(shares[outcome] * 100)
    return by_group


def _legend(figure: Figure, *axes: Axes) -> None:
    """Put one legend above all panels, every name once."""
    by_label: dict[str, Artist] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    figure.legend(
        [*by_label.values()], [*by_label], loc="outside upper center", ncols=len(by_label)
    )


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode().replace(_FONT, _FONTS)
    # Figures are committed, and spaces at the ends of lines trouble the tools around that.
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).encode()
