"""Problems: what is wrong with several files, collected rather than raised at the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nodecopy.errors import InputError, TablesError


class Problems:
    """Errors of input, in the order in which they were met.

    >>> problems = Problems()
    >>> with problems.caught():
    ...     raise InputError("one thing")
    >>> with problems.caught():
    ...     raise InputError("another")
    >>> problems.raise_any()
    Traceback (most recent call last):
    nodecopy.errors.TablesError: one thing (and 1 more problem, which nodecopy inspect shows)
    """

    def __init__(self) -> None:
        self._found: list[InputError] = []

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Keep an error of input that is raised inside, and go on behind."""
        try:
            yield
        except TablesError:
            raise
        except InputError as error:
            self._found.append(error)

    def raise_any(self) -> None:
        """Raise what was found: one error as it is, several as one that has them all."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise TablesError([str(error) for error in self._found])
