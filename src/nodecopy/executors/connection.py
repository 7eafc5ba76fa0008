"""The connection to a Dask cluster: one of our own on this machine, or that of a scheduler.

Dask waits for workers for ever. Here, a cluster of our own that has had no worker for a stated time
ends the run; with a scheduler elsewhere, the run says what it waits for, and how long it may wait
is for the caller to say.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from nodecopy.errors import InputError, RunError, missing_extra
from nodecopy.interrupts import shielded

if TYPE_CHECKING:
    from distributed import Client

# In seconds: how long a scheduler may take to answer, a cluster of our own to end, and to be
# without a worker; how often workers are counted, and that there are none is repeated.
PATIENCE = 10.0
_CLOSING = 30.0
NO_WORKER = 180.0
_LOOK = 2.0
_REMIND = 60.0

# What a local cluster measures about itself many times a second would cost more than all the rest
# of the runner: the profile of its threads, the delay of its event loops, its workers' memory.
# A lost worker has as long as it takes to come back: after that time, Dask ends its nanny for good.
OWN_CLUSTER = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.deploy.lost-worker-timeout": "1h",
}


class Workers:
    """Counts the workers of a cluster while a run waits for results.

    Args:
        client: of the cluster.
        address: of its scheduler; None if the cluster is our own.
        tell: shows a line about the workers of a cluster elsewhere.
        patience: seconds that such a cluster may be without a worker; None is for ever.

    Attributes:
        threads: of every worker, by its address, when they were last counted.
    """

    def __init__(
        self,
        client: Client,
        address: str | None,
        tell: Callable[[str], None],
        patience: float | None = None,
    ) -> None:
        self._client, self._address, self._tell = client, address, tell
        self._patience = patience
        self.threads: dict[str, int] = {}
        self._looked = self._told = -_REMIND
        self._none_since: tuple[float, str] | None = None
        self._count = -1

    def look(self) -> None:
        """Count the workers, if that was not done a moment ago.

        Raises:
            RunError: there have been none for too long.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        try:
            self.threads = dict(self._client.nthreads(callback_timeout=PATIENCE))
        except OSError:  # busy, or lost; the futures will say which
            return
        count = len(self.threads)
        if count:
            self._none_since = None
        elif self._none_since is None:
            self._none_since = now, datetime.now().strftime("%H:%M:%S")
        self._check_workers(count, now)
        self._count = count

    def _check_workers(self, count: int, now: float) -> None:
        if self._address is None:
            if self._none_since is not None and now - self._none_since[0] >= NO_WORKER:
                raise RunError(
                    f"the Dask cluster on this machine has had no worker for {NO_WORKER:g} "
                    "seconds; run the same command again to go on from here, or use the executor "
                    "'processes'"
                )
        elif self._none_since is not None:
            self._check_patience(now - self._none_since[0], self._none_since[1])
            if self._count != 0 or now - self._told >= _REMIND:
                self._told = now
                since = self._none_since[1]
                self._tell(f"waiting for workers: there are 0 at {self._address} since {since}")
        elif self._count <= 0:
            self._tell(f"{count} worker{'s' * (count > 1)} at {self._address}")

    def _check_patience(self, seconds: float, since: str) -> None:
        if self._patience is not None and seconds >= self._patience:
            raise RunError(
                f"there has been no worker at {self._address} for {self._patience:g} seconds, "
                f"since {since}; start some (dask worker {self._address} --nthreads 1), or fit "
                "without a cluster"
            )


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Client]:
    """Connect to a scheduler, or to a cluster on this machine that ends with the block.

    Args:
        address: of the scheduler; None starts a cluster.
        workers: of that cluster. They start in the background.
    """
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise InputError(missing_extra("the executor 'cluster'", "Dask", "cluster")) from error
    with quiet():
        if address is None:
            with dask.config.set(OWN_CLUSTER), _own_cluster(workers) as client:
                yield client
            return
        try:
            client = Client(address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise RunError(f"no Dask scheduler answers at {address}: {error}") from error
        with _closing(client):
            yield client


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress what Dask logs: that workers die and come back is no news here."""
    from distributed.utils import silence_logging_cmgr

    with silence_logging_cmgr(logging.CRITICAL):
        yield


@contextmanager
def _closing(client: Client) -> Iterator[Client]:
    try:
        yield client
    finally:
        # What it complains of when it ends late, or while it still starts, is nobody's loss, and
        # must not take the place of an interrupt.
        with suppress(Exception):
            client.close(timeout=_CLOSING)


@contextmanager
def _own_cluster(workers: int) -> Iterator[Client]:
    from distributed import Client, LocalCluster
    from distributed.utils import LoopRunner

    # Whatever this thread starts, workers that come back included, is out of the reach of Ctrl-C.
    runner = LoopRunner()
    with shielded():
        runner.start()
    try:
        local = LocalCluster(
            n_workers=0,  # with more, it would wait for them here, for ever
            threads_per_worker=1,
            memory_limit=1.0 / workers,  # of all memory
            dashboard_address="127.0.0.1:0",  # any free port
            silence_logs=logging.CRITICAL,
            loop=runner.loop,
        )
        try:
            local.scale(workers)
            with _closing(Client(local, timeout=PATIENCE)) as client:
                yield client
        finally:
            with suppress(Exception):  # as above
                local.close(timeout=_CLOSING)
    finally:
        runner.stop()
