"""A fitted model in a folder, with what is needed to apply it to other tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nodecopy.core.errors import DatasetError
from nodecopy.core.saving import load, savable, save
from nodecopy.estimator.another_graph import predict_another
from nodecopy.posterior import Posterior
from nodecopy.problem.problem import Problem
from nodecopy.read.ids import places_in
from nodecopy.read.options import TableOptions
from nodecopy.read.tables import read_tables
from nodecopy.result import MODEL_FILE, Predictions, Result, model_file
from nodecopy.run.fit import Run
from nodecopy.run.settings import FitSettings

TABLES_FILE = "tables.safetensors"


@savable
@dataclass(frozen=True, eq=False)
class FittedTables:
    """How the tables of a fit were read.

    Attributes:
        reading: options of `read_tables` that were given.
    """

    reading: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """The result of a fit, and how its tables were read."""

    result: Result
    tables: FittedTables

    @classmethod
    def of(cls, run: Run) -> ModelFolder:
        """Return what is to be kept of a fit to tables."""
        return cls(run.result, FittedTables(_given(run.settings)))

    def save(self, folder: Path) -> None:
        """Write two files into a folder, which must exist."""
        self.result.save(folder / MODEL_FILE)
        save(folder / TABLES_FILE, self.tables)

    @classmethod
    def load(cls, path: str | Path) -> ModelFolder:
        """Read a folder that `save` wrote."""
        result = Result.load(path)
        return cls(result, load(model_file(path).with_name(TABLES_FILE), FittedTables))

    def predict(self, settings: FitSettings) -> tuple[Problem, Posterior]:
        """Apply the model to other tables, e.g. of the same graph with new nodes.

        Files are read, and columns encoded, as they were for the fit, unless the settings say
        otherwise. Columns are matched by name: they may come in another order, and one that the
        model has not seen is left out, with a note. One that it needs must be there; listed
        features that are not there are zero. The labels returned are those that the model was
        fitted to. A note says how many nodes are new.
        """
        fitted = self.result.given
        if settings.edges is None:
            raise DatasetError("edges is missing: a model is applied to tables (--edges FILE)")
        reading = self.tables.reading | _given(settings)
        if settings.nodes is None:
            reading.pop("column_types", None)
        table = read_tables(
            settings.edges,
            nodes=settings.nodes,
            encoder=fitted.encoder,
            node_types=tuple(fitted.node_types),
            **reading,
        )
        described, notes = table.features is not None, list(table.notes)
        if described != (fitted.hubs is None):
            way, do = ("without", "leave out") if described else ("to", "add")
            raise DatasetError(f"the model was fitted {way} columns of nodes: {do} --nodes FILE")
        places = places_in(table.ids, fitted.ids)
        if new := int(np.count_nonzero(places < 0)):
            notes.append(f"{new:,} of {len(places):,} nodes are new")
        if not described and new == len(places):
            raise DatasetError(
                "none of the nodes that the model knows is in this graph; without features it can "
                "only be applied to the graph it was fitted to, grown or changed"
            )
        posterior = predict_another(self.result, table.graph, table.features, places)
        labels = np.where(places < 0, -1, fitted.labels[places])
        labelled = replace(table, labels=labels, classes=fitted.classes, notes=tuple(notes))
        return labelled, posterior.take(slice(table.num_classified))

    def predictions(
        self, table: Problem, posterior: Posterior, coverage: float | None = None
    ) -> Predictions:
        """Return predictions with their sets.

        Args:
            table: as `predict` gives it.
            posterior: likewise.
            coverage: of the sets; None takes that of the fit, and makes none where no label was
                held out.
        """
        result, n, sets = self.result, table.num_classified, None
        if coverage is not None or result.held_out is not None:
            sets = result.sets(coverage, posterior.probabilities)
        return Predictions(
            table.ids[:n],
            result.classes,
            posterior,
            table.labels[:n],
            None if table.titles is None else table.titles[:n],
            sets,
            result.coverage if coverage is None else coverage,
        )


def _given(settings: FitSettings) -> dict[str, Any]:
    """Return the options for reading edges and nodes that were given."""
    default = TableOptions()
    return {
        key: value
        for key, value in settings.reading.items()
        if value != getattr(default, key) and key not in ("label_columns", "label_type")
    }
