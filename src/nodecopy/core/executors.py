"""Where independent work runs: in this process, in worker processes, on a Dask cluster.

An executor has one method, `map`. The parts of a fit and the trials of an experiment go through it
alike. Executors differ in where a call is computed, never in what: results are the same to the last
bit on processors of one model and on as many threads.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from nodecopy import __version__
from nodecopy.core.errors import InputError, ModelError, RunError, missing_extra, shown
from nodecopy.core.machine import available_cores, prefer_one_thread

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")
Call: TypeAlias = Callable[..., Result]

# How often in a row workers may be lost before that is an error.
_TRIES = 3
# Seconds for a scheduler to answer, and for its first worker to be there.
_ANSWER, _FIRST_WORKER = 10.0, 600.0

_ACCEPTED = (
    "None, 'serial', 'processes', a Dask Client, or the address of a Dask scheduler such as "
    "'tcp://host:8786'"
)


@runtime_checkable
class Executor(Protocol):
    """Computes independent calls of a function somewhere.

    Attributes:
        in_process: whether calls are computed in this process, and can report their progress.
    """

    in_process: bool

    def map(
        self, function: Call[Result], items: Sequence[Any], *shared: Any, ordered: bool = True
    ) -> Iterator[Result]:
        """Yield ``function(item, *shared)`` for every item.

        What the function raises is raised here, and its warnings are issued here.

        Args:
            function: defined in a module, so that it can be sent by name; changes no argument.
            items: small, and sent one by one.
            shared: sent once to each worker, and kept there for later calls that share the same
                object.
            ordered: False yields results as they are completed.

        Raises:
            RunError: no worker is left, or workers die again and again.
        """
        ...


class Serial:
    """Computes one item after the other in this process."""

    in_process = True

    def map(
        self, function: Call[Result], items: Sequence[Any], *shared: Any, ordered: bool = True
    ) -> Iterator[Result]:
        """Yield ``function(item, *shared)`` for every item.

        >>> list(Serial().map(pow, [2, 3], 2))
        [4, 9]
        """
        return map(function, items, *map(repeat, shared))


class _Remote(ABC):
    """Sends items to workers, and sends again what was lost with a worker."""

    in_process = False

    def __init__(self) -> None:
        # Keyed by identity; the object itself is kept, so that no other can have its id.
        self._sent: dict[int, tuple[Any, Any]] = {}

    def map(
        self, function: Call[Result], items: Sequence[Any], *shared: Any, ordered: bool = True
    ) -> Iterator[Result]:
        """Yield ``function(item, *shared)`` for every item."""
        results = self._numbered_results(function, items, shared)
        return _in_order(results) if ordered else (result for _, result in results)

    def _numbered_results(
        self, function: Call[Result], items: Sequence[Any], shared: Sequence[Any]
    ) -> Iterator[tuple[int, Result]]:
        left, losses = dict(enumerate(items)), 0
        while left:
            futures: dict[Any, int] = {}
            try:
                handles = self._handles(shared)
                for number, item in left.items():
                    futures[self._submit(function, item, handles)] = number
                for future in self._as_completed(list(futures)):
                    result, caught = future.result()
                    number = futures.pop(future)  # a scheduler may forget it
                    del left[number]
                    losses = 0
                    for warning in caught:
                        warnings.warn_explicit(*warning)
                    yield number, result
            except (BrokenProcessPool, CancelledError) as error:
                losses += 1
                if losses == _TRIES:
                    lost = f"workers died {_TRIES} times in a row; they may lack memory"
                    raise RunError(lost) from error
                self._restart()
            finally:
                self._cancel(list(futures))

    def _handles(self, shared: Sequence[Any]) -> list[Any]:
        """Return what stands for shared objects in a call; they are sent if they were not yet."""
        self._sent = {id(v): self._sent.get(id(v)) or (v, self._send(v)) for v in shared}
        return [self._sent[id(value)][1] for value in shared]

    @abstractmethod
    def _send(self, value: Any) -> Any:
        """Send a shared object; return its handle."""

    @abstractmethod
    def _submit(self, function: Call[Any], item: Any, handles: list[Any]) -> Any:
        """Return the future of `_call`."""

    def _as_completed(self, futures: list[Any]) -> Iterator[Any]:
        """Yield futures as they are completed."""
        return as_completed(futures)

    def _cancel(self, futures: list[Any]) -> None:
        """Forget calls that nobody waits for."""
        for future in futures:
            future.cancel()

    @abstractmethod
    def _restart(self) -> None:
        """Make ready for work after workers were lost, or raise RunError where that is vain."""


class Processes(_Remote):
    """Computes in worker processes on this machine, one thread each; use it with ``with``.

    Args:
        workers: how many; all cores that this process may use by default.
    """

    def __init__(self, workers: int | None = None) -> None:
        super().__init__()
        self.workers = workers or available_cores()

    def __enter__(self) -> Self:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            sys.exit(1)  # this is a worker that runs the main script; the parent says so
        if getattr(sys.modules["__main__"], "__file__", "") == "<stdin>":
            raise _not_started()
        self._folder = tempfile.TemporaryDirectory(prefix="nodecopy-")
        self._started = Path(self._folder.name, "started")  # by which a worker tells that it did
        self._pool = self._new_pool()
        return self

    def __exit__(self, *_: object) -> None:
        # After an error or Ctrl-C, calls may still run. Python 3.14 has `kill_workers` for this.
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(cancel_futures=True)
        self._sent.clear()
        self._folder.cleanup()

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, context, _start_worker, (self._started,))

    def _send(self, value: Any) -> Path:
        path = Path(self._folder.name, f"{len(os.listdir(self._folder.name))}.pickle")
        path.write_bytes(pickle.dumps(value, protocol=5))
        return path

    def _submit(self, function: Call[Any], item: Any, handles: list[Path]) -> Any:
        return self._pool.submit(_call_with_files, function, item, handles)

    def _restart(self) -> None:
        if not self._started.exists():
            raise _not_started()
        self._pool.shutdown()
        self._pool = self._new_pool()


class Dask(_Remote):
    """Computes on the workers of a Dask scheduler.

    Args:
        client: connected to it; stays open.
    """

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def _send(self, value: Any) -> Any:
        # Scattering waits for a worker, and here it may be told that there is none.
        try:
            self.client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError as error:
            address = self.client.scheduler_info()["address"]
            start = f"dask worker {address} --nthreads 1"
            raise RunError(f"no worker at {address}; start some: {start}") from error
        # In a list, whose entries are what is sent.
        (future,) = self.client.scatter([value], broadcast=True, hash=False)
        return future

    def _submit(self, function: Call[Any], item: Any, handles: list[Any]) -> Any:
        return self.client.submit(_call, __version__, function, item, *handles, pure=False)

    def _as_completed(self, futures: list[Any]) -> Iterator[Any]:
        from distributed import KilledWorker, as_completed

        for future in as_completed(futures):
            if isinstance(future.exception(), KilledWorker):
                raise RunError(f"workers died, they may lack memory: {future.exception()}")
            yield future

    def _cancel(self, futures: list[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(futures, force=True)

    def _restart(self) -> None:
        self._sent.clear()  # lost with the last worker that had it
        if self.client.status != "running":
            raise RunError("the Dask scheduler was lost; run again when there is one")


def check_executor(executor: object) -> None:
    """Raise ModelError for what is not an executor; nothing is connected yet."""
    if isinstance(executor, str):
        # A protocol, a host, a port; Dask would look for any other word in the network.
        known = executor in ("serial", "processes")
        accepted = known or bool(re.fullmatch(r"[a-z]+://[^\s/]+:\d+/?", executor))
    else:
        accepted = executor is None or _is_client(executor) or isinstance(executor, Executor)
    if not accepted or isinstance(executor, type):
        raise ModelError(f"executor must be {_ACCEPTED}; got {shown(executor)}")


@contextmanager
def opened(executor: Any, workers: int | None = None) -> Iterator[Executor]:
    """Yield the executor that a user named, ready for use.

    Args:
        executor: None and "serial" compute in this process, "processes" in worker processes; the
            address of a Dask scheduler or a Dask client on its workers; any `Executor` is itself.
        workers: of "processes".

    Raises:
        InputError: no scheduler answers at the address.
    """
    check_executor(executor)
    with ExitStack() as stack:
        if executor is None or executor == "serial":
            yield Serial()
        elif executor == "processes":
            yield stack.enter_context(Processes(workers))
        elif isinstance(executor, str):
            yield Dask(stack.enter_context(_connected(executor)))
        elif _is_client(executor):
            yield Dask(executor)
        else:
            yield executor


def _connected(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(missing_extra("a Dask cluster", "Dask", "cluster")) from error
    try:
        return Client(address, timeout=_ANSWER)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}: {error}") from error


def _is_client(value: object) -> bool:
    """Tell whether a value is a Dask client; only then has Dask been imported."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(value, distributed.Client)


def _in_order(results: Iterator[tuple[int, Result]]) -> Iterator[Result]:
    waiting: dict[int, Result] = {}
    following = 0
    for number, result in results:
        waiting[number] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _not_started() -> RunError:
    script = getattr(sys.modules["__main__"], "__file__", None)
    return RunError(
        "worker processes do not start: each imports the main script, which must be a file whose "
        f'calls are below `if __name__ == "__main__":`; it is {shown(script)}; executor=None '
        "computes in this process"
    )


def _start_worker(started: Path) -> None:
    """Prepare a worker process: Ctrl-C is for the parent to handle, and its end is ours."""
    started.touch()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    prefer_one_thread()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call_with_files(function: Call[Any], item: Any, files: Sequence[Path]) -> Any:
    return _call(__version__, function, item, *map(_unpickled, files))


@lru_cache(maxsize=8)
def _unpickled(path: Path) -> Any:
    return pickle.loads(path.read_bytes())  # noqa: S301 - written by the parent process


def _call(version: str, function: Call[Any], item: Any, *shared: Any) -> Any:
    """Return the result of a call on a worker, and the warnings that it issued."""
    if version != __version__:
        raise RunError(f"a worker has nodecopy {__version__}; install {version} everywhere")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(item, *shared)
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
