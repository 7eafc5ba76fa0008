"""The models of a cross-validation, one after the other or several at a time; the same numbers.

A model depends on its fold and its seed only, and every process computes on as many threads as this
one, so that it does not matter where a model is fitted.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.errors import ModelError, RunError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.interrupts import shielded


class Fold(NamedTuple):
    """One model to fit: which labels are hidden from it, and what seeds it."""

    hidden: NDArray[np.int64]  # nodes [n]
    seed: int


def fitted_folds(
    classifier: NodeCopyClassifier, dataset: NodeDataset, folds: Sequence[Fold], jobs: int = 1
) -> Generator[tuple[int, NDArray[np.float64]], None, None]:
    """Yield (place of a fold, probabilities of its hidden nodes [n, K]), each as it is done.

    Args:
        classifier: what to fit; itself it is not fitted.
        dataset: labels are -1 where unknown.
        folds: what to hide.
        jobs: how many are fitted at a time, each in a process of its own beyond one.

    Raises:
        RunError: a process died, for lack of memory perhaps.
    """
    if not isinstance(jobs, (int, np.integer)) or isinstance(jobs, bool) or jobs < 1:
        raise ModelError(f"jobs must be a whole number, at least 1; got {jobs!r}")
    if min(jobs, len(folds)) <= 1:
        for place, fold in enumerate(folds):
            yield place, fit_fold(classifier, dataset, fold)
        return
    yield from _in_processes(classifier, dataset, folds, min(jobs, len(folds)))


def fit_fold(
    classifier: NodeCopyClassifier, dataset: NodeDataset, fold: Fold
) -> NDArray[np.float64]:
    """Fit a model without the labels of a fold, and return its probabilities there [n, K]."""
    known = dataset.labels.copy()
    known[fold.hidden] = -1
    model = NodeCopyClassifier(**classifier.get_params())
    model.set_params(random_state=fold.seed, progress=False)
    model.fit(dataset.graph, dataset.features, known)
    return model.predict_proba(fold.hidden)


def _in_processes(
    classifier: NodeCopyClassifier, dataset: NodeDataset, folds: Sequence[Fold], jobs: int
) -> Generator[tuple[int, NDArray[np.float64]], None, None]:
    others = set(multiprocessing.active_children())
    # Not forked: a copy of a process that has threads, as torch does, may hang.
    context = multiprocessing.get_context("spawn")
    given = (classifier, dataset, torch.get_num_threads())
    pool = ProcessPoolExecutor(jobs, context, _prepare, given)
    places: dict[Future[NDArray[np.float64]], int] = {}
    try:
        with shielded():  # Ctrl-C is for this process, which then ends the others
            for place, fold in enumerate(folds):
                places[pool.submit(_fit_here, fold)] = place
        for done in as_completed(places):
            yield places[done], done.result()
    except BrokenProcessPool as error:
        raise RunError(
            "a process that fits a model of the validation died, for lack of memory perhaps; take "
            "fewer jobs. A script that asks for several must start under "
            "if __name__ == '__main__':"
        ) from error
    finally:
        for process in set(multiprocessing.active_children()) - others:
            process.kill()  # nothing is lost: they hold no results
        pool.shutdown(cancel_futures=True)


class _Given:
    """What every model of this process is fitted to."""

    classifier: NodeCopyClassifier
    dataset: NodeDataset


def _prepare(classifier: NodeCopyClassifier, dataset: NodeDataset, threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    _Given.classifier, _Given.dataset = classifier, dataset


def _end_with_parent() -> None:
    """A process that is killed ends no others: they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _fit_here(fold: Fold) -> NDArray[np.float64]:
    return fit_fold(_Given.classifier, _Given.dataset, fold)
