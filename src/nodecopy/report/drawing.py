"""Drawings: a Matplotlib figure as SVG and PNG bytes, the same bytes on every run.

The style is one for all: white ground, so that a drawing reads on light and dark pages; colours of
Okabe and Ito, which colour-blind readers can tell apart; text kept as text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodecopy.report.extra import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PINK, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#222222", "#777777"
PALETTE = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK)

# DejaVu Sans comes with Matplotlib and sets the layout; the others stand in where it is absent.
_FONT = "'DejaVu Sans'"
_FONTS = f"{_FONT}, Verdana, 'Bitstream Vera Sans', Geneva, sans-serif"
_STYLE = {
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": BLACK,
    "axes.labelsize": 9.0,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.0,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "xtick.color": BLACK,
    "xtick.labelsize": 8.5,
    "ytick.color": BLACK,
    "ytick.labelsize": 8.5,
}
_PNG_DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Drawing:
    """A figure that is ready to be written.

    Args:
        name: of its files, without the ending.
        title: one line.
        description: what it shows, for those who read about it and those who cannot see it.
        svg: a whole SVG file.
        png: a whole PNG file.
    """

    name: str
    title: str
    description: str
    svg: bytes
    png: bytes


def draw(name: str, title: str, description: str, paint: Callable[[Figure], None]) -> Drawing:
    """Call ``paint`` with an empty figure in the common style; return the drawing."""
    matplotlib = require("matplotlib")
    from matplotlib.figure import Figure

    # The salt makes the identifiers inside the SVG; Matplotlib's own would be random.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(layout="constrained")
        paint(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the layout is found: once is enough for both files
        return Drawing(name, title, description, _svg(figure), _png(figure))


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode().replace(_FONT, _FONTS)
    # Figures are committed, and spaces at the ends of lines trouble the tools around that.
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).encode()


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Software": None}
    figure.savefig(buffer, format="png", dpi=_PNG_DOTS_PER_INCH, metadata=metadata)
    return buffer.getvalue()
