"""How long tests wait: for a condition, for a process. Nothing in a test waits for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds for what takes one or two on an idle machine.
LIMIT = 240.0


def wait_until(condition: Callable[[], bool], seconds: float = LIMIT) -> bool:
    """Wait for a condition; return whether it came true."""
    end = time.monotonic() + seconds
    while not (true := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return true
