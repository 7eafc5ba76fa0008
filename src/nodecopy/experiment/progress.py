"""How far a run is, shown on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from nodecopy.experiment.runner import RunState, Watch

# Seconds between two lines where there is no terminal.
_PAUSE = 10.0


@contextmanager
def watch_run(title: str, live: bool | None = None, pause: float = _PAUSE) -> Iterator[Watch]:
    """Yield what shows the state of a run.

    Args:
        title: what runs.
        live: a bar that moves; None: if stderr is a terminal.
        pause: at least so many seconds between two lines, where there is no bar.
    """
    if sys.stderr.isatty() if live is None else live:
        with _bar(title) as watch:
            yield watch
    else:
        yield _lines(title, pause)


def describe(state: RunState) -> str:
    """Return a state in one line.

    >>> describe(RunState(total=100, before=20, done=30, seconds=60.0))
    '50 of 100 trials, 0 failed, 30.0 per minute, 0:01:40 left'
    """
    counts = (
        f"{state.before + state.done:,} of {state.total:,} trials, {len(state.failures)} failed"
    )
    if state.place and state.left:
        counts += f"; {state.place}"
    if state.seconds_left is None or not state.left:
        return counts
    left = timedelta(seconds=round(state.seconds_left))
    return f"{counts}, {state.rate * 60:.1f} per minute, {left} left"


def _lines(title: str, pause: float) -> Watch:
    last, place = -pause, ""

    def watch(state: RunState) -> None:
        nonlocal last, place
        now = time.monotonic()
        if state.left and now - last < pause and state.place == place:
            return
        last, place = now, state.place
        sys.stderr.write(f"{title}: {describe(state)}\n")
        sys.stderr.flush()

    return watch


@contextmanager
def _bar(title: str) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        job = bar.add_task(title, total=None, state="")

        def watch(state: RunState) -> None:
            ended = state.before + state.done + len(state.failures)
            bar.update(job, completed=ended, total=state.total, state=describe(state))

        yield watch
