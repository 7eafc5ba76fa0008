"""A Dask cluster of two workers on this machine, started once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.waiting import wait_until

if TYPE_CHECKING:
    from distributed import LocalCluster

WORKERS = 2


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    dask = pytest.importorskip("dask", reason="the extra 'cluster' is not installed")
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    # By default a dead worker is called for half a minute, and one that takes a quarter of a minute
    # to come back, on a busy machine, never may.
    patience = {
        "distributed.comm.timeouts.connect": "10s",
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as started,
    ):
        yield started


@pytest.fixture
def address(cluster: LocalCluster) -> str:
    """The address of a scheduler with two workers, also after a test that killed some."""
    assert wait_until(lambda: len(cluster.scheduler_info["workers"]) == WORKERS)
    return str(cluster.scheduler_address)
