"""A fitted model in a folder, with what is needed to apply it to other tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.structural import NO_FEATURES, ties_to
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import DatasetError, FormatError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.saved import MODEL_FILE, model_file
from nodecopy.posterior import Posterior
from nodecopy.run.fit import LabelledGraph
from nodecopy.run.predictions import Predictions
from nodecopy.run.settings import FitSettings
from nodecopy.saving import load, savable, save
from nodecopy.tables import TableDataset, read_tables
from nodecopy.tables.ids import places_in
from nodecopy.tables.options import TableOptions

TABLES_FILE = "tables.safetensors"


@savable
@dataclass(frozen=True, eq=False)
class FittedTables:
    """How the tables of a fit were read.

    Attributes:
        labels: numbers of the known classes, -1 where there was none [N].
        structural: whether there were no features, so that links to some nodes took their place.
        feature_names: of the columns, in order [D]; ids of these nodes.
        reading: how the files were read: options of `read_tables` that were given.
    """

    labels: NDArray[np.int64]
    structural: bool
    feature_names: tuple[str, ...]
    reading: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """A fitted model, and how its tables were read."""

    classifier: NodeCopyClassifier
    tables: FittedTables

    @classmethod
    def of(cls, result: LabelledGraph) -> ModelFolder:
        """Return what is to be kept of a fit to tables."""
        table = result.table
        tables = FittedTables(
            table.dataset.labels,
            NO_FEATURES in table.notes,
            tuple(table.feature_names),
            _given(result.settings),
        )
        return cls(result.classifier, tables)

    def save(self, folder: Path) -> None:
        """Write two files into a folder, which must exist."""
        self.classifier.save(folder / MODEL_FILE)
        save(folder / TABLES_FILE, self.tables)

    @classmethod
    def load(cls, path: str | Path) -> ModelFolder:
        """Read a folder that `save` wrote."""
        classifier = NodeCopyClassifier.load(path)
        tables = load(model_file(path).with_name(TABLES_FILE), FittedTables)
        fitted = len(classifier.model_.probabilities), classifier.n_features_in_
        if fitted != (len(tables.labels), len(tables.feature_names)):
            raise FormatError(f"{path}: {TABLES_FILE} does not belong to {MODEL_FILE}")
        return cls(classifier, tables)

    def predict(self, settings: FitSettings) -> tuple[TableDataset, Posterior]:
        """Apply the model to other tables, e.g. of the same graph with new nodes.

        Files are read, and columns encoded, as they were for the fit, unless the settings say
        otherwise. Columns are matched by name: they may come in another order, and one that the
        model has not seen is left out, with a note. One that it needs must be there; listed
        features that are not there are zero. The labels returned are those that the model was
        fitted to. A note says how many nodes are new.
        """
        fitted = self.tables
        if settings.edges is None:
            raise DatasetError("edges is missing: a model is applied to tables (--edges FILE)")
        reading = fitted.reading | _given(settings)
        if settings.nodes is None:
            reading.pop("columns", None)
        table = read_tables(
            settings.edges,
            nodes=settings.nodes,
            encoder=self.classifier.encoder_,
            kinds=tuple(self.classifier.kinds_),
            **reading,
        )
        described, notes = NO_FEATURES not in table.notes, list(table.notes)
        if described == fitted.structural:
            way, do = ("without", "leave out") if described else ("to", "add")
            raise DatasetError(f"the model was fitted {way} columns of nodes: {do} --nodes FILE")
        places = places_in(table.ids, self.classifier.names_)
        if new := int(np.count_nonzero(places < 0)):
            notes.append(f"{new:,} of {len(places):,} nodes are new")
        names = fitted.feature_names
        if described and names != table.feature_names:
            raise DatasetError(
                "the columns are not those of the built-in dataset that the model was fitted to"
            )
        dataset = replace(
            table.dataset,
            features=table.dataset.features if described else self._ties(table),
            labels=np.where(places < 0, -1, fitted.labels[places]),
            class_names=tuple(str(value) for value in self.classifier.classes_),
        )
        named = replace(table, dataset=dataset, feature_names=names, notes=tuple(notes))
        posterior = self.classifier.posterior_on(dataset.graph, dataset.features, numbers=places)
        return named, posterior.take(slice(named.num_classified))

    def predictions(
        self, table: TableDataset, posterior: Posterior, coverage: float | None = None
    ) -> Predictions:
        """Return predictions with their sets.

        Args:
            table: as `predict` gives it.
            posterior: likewise.
            coverage: of the sets; None takes 0.9, and makes none where no label was held out.
        """
        if coverage is None and self.classifier.held_out_ is None:
            return Predictions.of(table, posterior)
        asked = FitSettings.coverage if coverage is None else coverage
        sets = self.classifier.assessment().sets.sets(posterior.probabilities, asked)
        return Predictions.of(table, posterior, sets, asked)

    def _ties(self, table: TableDataset) -> FeatureMatrix:
        """Return the links to the nodes whose links described nodes in the fit."""
        hubs = places_in(np.array(self.tables.feature_names, object), table.ids)
        if np.all(hubs < 0):
            raise DatasetError(
                "none of the nodes that the model knows is in this graph; without features it can "
                "only be applied to the graph it was fitted to, grown or changed"
            )
        return ties_to(table.dataset.graph, hubs)


def _given(settings: FitSettings) -> dict[str, Any]:
    """Return the options for reading edges and nodes that were given."""
    default = TableOptions()
    return {
        key: value
        for key, value in settings.reading.items()
        if value != getattr(default, key) and key not in ("label_columns", "label_kind")
    }
