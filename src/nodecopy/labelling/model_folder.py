"""A fitted model in a folder, with what it must know of tables to be used on a grown graph."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.stored.ids import load_ids, places_in, save_ids
from nodecopy.data.structural import NO_FEATURES, ties_to
from nodecopy.data.tables import TableDataset, read_tables
from nodecopy.data.tables.edges import RepeatedEdges
from nodecopy.data.tables.features import MISSING_SUFFIX, MissingValues
from nodecopy.data.tables.nodes import Ids
from nodecopy.data.tables.wording import listed
from nodecopy.data.task import FeatureMatrix
from nodecopy.data.text_ids import TextIds
from nodecopy.errors import DatasetError, FormatError, shown, unknown_name
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.saved import MODEL_FILE, model_file
from nodecopy.graph import Graph
from nodecopy.labelling.outcome import LabelledGraph
from nodecopy.posterior import Posterior
from nodecopy.regular_file import regular_file
from nodecopy.typed import fits

TABLES_FILE, IDS_FILE = "tables.json", "ids.npz"
# Version 2 had the ids in tables.json.
_FORMAT, _VERSION, _READ = "nodecopy tables", 3, (2, 3)
_NEEDED: dict[str, tuple[Any, str]] = {
    "known": (dict[str, str], "'known', the labels by id"),
    "feature_names": (list[str], "the names of the features"),
    "structural": (bool, "'structural', whether there were no features"),
}
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """A model, and the features it was fitted to.

    Attributes:
        classifier: the fitted model.
        feature_names: of the columns, in order [D].
        structural: whether the features were ties to these nodes, for want of others.
        ids: of the nodes it was fitted to, in order [N].
        known: the labels it was fitted to, by id.
        repeated_edges: what became of edges with several rows, see `read_tables`.
        missing: what became of missing numbers of features, likewise.
        filled: what was written for them, by the name of the feature.
    """

    classifier: NodeCopyClassifier
    feature_names: tuple[str, ...]
    structural: bool
    ids: Ids = field(default_factory=lambda: TextIds.of([]))
    known: Mapping[str, str] = field(default_factory=dict)
    repeated_edges: RepeatedEdges = "largest"
    missing: MissingValues = "impute"
    filled: Mapping[str, float] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the folder, which must exist."""
        self.classifier.save(folder / MODEL_FILE)
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "structural": self.structural,
            "feature_names": self.feature_names,
            "known": self.known,
            "repeated_edges": self.repeated_edges,
            "missing": self.missing,
            "filled": self.filled,
        }
        text = json.dumps(content, ensure_ascii=False, indent=0)
        (folder / TABLES_FILE).write_text(text, encoding="utf-8")
        save_ids(folder / IDS_FILE, self.ids)

    @classmethod
    def load(cls, path: str | Path) -> ModelFolder:
        """Read a folder that `save` wrote."""
        folder = Path(path)
        if not folder.is_dir():
            raise FormatError(f"there is no folder {folder}; nodecopy fit writes one named model")
        content = _read_json(model_file(folder).with_name(TABLES_FILE))
        classifier = NodeCopyClassifier.load(folder)
        names = content["feature_names"]
        if len(names) != classifier.n_features_in_:
            raise FormatError(
                f"{folder / TABLES_FILE} names {len(names)} features; the model has "
                f"{classifier.n_features_in_}"
            )
        ids, where = _ids(folder, content)
        nodes = len(classifier.posterior_.probabilities)
        if len(ids) != nodes:
            raise FormatError(f"{where} names {len(ids):,} nodes; the model has {nodes:,}")
        rest = (content[key] for key in ("known", "repeated_edges", "missing", "filled"))
        return cls(classifier, tuple(names), content["structural"], ids, *rest)

    @classmethod
    def of(cls, found: LabelledGraph) -> ModelFolder:
        """Return what is to be kept of a fit to tables."""
        dataset = found.table.dataset
        known = {
            str(found.table.ids[node]): dataset.class_names[dataset.labels[node]]
            for node in np.flatnonzero(dataset.labels >= 0)
        }
        names, structural = found.table.feature_names, NO_FEATURES in found.table.notes
        ids = found.table.ids
        repeated: RepeatedEdges = "sum" if found.table.counts.added else "largest"
        ways, filled = (repeated, found.settings.missing), found.table.filled
        return cls(found.classifier, names, structural, ids, known, *ways, filled)

    def predict(
        self, edges: str | Path, features: str | Path | None = None, **reading: Any
    ) -> tuple[TableDataset, Posterior]:
        """Apply the trained networks to other tables, see `predict_table`.

        Args:
            edges: file of the edges.
            features: file of the features, if the model was fitted to any.
            reading: further arguments of `read_tables`, such as ``edge_columns``.
        """
        self._check_described(features is not None)
        ways: dict[str, Any] = {"repeated_edges": self.repeated_edges, "missing": self.missing}
        table = read_tables(edges, None, features, means=self.filled, **ways, **reading)
        return self.predict_table(table, str(features))

    def predict_table(self, table: TableDataset, source: str) -> tuple[TableDataset, Posterior]:
        """Apply the trained networks to another graph, e.g. the same one with new nodes.

        Features are known by their names: columns may come in another order, and a feature that
        the model has not seen is left out, with a note. One that it needs must be there, unless the
        features are sparse, where what is not listed is zero. Labels of the answer are those that
        the model was fitted to. A note says how many nodes are new.

        Args:
            table: the graph.
            source: what its features were read from, for messages.
        """
        described = NO_FEATURES not in table.notes
        self._check_described(described)
        values, notes = self._picked(table, source) if described else self._ties(table)
        dataset = replace(
            table.dataset,
            features=values,
            labels=self._known_labels(table),
            class_names=tuple(str(value) for value in self.classifier.classes_),
        )
        places = places_in(table.ids, self.ids)
        posterior = self._posterior(dataset, places)
        notes = (*table.notes, *_news(places, dataset), *notes)
        named = replace(table, dataset=dataset, feature_names=self.feature_names, notes=notes)
        return named, posterior

    def _check_described(self, described: bool) -> None:
        """Refuse a graph with features where the model has none, and the other way round."""
        if not described and not self.structural:
            raise DatasetError("the model was fitted to features; a file of features is missing")
        if described and self.structural:
            raise DatasetError(
                "the model was fitted without features; it cannot use a file of them"
            )

    def _posterior(self, dataset: NodeDataset, known: NDArray[np.int64]) -> Posterior:
        """Apply the networks to nodes that keep the numbers of the fit; new ones come after.

        What is drawn for a node depends on its number: so a new node elsewhere changes nothing,
        wherever its id stands in the order of ids.

        Args:
            dataset: the graph.
            known: the numbers of its nodes in the fit, -1 for new ones [N].
        """
        places, new = known.copy(), np.flatnonzero(known < 0)
        size = len(self.ids) + len(new)
        places[new] = np.arange(len(self.ids), size)
        graph = dataset.graph
        entries = np.ones(graph.indices.shape) if graph.weights is None else graph.weights
        ends = places[graph.row_of_entry()], places[graph.indices]
        matrix = sp.csr_array((entries, ends), shape=(size, size))
        renumbered = Graph.from_scipy(matrix, weighted=graph.weights is not None)
        features = _spread(dataset.features, places, size)
        return self.classifier.posterior_on(renumbered, features).take(places)

    def _known_labels(self, table: TableDataset) -> NDArray[np.int64]:
        number = {str(value): k for k, value in enumerate(self.classifier.classes_)}
        labels = np.full(len(table.ids), -1, np.int64)
        places = places_in(TextIds.of(list(self.known)), table.ids)
        numbers = np.array([number.get(name, -1) for name in self.known.values()], np.int64)
        labels[places[places >= 0]] = numbers[places >= 0]
        return labels

    def _ties(self, table: TableDataset) -> tuple[FeatureMatrix, Sequence[str]]:
        hubs = places_in(TextIds.of(self.feature_names), table.ids)
        lost = [name for name, hub in zip(self.feature_names, hubs, strict=True) if hub < 0]
        if len(lost) == len(hubs):
            raise DatasetError(
                "none of the nodes that the model knows is in this graph; without features it can "
                "only be applied to the graph it was fitted to, grown or changed"
            )
        notes = [_note("of the nodes that describe others, not in this graph", lost)]
        return ties_to(table.dataset.graph, hubs), notes if lost else []

    def _picked(self, table: TableDataset, path: str) -> tuple[FeatureMatrix, Sequence[str]]:
        place = {name: i for i, name in enumerate(table.feature_names)}
        known = set(self.feature_names)
        columns = np.array([place.get(name, -1) for name in self.feature_names])
        absent = [name for name in self.feature_names if name not in place]
        lost = [name for name in absent if not name.endswith(MISSING_SUFFIX)]
        new = [name for name in table.feature_names if name not in known]
        values = table.dataset.features
        notes = [_note("that the model has not seen were left out", new)] if new else []
        if not absent:
            return values[:, columns], notes
        if isinstance(values, np.ndarray) and lost:
            raise DatasetError(f"{path}: {_note('that the model was fitted to are missing', lost)}")
        # The last column is zero: for features that no row of this file has, or is missing.
        if isinstance(values, np.ndarray):
            return np.pad(values, ((0, 0), (0, 1)))[:, columns], notes
        shape = (values.shape[0], values.shape[1] + 1)
        wider = sp.csr_array((values.data, values.indices, values.indptr), shape=shape)
        return wider[:, columns], notes


