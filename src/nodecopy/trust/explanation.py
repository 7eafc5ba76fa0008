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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nodecopy.core.errors import InputError, missing_extra, shortened
from nodecopy.nn.evidence import LEAST, OF_NODES, Source

SCALE = "natural logarithm of the odds of `label` against `against`"
# Rows of one source that are named in a summary, and letters of a name and a note there.
_NAMED, _LETTERS, _NOTE = 4, 40, 200
# Smaller pieces are not named, and the shortest scale of a waterfall.
_TELLING, _SHORTEST = 0.05, 0.01
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
    "class name": ("class meaning", "Its own text, compared with what the classes mean, makes"),
    "not explained": ("not divided", "What cannot be divided, as models are averaged, makes"),
}


class Row(NamedTuple):
    """A piece of evidence.

    Attributes:
        source: what it is.
        name: of the column or node.
        log_odds: what it adds to the log-odds of the class; negative if against it. Of a number,
            what it adds to that, on the scale of the fit.
        number: of the node, or of the column of the features.
        note: the types of the edges to a neighbour, where there are several; of a labelled node
            its label; of a text the labelled ones that it is most like.
    """

    source: Source
    name: Hashable
    log_odds: float
    number: int
    note: str = ""

    @property
    def title(self) -> str:
        """The name, with the note; shortened."""
        name = shortened(str(self.name), _LETTERS)
        return f"{name} ({shortened(self.note, _NOTE)})" if self.note else name


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


class Waterfall:
    """Pieces of evidence that add up to a prediction; a subclass for each kind of target.

    Attributes:
        evidence: the largest first.
        labels: the same sum by the labelled nodes that the model learnt from.
        unit: what pieces add to, as a name of a column.
        axis: the same as the title of an axis.
        sum_title: of the sum of all pieces.
        favourable: what pieces of nodes do that are positive.
        bar_titles: the bars in their order: the title of each, and the subject of its sentence.
    """

    node: Hashable
    evidence: tuple[Row, ...]
    labels: tuple[Row, ...]
    unit: ClassVar[str]
    axis: ClassVar[str]
    sum_title: ClassVar[str]
    favourable: ClassVar[str] = "for it"
    bar_titles: ClassVar[dict[Source, tuple[str, str]]]

    @property
    def total(self) -> float:
        """What all pieces add up to."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """What is predicted, in a few words."""
        raise NotImplementedError

    def effect(self, value: float) -> str:
        """Say what pieces that add so much do, after "makes"."""
        raise NotImplementedError

    def piece(self, value: float) -> str:
        """Return what a piece adds, in a few letters."""
        raise NotImplementedError

    def written(self, value: float) -> str:
        """Return what a bar adds, as a number in a column."""
        return f"{value:+6.2f}"

    @property
    def telling(self) -> float:
        """Smaller pieces are not named, and bars of a fifth of it not shown."""
        return _TELLING

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it: bars with their pieces, on which scale."""
        raise NotImplementedError

    def plain_bars(self) -> dict[str, Any]:
        """Return bars, pieces and labels as JSON can hold them."""
        bars = [
            bar._asdict() | {self.unit: bar.log_odds, "rows": [*map(self._plain_row, bar.rows)]}
            for bar in self.bars
        ]
        return {"bars": bars, "labels": [*map(self._plain_row, self.labels)]}

    def _plain_row(self, row: Row) -> dict[str, Any]:
        note = {"note": row.note} if row.note else {}
        return {"name": _plain(row.name), self.unit: row.log_odds} | note

    @property
    def bars(self) -> list[Bar]:
        """The evidence by source, from what holds for all nodes to this one."""
        bars, at = list[Bar](), 0.0
        for source, (title, subject) in self.bar_titles.items():
            rows = tuple(row for row in self.evidence if row.source == source)
            end = at + sum(row.log_odds for row in rows)
            if any(row.log_odds for row in rows):
                if source in OF_NODES:
                    raising = sum(row.log_odds > 0 for row in rows)
                    title += f", {raising} of {len(rows)} {self.favourable}"
                if len(rows) == 1:
                    subject = _SINGULAR.get(source, subject)
                sentence = f"{subject.format(n=len(rows))} {self.effect(end - at)}."
                bars.append(Bar(source, title, sentence, at, end, rows))
            at = end
        return bars

    @property
    def top_labels(self) -> list[Row]:
        """The labelled nodes that count most."""
        return self._largest([row for row in self.labels if row.source == "labelled node"])

    def _largest(self, rows: Sequence[Row]) -> list[Row]:
        """Return the largest pieces, where they have names."""
        named = [row for row in rows if row.name != ""]
        return [row for row in named[:_NAMED] if abs(row.log_odds) >= self.telling]

    def to_frame(self) -> Any:
        """Return the evidence as a pandas DataFrame: source, name, what it adds, its share."""
        rows = [row[:3] for row in self.evidence]
        frame = import_pandas().DataFrame(rows, columns=["source", "name", self.unit])
        return frame.assign(share=frame[self.unit] / (self.total or float("nan")))

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    def plot(self, *others: Waterfall) -> Any:
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
            for at, style in ((0, "-"), (why.total, "--")):
                ax.axvline(at, color="0.5", linewidth=0.8, linestyle=style)
            ax.set_title(f"{shortened(str(why.node), 30)}: {why.title}", fontsize=9)
            ax.set_xlabel(why.axis)
            ax.set_xlim(low - room, high + room)
        figure.tight_layout()
        return axes[0]

    def lines(self, limits: tuple[float, float] | None = None) -> Iterator[str]:
        """Yield the lines of the waterfall for a terminal.

        Args:
            limits: of the scale, e.g. those of several explanations; None is those of this one.
        """
        low, high = limits_of([self]) if limits is None else limits
        yield f"{self.node}: {self.title}"
        wide = max((len(bar.title) for bar in self._shown), default=0)
        for bar in self._shown:
            left, right = sorted(
                round(_WIDTH * (at - low) / (high - low)) for at in (bar.start, bar.end)
            )
            drawn = " " * left + ("█" if bar.log_odds > 0 else "░") * max(right - left, 1)
            yield f"  {bar.title:<{wide}} {drawn:<{_WIDTH + 1}} {self.written(bar.log_odds)}"
        yield f"  {self.sum_title:<{wide}} {'':<{_WIDTH + 1}} {self.written(self.total)}"

    @property
    def sentences(self) -> list[str]:
        """What each bar does, with its largest pieces, in sentences."""
        texts = []
        for bar in self._shown:
            names = [f"{row.title} {self.piece(row.log_odds)}" for row in self._largest(bar.rows)]
            texts.append(
                f"{bar.sentence} Most of all: {', '.join(names)}." if names else bar.sentence
            )
        if names := [row.title for row in self.top_labels]:
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
        return [bar for bar in self.bars if abs(bar.log_odds) >= self.telling / 5]


