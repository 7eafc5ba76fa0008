"""Progress: how long-running work says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Progress = Callable[[int, int], None]
"""Called with (units of work done, units in all)."""

_PARTS = 1000


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
