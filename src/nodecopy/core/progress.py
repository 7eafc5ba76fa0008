"""Progress: how long-running work says how far it is, and shows it on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

Progress = Callable[[int, int], None]
"""Called with (units of work done, units in all)."""

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

    def stage(before: float, share: float) -> Progress:
        def at(done: int, total: int) -> None:
            report(round(_PARTS * (before + share * done / max(total, 1)) / whole), _PARTS)

        return at

    return [stage(sum(shares[:i]), share) for i, share in enumerate(shares)]


@contextmanager
def progress_bar(
    title: str, show: bool | None = None, pause: float = _PAUSE
) -> Iterator[Progress | None]:
    """Yield a callback that shows progress on stderr, or None.

    Args:
        title: what is going on.
        show: True shows a bar on a terminal and in a notebook, and elsewhere a line now and then;
            None shows a bar on a terminal only; False nothing.
        pause: seconds before the first line and between two of them.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if console.is_terminal or console.is_jupyter:
        with Bar(console=console, transient=console.is_terminal) as bar:
            job = bar.add_task(title)
            yield lambda done, total: bar.update(job, completed=done, total=total)
    else:
        yield _lines(title, pause)


def _lines(title: str, pause: float) -> Progress:
    start = last = time.monotonic()

    def write(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < pause or done <= 0:
            return
        last = now
        gone, share = now - start, done / total
        spent, rest = (timedelta(seconds=round(s)) for s in (gone, gone / share - gone))
        left = f", about {rest} left" if share >= _TELLING else ""
        sys.stderr.write(f"{title}: {share:.0%} in {spent}{left}\n")
        sys.stderr.flush()

    return write
