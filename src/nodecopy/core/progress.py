"""Progress: how long-running work says how far it is, and shows it on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

Progress = Callable[[int, int], None]
"""Called with (units of work done, units in all)."""
Show = bool | Callable[[str, int, int], None] | None
"""Whether, or where, progress is shown: see `progress_bar`."""

_PARTS = 1000
# Seconds between two lines, and before the first, without a terminal.
_PAUSE = 10.0
# The share of the work that says how long the rest will take: the first steps are slow.
_TELLING = 0.05


def stages(progress: Progress | None, shares: Sequence[float]) -> list[Progress | None]:
    """Split one progress into stages that follow one another and take these shares of the work.

    >>> seen = []
    >>> first, second = stages(lambda done, total: seen.append((done, total)), [1, 3])
    >>> first(1, 1), second(1, 2)
    (None, None)
    >>> seen
    [(250, 1000), (625, 1000)]
    """
    if progress is None:
        return [None] * len(shares)
    report, whole = progress, sum(shares)

    def at(before: float, share: float, done: int, total: int) -> None:
        report(round(_PARTS * (before + share * done / max(total, 1)) / whole), _PARTS)

    return [partial(at, sum(shares[:i]), share) for i, share in enumerate(shares)]


@contextmanager
def progress_bar(title: str, show: Show = None, pause: float = _PAUSE) -> Iterator[Progress | None]:
    """Yield a callback that shows progress on stderr, or None.

    Args:
        title: what is going on.
        show: True shows a bar on a terminal and in a notebook, and elsewhere a line now and then;
            None shows a bar on a terminal only; False nothing. A function is called instead, with
            the title, and units of work done and in all.
        pause: seconds before the first line and between two of them.
    """
    with _shown(title, show, pause) as write:
        yield None if write is None else partial(write, title)


@contextmanager
def progress_steps(
    shares: Mapping[str, float], show: Show = None, pause: float = _PAUSE
) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each step as it begins, in their order.

    Args:
        shares: of the work that each step takes, by its name.
        show: see `progress_bar`.
        pause: see `progress_bar`.

    >>> seen = []
    >>> with progress_steps({"reading": 1, "writing": 3}, lambda *at: seen.append(at)) as begin:
    ...     begin("reading"), begin("writing")
    (None, None)
    >>> seen
    [('reading', 0, 1000), ('writing', 250, 1000)]
    """
    names = list(shares)
    with _shown(names[0], show, pause) as write:

        def begin(name: str) -> None:
            before = sum(shares[each] for each in names[: names.index(name)])
            if write is not None:
                write(name, round(_PARTS * before / sum(shares.values())), _PARTS)

        yield begin


def sentences(say: Callable[[str], None], pause: float = 0.0) -> Callable[[str, int, int], None]:
    """Return a function to show progress with, which says what is done and how long it will take.

    Args:
        say: called with a sentence.
        pause: seconds before the first sentence and between two of them.

    >>> show = sentences(print)
    >>> show("fitting", 1, 2)
    fitting: 50% in 0:00:00, about 0:00:00 left
    """
    start = last = time.monotonic()
    before = 0.0

    def write(title: str, done: int, total: int) -> None:
        nonlocal start, last, before
        now, share = time.monotonic(), done / total
        if share < before:  # another job
            start = now
        before = share
        if now - last < pause or done <= 0:
            return
        last = now
        spent, left = (timedelta(seconds=round(s)) for s in (now - start, (now - start) / share))
        rest = f", about {left - spent} left" if share >= _TELLING else ""
        say(f"{title}: {share:.0%} in {spent}{rest}")

    return write


@contextmanager
def _shown(
    title: str, show: Show, pause: float
) -> Iterator[Callable[[str, int, int], None] | None]:
    if callable(show):
        yield show
        return
    if show is False or (show is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if console.is_terminal or console.is_jupyter:
        with Bar(console=console, transient=console.is_terminal) as bar:
            job = bar.add_task(title, total=None)
            yield lambda name, done, total: bar.update(
                job, description=name, completed=done, total=total
            )
    else:
        yield sentences(_line, pause)


def _line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
