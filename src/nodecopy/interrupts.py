"""Ctrl-C and SIGTERM: one line and an exit code, whatever the program is doing.

As long as a program only starts, nothing can be lost and it ends at once. An exception would be
raised anywhere in the initialisation of NumPy or torch, which swallow it, turn it into another or
abort. Once the program works, both signals raise KeyboardInterrupt, but never within an import. A
library must not do this to the program that uses it: only `nodecopy.__main__` calls `begin`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

EXIT_INTERRUPTED = 130
_EXIT = {signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: 143}
_LINE = b"interrupted\n"

# After so many seconds an interrupt that came during an import is tried again.
_AGAIN = 0.01


class _Program:
    """What the program is doing, and the first signal that it got."""

    working = False
    received: int | None = None


def begin() -> None:
    """Take over both signals; until `working` is called they end the program at once."""
    _Program.working, _Program.received = False, None
    # The last thing that is done: then Python gives signals back to the system, which would kill.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    for number in _EXIT:
        # Who starts a program in the background may have it ignore Ctrl-C.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _on_signal)


def working() -> None:
    """Say that the imports are done: from here on an interrupt is an exception to be handled."""
    _Program.working = True


def interrupted() -> bool:
    """Tell whether a signal came: what a library raises after it may be its answer to that."""
    return _Program.received is not None


def end(code: int) -> int:
    """Return the exit code of a program that is done; signals can no longer change it."""
    if code == EXIT_INTERRUPTED and _Program.received is not None:
        code = _EXIT[signal.Signals(_Program.received)]
    for number in _EXIT:
        if signal.getsignal(number) == _on_signal:
            signal.signal(number, lambda number, frame: os._exit(code))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if _Program.received is not None:
        # What was being started when the interrupt came is no longer waited for, nor complained of.
        os._exit(code)
    return code


@contextmanager
def shielded() -> Iterator[None]:
    """Start threads and processes that Ctrl-C does not reach: what to do is for the program to say.

    The signal waits for the end of the block, so the block must be short.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    with _unconcerned():
        resource_tracker.ensure_running()  # it would lift the block when it starts later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _unconcerned() -> Iterator[None]:
    """Start a resource tracker that frees what a killed program leaves, and does not mention it."""
    before = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{before},{quiet}" if before else quiet
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _on_signal(number: int, frame: FrameType | None) -> None:
    _Program.received = _Program.received or number
    if not _Program.working:
        os.write(2, _LINE)
        os._exit(_EXIT[signal.Signals(number)])
    if _importing(frame):
        timer = threading.Timer(_AGAIN, _send, (number,))
        timer.daemon = True
        timer.start()
        return
    raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _send(number: int) -> None:
    if hasattr(signal, "pthread_kill"):  # wakes the main thread, whatever it waits for
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)
