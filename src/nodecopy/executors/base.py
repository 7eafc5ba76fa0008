"""What an executor is; the serial one, which computes here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

Item = TypeVar("Item")
Result = TypeVar("Result")

Tell: TypeAlias = Callable[[str], None]
"""Shows a line that says what is waited for, or where something runs."""


@runtime_checkable
class Executor(Protocol):
    """Computes independent parts of something somewhere.

    Every part is one call of the function with the arguments it would have here, so that results
    are the same to the last bit on processors of one kind and as many threads. What the function
    raises is raised here, and so are its warnings.
    """

    def map(
        self, function: Callable[..., Result], items: Sequence[Item], *shared: Any
    ) -> Iterator[Result]:
        """Yield ``function(item, *shared)`` for every item, in the order of the items.

        Args:
            function: of a module, so that it can be sent by name; it changes no argument.
            items: small, and sent one by one.
            shared: sent once to each worker, however large, and kept there for the next call if
                that shares the same object.

        Raises:
            RunError: it cannot be computed there, e.g. no worker is left.
        """
        ...


class Serial:
    """Computes one part after the other in this process, each when it is asked for."""

    def map(
        self, function: Callable[..., Result], items: Sequence[Item], *shared: Any
    ) -> Iterator[Result]:
        """Yield ``function(item, *shared)`` for every item.

        >>> list(Serial().map(pow, [2, 3], 2))
        [4, 9]
        """
        for item in items:
            yield function(item, *shared)


def say_nothing(line: str) -> None:
    """Tell nobody."""
