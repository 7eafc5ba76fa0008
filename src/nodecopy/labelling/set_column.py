r"""Prediction sets as a column of text: ``set_90`` holds ``cat|dog`` for a set of two classes.

Names stand in the order of their probability, divided by ``|``; a ``|`` or ``\`` within a name has
a ``\`` in front, so that any name comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PREFIX = "set_"
_ESCAPED = re.compile(r"\\(.)", re.S)
_PART = re.compile(r"(?:[^\\|]|\\.)*", re.S)


def column_name(coverage: float) -> str:
    """Return the name of the column of sets with a coverage.

    >>> column_name(0.9), column_name(0.975)
    ('set_90', 'set_97.5')
    """
    return f"{PREFIX}{100 * coverage:.10g}"


def coverage_of(column: str) -> float | None:
    """Return the coverage that a column of sets is for; None if it is another column.

    >>> coverage_of("set_97.5"), coverage_of("set_off"), coverage_of("p_set_90")
    (0.975, None, None)
    """
    try:
        percent = float(column.removeprefix(PREFIX)) if column.startswith(PREFIX) else 0.0
    except ValueError:
        return None
    return percent / 100 if 0 < percent < 100 else None


def set_texts(
    sets: NDArray[np.bool_], probabilities: NDArray[np.floating], class_names: Sequence[str]
) -> NDArray[np.object_]:
    r"""Return the sets of nodes as text [N].

    >>> p = np.array([[0.2, 0.7, 0.1], [0.0, 0.0, 1.0]])
    >>> set_texts(p > 0.15, p, ("a", "b|c", "d")).tolist()
    ['b\\|c|a', 'd']
    """
    names = [re.sub(r"([\\|])", r"\\\1", name) for name in class_names]
    texts = np.array(names, object)[sets.argmax(1)]  # right where there is one class
    many = np.flatnonzero(sets.sum(1) != 1)
    order = np.argsort(-probabilities[many], axis=1, kind="stable").astype(np.int32)  # [n, K]
    inside = np.take_along_axis(sets[many], order, 1)
    # Sets are alike: each is put into words once. A class that is not inside is -1.
    ranked = np.where(inside, order, -1)
    rows = np.ascontiguousarray(ranked).view(np.dtype((np.void, 4 * ranked.shape[1]))).ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    made = ["|".join(names[k] for k in row[row >= 0]) for row in ranked[first]]
    texts[many] = np.array([*made, ""], object)[which]
    return texts


def split_set(text: str) -> list[str]:
    r"""Return the names in the text of a set; an empty text is a set without any.

    >>> split_set("b\\|c|a"), split_set("")
    (['b|c', 'a'], [])
    """
    if not text:
        return []
    parts, place = [], 0
    while True:
        part = _PART.match(text, place)
        assert part is not None  # it matches nothing, too
        parts.append(_ESCAPED.sub(r"\1", part[0]))
        place = part.end() + 1
        if place > len(text):
            return parts
