"""Parts of a fit on the workers of a Dask cluster.

Dask is told on which worker a part is to begin, one on each thread at a time: its own guesses go by
how long parts have taken so far and by where the shared data is, of which the one is not known and
the other would keep workers idle that have just come. What a lost worker had, a part that it was
computing, a result that was not fetched, the shared data, is computed or sent again.

Of shared data, arrays that every worker can map from the same file are sent by the name of the file
(`origin`); where a worker cannot, or one that joins, the arrays themselves are sent.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from nodecopy import __version__
from nodecopy.errors import RunError
from nodecopy.executors.base import Item, Result
from nodecopy.executors.connection import PATIENCE, Workers
from nodecopy.executors.origin import UnseenError, all_seen, packed, unpacked

if TYPE_CHECKING:
    from distributed import Client, Future

# How often a part is given to workers, and shared data is sent, before that is an error.
_TRIES = 4
# Results that wait on the workers until earlier ones are there; more are not begun.
_AHEAD = 8
# Between two looks whether a part has ended, in seconds: short at first, then longer.
_SHORTEST, _LONGEST = 0.001, 0.05

_DIED = (
    f"{_TRIES} workers that computed the same part of the fit died, one after the other; they may "
    "lack memory"
)
_LOST = "the Dask scheduler was lost; fit again when there is one"


class Session:
    """An executor on the workers of a scheduler, while there is a connection.

    Args:
        client: of the cluster.
        workers: which counts them.
    """

    def __init__(self, client: Client, workers: Workers) -> None:
        self.client, self.workers = client, workers
        # By identity, beside the value itself, so that no other value can have its number.
        self._shared: dict[int, tuple[Any, Future[Any]]] = {}
        self._by_origin = True

    def map(
        self, function: Callable[..., Result], items: Sequence[Item], *shared: Any
    ) -> Iterator[Result]:
        """Yield ``function(item, *shared)`` for every item."""
        parts: _Parts[Result] = _Parts(self, function, items, shared)
        try:
            for number in range(len(items)):
                yield parts.result(number)
        except OSError as error:
            if self.client.status == "running":  # a part has raised it
                raise
            raise RunError(_LOST) from error
        finally:
            parts.cancel()

    def send(self, values: Sequence[Any]) -> list[Future[Any]]:
        """Return values as they are on the workers; those there are not sent, others forgotten."""
        kept = {id(value): self._shared.get(id(value)) for value in values}
        self._shared = {
            number: pair
            for number, pair in kept.items()
            if pair is not None and pair[1].status == "finished"
        }
        for value in values:
            if id(value) not in self._shared:
                self._shared[id(value)] = value, self._sent(value)
        return [self._shared[id(value)][1] for value in values]

    def forget(self) -> None:
        """Let go of what is shared."""
        self._shared.clear()

    def send_whole(self) -> None:
        """Send arrays themselves from now on: some worker does not see their files."""
        self._by_origin = False
        self.forget()

    def look(self) -> None:
        """Look after the workers, and after the scheduler."""
        self.workers.look()
        if self.client.status != "running":
            raise RunError(_LOST)

    def _sent(self, value: Any) -> Future[Any]:
        for _ in range(_TRIES):
            self._wait_for_workers()
            # A worker may be lost in this moment.
            with suppress(TimeoutError, OSError):
                # In a list, whose entries are what is sent.
                (future,) = self.client.scatter(
                    [self._reduced(value)], broadcast=True, hash=False, timeout=PATIENCE
                )
                return future
        raise RunError("the graph cannot be sent to the workers: they die while they receive it")

    def _reduced(self, value: Any) -> Any:
        """Return a value without the arrays that all workers can map from a file."""
        small = packed(value) if self._by_origin else None
        if small is None:
            return value
        # An exception in place of an answer is no worker that sees them.
        answers = self.client.run(all_seen, small.origins, on_error="return")
        return small if all(answer is True for answer in answers.values()) else value

    def _wait_for_workers(self) -> None:
        self.look()
        while not self.workers.threads:
            time.sleep(_LONGEST)
            self.look()


class _Given(NamedTuple):
    future: Future[Any]
    worker: str

    @property
    def running(self) -> bool:
        return bool(self.future.status == "pending")

    @property
    def ended(self) -> bool:
        return bool(self.future.status == "finished")


class _Parts(Generic[Result]):
    """The parts of one `map`: those that wait, and those that were given to a worker."""

    def __init__(
        self,
        session: Session,
        function: Callable[..., Result],
        items: Sequence[Any],
        shared: Sequence[Any],
    ) -> None:
        self._session, self._function, self._items = session, function, items
        self._values, self._shared = shared, list[Any]()
        self._waiting = deque(range(len(items)))
        self._given: dict[int, _Given] = {}
        self._tries: Counter[int] = Counter()

    def result(self, number: int) -> Result:
        """Wait for the result of a part; look after the others in the meantime."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        pause = _SHORTEST
        while True:
            self._collect()
            self._begin()
            given = self._given.get(number)
            if given is not None and given.ended:
                # Its worker may be lost before the result is fetched: it is then computed again.
                with suppress(TimeoutError, KilledWorker, FutureCancelledError):
                    result, caught = given.future.result(timeout=PATIENCE)
                    del self._given[number]
                    _warn_again(caught)
                    return result
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    def cancel(self) -> None:
        """Take back what has not ended."""
        futures = [given.future for given in self._given.values()]
        self._given.clear()
        if futures and self._session.client.status == "running":
            with suppress(TimeoutError, OSError):
                self._session.client.cancel(futures, force=True)

    def _collect(self) -> None:
        """Raise what a part has raised; let those begin again that are lost."""
        self._session.look()
        if any(future.status != "finished" for future in self._shared):
            self._shared = []  # lost with the last worker that had it
        for number, given in [*self._given.items()]:
            if given.future.status == "error" and not self._unseen(given.future):
                _raise(given.future)
            if given.future.status == "error":  # to be sent whole
                self._shared = []
            if not given.running and not given.ended:  # as what needs shared data that is lost
                del self._given[number]
                self._waiting.appendleft(number)

    def _unseen(self, future: Future[Any]) -> bool:
        """Tell whether a worker lacked a file; from then on, arrays are sent."""
        if not isinstance(future.exception(timeout=PATIENCE), UnseenError):
            return False
        self._session.send_whole()
        return True

    def _begin(self) -> None:
        """Begin parts on threads that have none."""
        ended = sum(given.ended for given in self._given.values())
        while self._waiting and ended < _AHEAD:
            if not self._shared and self._values:
                self._shared = self._session.send(self._values)
            worker = self._idle()
            if worker is None:
                return
            number = self._waiting.popleft()
            self._tries[number] += 1
            if self._tries[number] > _TRIES:
                raise RunError(_DIED)
            future = self._session.client.submit(
                _compute,
                __version__,
                self._function,
                self._items[number],
                *self._shared,
                key=f"nodecopy-{uuid.uuid4().hex}-{number}",
                pure=False,
                workers=[worker],
                allow_other_workers=True,
            )
            self._given[number] = _Given(future, worker)

    def _idle(self) -> str | None:
        """Return the worker with the smallest share of busy threads, if one has a free one."""
        busy = Counter(given.worker for given in self._given.values() if given.running)
        shares = {w: busy[w] / n for w, n in self._session.workers.threads.items() if busy[w] < n}
        return min(shares, key=shares.__getitem__, default=None)


def _compute(version: str, function: Callable[..., Any], item: Any, *shared: Any) -> Any:
    """Compute a part; runs on a worker."""
    if version != __version__:
        raise RunError(
            f"a worker has nodecopy {__version__}, but {version} asks it to compute; install the "
            "same everywhere"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(item, *map(unpacked, shared))
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


def _warn_again(caught: Sequence[tuple[str, type[Warning], str, int]]) -> None:
    """Warn of what a part warned of, where it was computed."""
    for message, category, file, line in caught:
        warnings.warn_explicit(message, category, file, line)


def _raise(future: Future[Any]) -> None:
    """Raise what a part raised."""
    from distributed import KilledWorker

    error = future.exception(timeout=PATIENCE)
    if isinstance(error, KilledWorker):
        raise RunError(_DIED) from error
    raise error