@dataclass(frozen=True)
class Explanation(Waterfall):
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

    unit = "log_odds"
    axis = "log-odds of the class against the next one"
    sum_title = "log-odds"
    bar_titles = _BARS

    @property
    def log_odds(self) -> float:
        """What is explained: the logarithm of the odds of the class against the next one."""
        p, q = max(self.probability, LEAST), max(self.next_probability, LEAST)
        return float(np.log(p / q))

    @property
    def total(self) -> float:
        """The log-odds."""
        return self.log_odds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it: bars with their pieces, on which scale."""
        names = {name: _plain(getattr(self, name)) for name in ("node", "label", "against")}
        probabilities = {"probability": self.probability, "next_probability": self.next_probability}
        scale = {"scale": SCALE, "log_odds": self.log_odds}
        return names | probabilities | scale | self.plain_bars()

    def effect(self, value: float) -> str:
        """Say how many times as likely the class is."""
        if abs(value) < _TELLING:
            return "hardly a difference"
        less = "as" if value > 0 else "less"
        times = factor(abs(value)).removeprefix("×")
        return f"“{shortened(str(self.label), _LETTERS)}” {times} times {less} likely"

    def piece(self, value: float) -> str:
        """Return what odds are multiplied by."""
        return factor(value)

    @property
    def top_labels(self) -> list[Row]:
        """The labelled nodes that count most; none where the class has no label."""
        has_label = str(self.label) in {row.note for row in self.labels}
        return super().top_labels if has_label else []

    @property
    def title(self) -> str:
        """The two classes and their probabilities."""
        label, against = (shortened(str(name), _LETTERS) for name in (self.label, self.against))
        return f"{label} {self.probability:.1%}, next {against} {self.next_probability:.1%}"


# For and against: blue and orange, which colour-blind readers tell apart.
_COLOURS = {True: "#0072b2", False: "#d55e00"}
_SINGULAR: dict[Source, str] = {
    "neighbour": "Its neighbour, with the nodes behind it, makes",
    "similar node": "A node with similar columns makes",
}


def limits_of(several: Sequence[Waterfall]) -> tuple[float, float]:
    """Return where waterfalls begin and end, in log-odds."""
    ends = [0.0, *(bar.end for why in several for bar in why.bars)]
    return min(ends), max(*ends, min(ends) + _SHORTEST)


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


def _plain(value: Any) -> Any:
    """Return a name as JSON can hold it."""
    return value if isinstance(value, (str, int, float)) else str(value)
