"""A worker: a process that lives long and runs one trial at a time, seen from the runner."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext

from nodecopy.experiment.outcome import Outcome, RunTrial, attempt
from nodecopy.experiment.threads import children_use_one_thread
from nodecopy.experiment.trial import Trial
from nodecopy.interrupts import shielded

_READY = "ready"

# Seconds that the system has to end a process that was killed, or is going by itself.
_PATIENCE = 60.0


def worker_context(run_trial: RunTrial) -> BaseContext:
    """Return how worker processes are made: clean ones, with the heavy imports done once.

    A fork server imports the module of ``run_trial`` and every worker is a fork of it. Where the
    system has none, each worker starts anew.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([run_trial.__module__])
    from multiprocessing import forkserver  # not on every system

    # Ctrl-C reaches every process of the terminal, also one that imports torch just then.
    with children_use_one_thread(), shielded():
        forkserver.ensure_running()
    return context


class Worker:
    """One process and the trial it is running.

    Attributes:
        process: of the worker.
        signs: readable when the worker has something to say, or has gone.
        trial: what it is running; None when it waits for one.
        ready: whether it has started and can be given a trial.
        deadline: on the monotonic clock, when its trial is to be stopped.
    """

    def __init__(self, context: BaseContext, run_trial: RunTrial) -> None:
        self.connection, theirs = context.Pipe()
        # Attribute and not a base class: `Process` exists on each concrete context only.
        self.process = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, run_trial), daemon=True
        )
        with children_use_one_thread():
            self.process.start()
        # From here on only the worker holds its end, so the pipe ends when the worker does.
        theirs.close()
        self.trial: Trial | None = None
        self.ready = False
        self.deadline = math.inf

    @property
    def signs(self) -> tuple[Connection, int]:
        """Its pipe and the sentinel of its process, for `multiprocessing.connection.wait`."""
        return self.connection, self.process.sentinel

    @property
    def idle(self) -> bool:
        """Whether it can be given a trial."""
        return self.ready and self.trial is None

    @property
    def late(self) -> bool:
        """Whether its trial has run past its deadline."""
        return self.trial is not None and time.monotonic() >= self.deadline

    def give(self, trial: Trial, time_limit: float | None) -> None:
        """Let it run a trial; a worker that died in this moment is noticed by `receive`."""
        self.trial = trial
        self.deadline = time.monotonic() + (math.inf if time_limit is None else time_limit)
        try:
            self.connection.send(trial)
        except OSError:
            return

    def receive(self) -> Outcome | None:
        """Return the outcome of its trial, or None once it is ready.

        Raises:
            EOFError: it died; ``trial`` is what it was running.
        """
        try:
            # A worker can be dead and its pipe open, held by a process that it had started.
            if not self.connection.poll():
                raise EOFError
            message = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        if message == _READY:
            self.ready = True
            return None
        self.trial, self.deadline = None, math.inf
        outcome: Outcome = message
        return outcome

    def stop(self) -> None:
        """End the process now, whatever it is doing."""
        self.process.kill()
        self.process.join(_PATIENCE)
        self.connection.close()

    def end(self) -> str:
        """Return how a process ended that has gone, or is going, by itself."""
        self.process.join(_PATIENCE)
        code = self.process.exitcode
        self.connection.close()
        if code is None:  # it can no longer be heard, yet it stays
            self.process.kill()
            return "no sign of life"
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _serve(connection: Connection, run_trial: RunTrial) -> None:
    """Run trials until the runner is gone."""
    # Ctrl-C reaches every process of the terminal; what to do then is for the runner to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_the_runner, daemon=True).start()
    try:
        connection.send(_READY)
        while True:
            connection.send(attempt(run_trial, connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        sys.exit(0)


def _exit_with_the_runner() -> None:
    """End this process in the middle of a trial if the runner was killed."""
    runner = multiprocessing.parent_process()
    if runner is not None:
        wait([runner.sentinel])
        os._exit(1)