def _ids(folder: Path, content: dict[str, Any]) -> tuple[Ids, Path]:
    """Return the ids of a folder, and the file that they are in."""
    if content["version"] == _READ[0]:
        return TextIds.of(content["ids"]), folder / TABLES_FILE
    if not (folder / IDS_FILE).exists():
        raise FormatError(f"{folder} lacks {IDS_FILE}, which nodecopy fit writes beside the model")
    return load_ids(folder / IDS_FILE), folder / IDS_FILE


def _spread(features: FeatureMatrix, places: NDArray[np.int64], size: int) -> FeatureMatrix:
    """Put each row at its place among others that are zero [size, D]."""
    if isinstance(features, np.ndarray):
        wider = np.zeros((size, features.shape[1]), features.dtype)
        wider[places] = features
        return wider
    rows = np.ones(len(places), features.dtype)
    moved = sp.csr_array((rows, (places, np.arange(len(places)))), (size, len(places)))
    return sp.csr_array(moved @ features)


def _news(places: NDArray[np.int64], dataset: NodeDataset) -> list[str]:
    """Say how many nodes are new, and how many of these have neither features nor a path to others.

    Args:
        places: the numbers of the nodes in the fit, -1 for new ones [N].
        dataset: their graph and features.
    """
    new = int(np.count_nonzero(places < 0))
    if not new:
        return []
    parts = connected_components(dataset.graph.to_scipy(), directed=False)[1]
    features: Any = dataset.features  # dense, or sparse
    described = np.asarray((features != 0).sum(1)).ravel() > 0
    told = np.isin(parts, parts[(places >= 0) | described])
    untold = f", {np.count_nonzero(~told):,} of them without a feature or a path to one"
    return [f"{new:,} of {len(places):,} nodes are new{'' if told.all() else untold}"]


