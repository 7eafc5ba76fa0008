"""Why a node has its class: a waterfall of evidence, from the shares of the classes to its odds.

The scale is the natural logarithm of the odds of the most probable class a against the next one b,

    log p_a / p_b = Σ pieces of evidence,

on which evidence adds up; odds are multiplied: a piece of log 3 makes a three times as likely as b
as it was without. `nodecopy.trust.explainer` computes the pieces.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from nodecopy.core.errors import InputError, missing_extra, shortened
from nodecopy.nn.evidence import LEAST, OF_NODES, Source

SCALE = "natural logarithm of the odds of `label` against `against`"
# Rows of one source that are named in a summary, and letters of a name there.
_NAMED, _LETTERS = 4, 40
# Smaller bars are not shown, and smaller pieces are not named.
_SHOWN, _TELLING = 0.01, 0.05
# Letters that the bars have on a terminal.
_WIDTH = 24
# The bars in their order: the title of each, and the subject of its sentence.
_BARS: dict[Source, tuple[str, str]] = {
    "class prior": ("class shares", "The shares of the classes make"),
    "column": ("words and columns", "Its own words and columns make"),
    "neighbour": ("neighbours", "Its {n} neighbours, with the nodes behind them, make"),
    "similar node": ("similar nodes", "{n} nodes with similar columns, linked or not, make"),
    "own label": ("its own label", "Its own known label, as a starting point, makes"),
    "position": ("position in the graph", "Where it is in the graph, whatever its columns, makes"),
    "class name": ("class names", "The names of the classes, compared with texts, make"),
    "not explained": ("not divided", "What cannot be divided, as models are averaged, makes"),
}


class Row(NamedTuple):
    """A piece of evidence.

    Attributes:
        source: what it is.
        name: of the column or node.
        log_odds: what it adds to the log-odds of the class; negative if against it.
        number: of the node, or of the column of the features.
        note: the types of the edges to a neighbour, where there are several; of a labelled node
            its label.
    """

    source: Source
    name: Hashable
    log_odds: float
    number: int
    note: str = ""

    @property
    def title(self) -> str:
        """The name, with the note."""
        return f"{self.name} ({self.note})" if self.note else str(self.name)


class Bar(NamedTuple):
    """All evidence of one source: a bar of the waterfall.

    Attributes:
        source: of the evidence.
        title: a few words for it.
        sentence: what it does, in a sentence.
        start: where it begins on the scale; the first one at 0, even odds.
        end: where it ends.
        rows: its pieces, the largest first; they add up to it.
    """

    source: Source
    title: str
    sentence: str
    start: float
    end: float
    rows: tuple[Row, ...]

    @property
    def log_odds(self) -> float:
        """What all pieces add."""
        return self.end - self.start

    @property
    def largest(self) -> list[Row]:
        """The largest pieces, where they have names."""
        return _largest([row for row in self.rows if row.name != ""])


@dataclass(frozen=True)
class Explanation:
    """Why a node has its most probable class, and not the next one.

    All rows of `evidence` add up to `log_odds`, the natural logarithm of the odds of the class
    against the next one. What a neighbour adds is all that reaches the node over that edge, from
    behind the neighbour, too; beyond 1,000 neighbours, the smallest are one row, "all other
    neighbours". Exact, but for the row "not explained": components that are not linear, and the
    averaging of members. Numeric columns that go through a kernel are divided approximately: each
    has what its mean in its place would take away, and the row "numbers together" what is left.

    Attributes:
        node: name or number.
        label: its most probable class.
        against: the next one.
        probability: of the first.
        next_probability: of the second.
        evidence: the largest first.
        labels: the same log-odds by the labelled nodes that the model learnt from; what is common
            to all of them, or was learnt otherwise, is its row "not explained". Empty where labels
            are not known, or very many.
    """

    node: Hashable
    label: Any
    against: Any
    probability: float
    next_probability: float
    evidence: tuple[Row, ...]
    labels: tuple[Row, ...] = ()

    @property
    def log_odds(self) -> float:
        """What is explained: the logarithm of the odds of the class against the next one."""
        p, q = max(self.probability, LEAST), max(self.next_probability, LEAST)
        return float(np.log(p / q))

    @property
    def bars(self) -> list[Bar]:
        """The evidence by source, from the shares of the classes to the odds."""
        bars, at = list[Bar](), 0.0
        for source, (title, subject) in _BARS.items():
            rows = tuple(row for row in self.evidence if row.source == source)
            end = at + sum(row.log_odds for row in rows)
            if any(row.log_odds for row in rows):
                if source in OF_NODES:
                    title += f", {sum(row.log_odds > 0 for row in rows)} of {len(rows)} for it"
                if len(rows) == 1:
                    subject = _SINGULAR.get(source, subject)
                sentence = f"{subject.format(n=len(rows))} {self._times(end - at)}."
                bars.append(Bar(source, title, sentence, at, end, rows))
            at = end
        return bars

    @property
    def top_labels(self) -> list[Row]:
        """The labelled nodes that count most."""
        return _largest([row for row in self.labels if row.source == "labelled node"])

    def to_frame(self) -> Any:
        """Return the evidence as a pandas DataFrame: source, name, log_odds, share of the sum."""
        rows = [row[:3] for row in self.evidence]
        frame = import_pandas().DataFrame(rows, columns=["source", "name", "log_odds"])
        return frame.assign(share=frame["log_odds"] / (self.log_odds or float("nan")))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it: bars with their pieces, on which scale."""
        names = {name: _plain(getattr(self, name)) for name in ("node", "label", "against")}
        probabilities = {"probability": self.probability, "next_probability": self.next_probability}
        bars = [
            bar._asdict() | {"log_odds": bar.log_odds, "rows": [*map(_pieces, bar.rows)]}
            for bar in self.bars
        ]
        labels = [*map(_pieces, self.labels)]
        scale = {"scale": SCALE, "log_odds": self.log_odds}
        return names | probabilities | scale | {"bars": bars, "labels": labels}

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    def plot(self, *others: Explanation) -> Any:
        """Draw the waterfall, with those of other nodes beside it on the same scale.

        Returns:
            The axes of matplotlib, one for each node.
        """
        try:
            from matplotlib import pyplot
        except ImportError:
            raise InputError(missing_extra("plot", "matplotlib", "report")) from None
        several = (self, *others)
        low, high = limits_of(several)
        room = 0.15 * (high - low)  # for numbers
        height = 1.2 + 0.45 * max(len(why.bars) for why in several)
        figure, axes = pyplot.subplots(
            1, len(several), sharex=True, squeeze=False, figsize=(6.4 * len(several), height)
        )
        for why, ax in zip(several, axes[0], strict=True):
            values, starts, titles = zip(
                *((bar.log_odds, bar.start, bar.title) for bar in why.bars), strict=True
            )
            colours = [_COLOURS[value > 0] for value in values]
            drawn = ax.barh(range(len(values)), values, left=starts, color=colours)
            ax.bar_label(drawn, [f"{value:+.2f}" for value in values], padding=3, fontsize=8)
            ax.set_yticks(range(len(values)), titles)
            ax.invert_yaxis()
            for at, style in ((0, "-"), (why.log_odds, "--")):
                ax.axvline(at, color="0.5", linewidth=0.8, linestyle=style)
            ax.set_title(f"{shortened(str(why.node), 30)}: {why._title()}", fontsize=9)
            ax.set_xlabel("log-odds of the class against the next one")
            ax.set_xlim(low - room, high + room)
        figure.tight_layout()
        return axes[0]

    def lines(self, limits: tuple[float, float] | None = None) -> Iterator[str]:
        """Yield the lines of the waterfall for a terminal.

        Args:
            limits: of the scale, e.g. those of several explanations; None is those of this one.
        """
        low, high = limits_of([self]) if limits is None else limits
        yield f"{self.node}: {self._title()}"
        wide = max((len(bar.title) for bar in self._shown), default=0)
        for bar in self._shown:
            left, right = sorted(
                round(_WIDTH * (at - low) / (high - low)) for at in (bar.start, bar.end)
            )
            drawn = " " * left + ("█" if bar.log_odds > 0 else "░") * max(right - left, 1)
            yield f"  {bar.title:<{wide}} {drawn:<{_WIDTH + 1}} {bar.log_odds:+6.2f}"
        yield f"  {'log-odds':<{wide}} {'':<{_WIDTH + 1}} {self.log_odds:+6.2f}"

    @property
    def sentences(self) -> list[str]:
        """What each bar does, with its largest pieces, in sentences."""
        texts = []
        for bar in self._shown:
            names = [f"{shortened(r.title, _LETTERS)} {factor(r.log_odds)}" for r in bar.largest]
            texts.append(
                f"{bar.sentence} Most of all: {', '.join(names)}." if names else bar.sentence
            )
        if names := [shortened(row.title, _LETTERS) for row in self.top_labels]:
            texts.append(f"The model learnt this mostly from the labels of {', '.join(names)}.")
        return texts

    def __str__(self) -> str:
        """Return the waterfall, and what each bar does."""
        return "\n".join([*self.lines(), *(f"  {text}" for text in self.sentences)])

    def _repr_html_(self) -> str:
        """Return the waterfall for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    @property
    def _shown(self) -> list[Bar]:
        return [bar for bar in self.bars if abs(bar.log_odds) >= _SHOWN]

    def _times(self, log_odds: float) -> str:
        """Say how many times as likely the class is."""
        if abs(log_odds) < _TELLING:
            return "hardly a difference"
        less = "as" if log_odds > 0 else "less"
        times = factor(abs(log_odds)).removeprefix("×")
        return f"“{shortened(str(self.label), _LETTERS)}” {times} times {less} likely"

    def _title(self) -> str:
        label, against = (shortened(str(name), _LETTERS) for name in (self.label, self.against))
        return f"{label} {self.probability:.1%}, next {against} {self.next_probability:.1%}"


# For and against: blue and orange, which colour-blind readers tell apart.
_COLOURS = {True: "#0072b2", False: "#d55e00"}
_SINGULAR: dict[Source, str] = {
    "neighbour": "Its neighbour, with the nodes behind it, makes",
    "similar node": "A node with similar columns makes",
}


def limits_of(several: Sequence[Explanation]) -> tuple[float, float]:
    """Return where waterfalls begin and end, in log-odds."""
    ends = [0.0, *(bar.end for why in several for bar in why.bars)]
    return min(ends), max(*ends, min(ends) + _SHOWN)


def factor(log_odds: float) -> str:
    """Return what odds are multiplied by.

    >>> factor(1.1), factor(-1.1), factor(9.0), factor(90.0)
    ('×3.0', '÷3.0', '×8,103', '×1,000,000 and more')
    """
    times = np.exp(min(abs(log_odds), 700.0))
    text = f"{times:.1f}" if times < 9.95 else f"{times:,.0f}"
    return f"{'×' if log_odds >= 0 else '÷'}{text if times < 1e6 else '1,000,000 and more'}"


def import_pandas() -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas
    except ImportError:
        raise InputError("to_frame needs pandas: pip install pandas") from None
    return pandas


def _largest(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows[:_NAMED] if abs(row.log_odds) >= _TELLING]


def _pieces(row: Row) -> dict[str, Any]:
    return {"name": _plain(row.name), "log_odds": row.log_odds} | (
        {"note": row.note} if row.note else {}
    )


def _plain(value: Any) -> Any:
    """Return a name as JSON can hold it."""
    return value if isinstance(value, (str, int, float)) else str(value)
