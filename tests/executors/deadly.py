"""A classifier that kills its worker, in a module of its own so that workers can import it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import DiffusionClassifier, Fitted
from nodecopy.data.task import Task
from nodecopy.posterior import Posterior, predicted_by
from tests.executors.fake_parts import die_once


@dataclass(frozen=True)
class Deadly:
    """Linear diffusion whose worker dies once while it is fitted, and once when it is applied."""

    folder: Path

    def fit(self, task: Task, seed: int = 0, progress: Any = None) -> FittedDeadly:
        die_once(self.folder / "fitted")
        return FittedDeadly(self.folder, DiffusionClassifier().fit(task, seed))


@dataclass(frozen=True, eq=False)
class FittedDeadly:
    folder: Path
    fitted: Fitted

    @property
    def probabilities(self) -> NDArray[np.floating]:
        return self.fitted.probabilities

    @property
    def posterior(self) -> Posterior:
        return Posterior.undivided(self.probabilities)

    def predict(self, graph: Any, features: Any) -> Posterior:
        die_once(self.folder / "applied")
        return predicted_by(self.fitted, graph, features)

    def placed(self, nodes: NDArray[np.int64]) -> FittedDeadly:
        return replace(self, fitted=self.fitted.placed(nodes))  # type: ignore[attr-defined]
