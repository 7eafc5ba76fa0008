"""What users may name as an executor, and the executor that it stands for."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodecopy.errors import InputError, ModelError, RunError, shown
from nodecopy.executors.base import Executor, Serial, Tell, say_nothing
from nodecopy.executors.cluster import Session
from nodecopy.executors.connection import Workers, connected, quiet

if TYPE_CHECKING:
    from distributed import Client

_ACCEPTED = "the address of a Dask scheduler such as 'tcp://host:8786', a Dask Client, or None"


@dataclass(frozen=True)
class DaskCluster:
    """The workers of an existing Dask scheduler.

    Args:
        scheduler: its address, ``tcp://host:8786``, or a `distributed.Client` of it.
        patience: seconds without any worker after which a fit ends with an error.
    """

    scheduler: str | Client
    patience: float = 600.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if isinstance(self.scheduler, str):
            # A protocol, a host, a port; Dask would look for any other word in the network.
            if not re.fullmatch(r"[a-z]+://[^\s/]+:\d+/?", self.scheduler):
                raise ModelError(
                    "the address of a Dask scheduler must be like tcp://host:8786; got "
                    f"{shown(self.scheduler)}"
                )
        elif not _is_client(self.scheduler):
            raise ModelError(f"executor must be {_ACCEPTED}; got {shown(self.scheduler)}")
        elif self.scheduler.asynchronous:
            raise ModelError("executor must be a synchronous Dask Client; got an asynchronous one")
        if not self.patience > 0:
            raise ModelError(f"patience must be positive; got {shown(self.patience)}")

    @contextmanager
    def open(self, tell: Tell = say_nothing) -> Iterator[Executor]:
        """Connect to the scheduler; a client that was given stays open afterwards.

        Raises:
            InputError: no scheduler answers there.
        """
        with ExitStack() as stack:
            client, address = self.scheduler, self.scheduler
            if not isinstance(client, str):
                address = str(client.scheduler_info()["address"])
                stack.enter_context(quiet())
            else:
                try:
                    client = stack.enter_context(connected(client, 0))
                except RunError as error:  # a wrong address, most likely
                    raise InputError(str(error)) from error
            session = Session(client, Workers(client, str(address), tell, self.patience))
            stack.callback(session.forget)
            yield session


def check_executor(executor: object) -> None:
    """Refuse what is no executor; nothing is connected yet."""
    _chosen(executor)


@contextmanager
def opened(executor: object, tell: Tell = say_nothing) -> Iterator[Executor]:
    """Yield the executor that a user named, connected.

    Args:
        executor: None computes here; the address of a Dask scheduler, a Dask client, a
            `DaskCluster`; any `Executor` is itself.
        tell: told what is waited for.
    """
    chosen = _chosen(executor)
    if isinstance(chosen, DaskCluster):
        with chosen.open(tell) as session:
            yield session
    else:
        yield chosen


def _chosen(executor: Any) -> DaskCluster | Executor:
    if executor is None:
        return Serial()
    if isinstance(executor, DaskCluster):
        return executor
    if isinstance(executor, str) or _is_client(executor):
        return DaskCluster(executor)
    if isinstance(executor, Executor) and not isinstance(executor, type):
        return executor
    raise ModelError(f"executor must be {_ACCEPTED}; got {shown(executor)}")


def _is_client(value: object) -> bool:
    """Tell whether something is a Dask client; only then has Dask been imported."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(value, distributed.Client)
