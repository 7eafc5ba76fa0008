"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from nodecopy.progress import Progress


@contextmanager
def progress_bar(title: str, wanted: bool | None = None) -> Iterator[Progress | None]:
    """Yield a callback that moves a bar on stderr, or None where no bar is wanted.

    Args:
        title: what is going on.
        wanted: None shows a bar when stderr is a terminal.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=console.is_terminal) as bar:
        job = bar.add_task(title)

        def move(done: int, total: int) -> None:
            bar.update(job, completed=done, total=total)

        yield move
