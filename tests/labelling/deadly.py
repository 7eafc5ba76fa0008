"""A base classifier that ends its process, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Deadly:
    """Kills its process when it is fitted, as the system does when memory runs out."""

    def fit(self, task: Any, seed: int = 0, progress: Any = None) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