def _note(what: str, names: Sequence[str]) -> str:
    return (
        f"{len(names):,} features {what}: {listed([repr(n) for n in names[:_SHOWN]], len(names))}"
    )


def _read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise FormatError(
            f"{path.parent} lacks {path.name}, which nodecopy fit writes beside the model"
        )
    regular_file(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise FormatError(f"{path} is not what nodecopy fit writes")
    if content.get("version") not in _READ:
        raise FormatError(
            f"{path} is of version {shown(content.get('version'))}; this release reads {_VERSION}"
        )
    _check_content(path, content)
    return content


def _check_content(path: Path, content: dict[str, Any]) -> None:
    """Refuse what is missing or of another kind; older files do not say how tables were read."""
    needed = _NEEDED | ({"ids": (list[str], "the ids")} if content["version"] == _READ[0] else {})
    for key, (kind, what) in needed.items():
        value = content.get(key)
        if not fits(value, kind):
            raise FormatError(f"{path} lacks {what}")
        if isinstance(value, list) and len(set(value)) < len(value):
            raise FormatError(f"{path} repeats one of {what}")
    for key, accepted in (("repeated_edges", RepeatedEdges), ("missing", MissingValues)):
        choices = get_args(accepted)
        if content.setdefault(key, choices[0]) not in choices:
            raise FormatError(f"{path}: {unknown_name(key, content[key], choices)}")
    filled = content.setdefault("filled", {})
    if not fits(filled, dict[str, float]) or not all(abs(x) < math.inf for x in filled.values()):
        raise FormatError(f"{path}: 'filled' must be finite numbers by the names of features")
