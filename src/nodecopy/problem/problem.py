"""Problem: the one value between reading and fitting, a graph with what is known of its nodes."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import DatasetError, ModelError, shown
from nodecopy.core.progress import Show
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.features.encoding import Encoder, NodeTypes
from nodecopy.features.label_values import EncodedLabels, encode_labels, encode_numbers, is_known
from nodecopy.features.matrix import (
    FeatureMatrix,
    checked_features,
    frozen,
    structural_features,
    to_matrix,
    unit_rows,
)
from nodecopy.features.scaling import Normalise, Scaling, scaling_of, weighted_blocks
from nodecopy.features.tag_values import tag_strings, tags_of
from nodecopy.features.text_model import Meaning, read_texts
from nodecopy.graph import Graph
from nodecopy.problem.task import Split, Task

# The graph of a problem from a model file.
_NO_GRAPH = Graph.from_edges(0, [])
# Groups of like numbers.
_GROUPS = 5
# Names that an unknown one is compared with, at most.
_COMPARED = 100_000


def _no_nodes() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


def _no_features() -> NDArray[np.float32]:
    return np.zeros((0, 0), np.float32)


@savable
@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A graph of N nodes, with features, labels and names; every array is read-only.

    A model file keeps the labels and names, and how columns became features, without the graph, the
    features and other fields that it can do without.

    Args:
        name: what to call it.
        graph: N nodes; without any in a problem from a model file.
        features: [N, D], any integer or floating type; kept as float32, sparse (CSR, canonical,
            without stored zeros) if it came sparse, else dense. None where nodes have no columns:
            `scaled_by` then describes them by `structural_features`.
        labels: class of each node, int64 [N]; -1 where it is unknown; empty where all are.
        classes: K different values; label k stands for ``classes[k]``.
        public_split: the split everybody compares on, if there is one.
        names: the id of each node as files have it [N]; None where nodes have numbers only, as
            numbers in their order are not names.
        titles: what people call each node, empty where unknown [N]; None where nothing says it.
        node_types: how many nodes each type has, in the order of the nodes; classes belong to the
            first. Empty where there is one type.
        encoder: how features were made of the columns of nodes; None without columns.
        columns: names of features that are the columns of a DataFrame as they are.
        plain: numbers, dates and categories of the nodes that have classes, by name.
        texts: sentences of each node, "" where it has none [N]; None without such columns.
        meaning: the text model whose vectors are the first columns of the features; None where
            texts are words alone.
        validation: labelled nodes that are held out for early stopping.
        suggested: labelled nodes that were suggested, not drawn or chosen by the user.
        new: nodes that came after the fit.
        read: file and name of each column that was read, and what became of it.
        notes: what was changed or assumed in reading, in sentences.
        scaling: how features are scaled for models; see `scaled_by`.
        scaled: X as models see it [N, D]; without rows before `scaled_by`.
        hubs: the node of each column of `structural_features` [D]; None where features were given.
        name_arrays: the names as a model file holds them; empty elsewhere.
        target: the kind of target, what the values in ``classes`` are: "class" is one class per
            node, "number" a number, "tags" are combinations of tags
            (`nodecopy.features.tag_values`). A model file says it by the type of its result.

    >>> square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> data = Problem("square", square, np.eye(4), [0, 0, 1, -1], ("left", "right"))
    >>> data
    Problem('square', nodes=4, edges=4, features=4, classes=2)
    """

    name: str
    graph: Graph = field(default=_NO_GRAPH, metadata=NOT_SAVED)
    features: FeatureMatrix | None = field(default=None, metadata=NOT_SAVED)
    labels: NDArray[np.int64] = field(default_factory=_no_nodes)
    classes: NDArray[Any] = field(default_factory=_no_nodes)
    public_split: Split | None = field(default=None, metadata=NOT_SAVED)
    names: NDArray[Any] | None = field(default=None, metadata=NOT_SAVED)
    titles: NDArray[np.object_] | None = field(default=None, metadata=NOT_SAVED)
    node_types: NodeTypes = field(default_factory=dict)
    encoder: Encoder | None = None
    columns: tuple[str, ...] = ()
    plain: dict[str, NDArray[Any]] = field(default_factory=dict, metadata=NOT_SAVED)
    texts: NDArray[np.object_] | None = field(default=None, metadata=NOT_SAVED)
    meaning: Meaning | None = None
    validation: NDArray[np.int64] = field(default_factory=_no_nodes)
    suggested: NDArray[np.int64] = field(default_factory=_no_nodes)
    new: NDArray[np.int64] = field(default_factory=_no_nodes, metadata=NOT_SAVED)
    read: tuple[tuple[str, str, str], ...] = field(default=(), metadata=NOT_SAVED)
    notes: tuple[str, ...] = field(default=(), metadata=NOT_SAVED)
    scaling: Scaling = field(default_factory=Scaling)
    scaled: FeatureMatrix = field(default_factory=_no_features, metadata=NOT_SAVED)
    hubs: NDArray[np.int64] | None = None
    name_arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    target: str = field(default="class", metadata=NOT_SAVED)
    # Of `nodecopy.trust.next_labels`, by seed: problems that differ in their labels share them.
    embeddings: dict[int, NDArray[np.float32]] = field(default_factory=dict, metadata=NOT_SAVED)

    def __post_init__(self) -> None:
        """Check that the parts fit together, then freeze them."""
        n = self.graph.num_nodes or len(self.labels)
        labels = self.labels if len(self.labels) else np.full(n, -1, np.int64)
        checked: dict[str, Any] = {"classes": _classes(self.classes)}
        checked["labels"] = _labels(labels, n, len(checked["classes"]))
        if self.features is not None:
            checked["features"] = checked_features(self.features, n)
        checked["names"] = _names(self.names, n)
        if self.names is None and self.name_arrays:
            checked["names"] = restored_names(self.name_arrays)
        checked["titles"] = self.titles
        for name in ("names", "titles"):
            if checked[name] is not None and len(checked[name]) != n:
                raise DatasetError(f"{name} must have {n} entries; got {len(checked[name])}")
        for name in ("validation", "suggested"):
            checked[name] = frozen(np.asarray(getattr(self, name)))
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.public_split is not None:
            self.public_split.check_range(n)

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def has_graph(self) -> bool:
        """Whether there is a graph, which a problem from a model file does not have."""
        return self.graph.num_nodes == self.num_nodes

    @property
    def num_features(self) -> int:
        """D; none without features."""
        return self.scaling.num_features if self.features is None else int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as strings [K]."""
        return tuple(map(str, self.classes.tolist()))

    @property
    def num_classified(self) -> int:
        """How many nodes classes belong to; they come first."""
        return next(iter(self.node_types.values()), self.num_nodes)

    @property
    def label_groups(self) -> NDArray[np.int64]:
        """A group of like labels for each node, -1 where the label is unknown [N].

        That is its class; of numbers, the fifth of the known ones that it belongs to.
        """
        if self.target != "number":
            return self.labels
        known = self.labels >= 0
        groups = np.full(self.num_nodes, -1, np.int64)
        ranks = np.argsort(np.argsort(self.labels[known], kind="stable"), kind="stable")
        groups[known] = ranks * _GROUPS // max(int(known.sum()), 1)
        return groups

    @property
    def num_groups(self) -> int:
        """How many groups of like labels there are: classes, fifths of numbers, two of tags."""
        most = {"number": _GROUPS, "tags": 2}.get(self.target, self.num_classes)
        return min(most, self.num_classes)

    @property
    def label_values(self) -> NDArray[np.object_]:
        """The label of each node, None where it is not known [N]."""
        return EncodedLabels(self.labels, self.classes).values()

    @property
    def label_columns(self) -> NDArray[np.int64]:
        """What is learnt, -1 where it is unknown: the class, or whether a node has each tag [N, T].

        One column of classes, or one for each tag.
        """
        if self.target != "tags":
            return self.label_groups[:, None]
        has = tags_of(self.class_names).members[self.labels]
        return np.where(self.labels[:, None] >= 0, has, -1).astype(np.int64)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The name of each node, or its number [N]."""
        return np.arange(self.num_nodes) if self.names is None else self.names

    def title(self, node: int) -> str:
        """Return what people call a node, or its id where it has no such name."""
        return str((self.titles is not None and self.titles[node]) or self.ids[node])

    def numbers(self, nodes: Any, what: str = "nodes") -> NDArray[np.int64]:
        """Return the numbers of nodes given by name, by number unless names are, or as a mask.

        Only nodes that classes belong to are accepted.

        >>> two = Problem("two", Graph.from_edges(2, [(0, 1)]), names=["a", "b"])
        >>> two.numbers(["b"]).tolist(), two.numbers([True, False]).tolist()
        ([1], [0])
        """
        attributes = ("edge_index", "edge_types", "is_directed")
        if isinstance(nodes, (Graph, Problem)) or any(hasattr(nodes, one) for one in attributes):
            raise ModelError(
                f"{what} must be names or numbers of nodes of the fitted graph; got a "
                f"{type(nodes).__name__}: predict_on(graph, X) predicts another graph"
            )
        nodes = [nodes] if isinstance(nodes, str) else nodes
        picked, count = to_matrix(nodes), self.num_classified
        if picked.dtype.kind == "b" and picked.shape == (count,):
            return np.flatnonzero(picked)
        if self.names is not None and picked.dtype.kind != "b" and picked.size and picked.ndim:
            values = picked.tolist() if hasattr(nodes, "dtype") else list(nodes)
            places = self.places(values)
            if not (-1 in places and _integers(values) and not _integers(self._number)):
                for name, place in zip(values, places, strict=True):
                    if not 0 <= place < count:
                        raise ModelError(self.unknown(name, place))
                return places
        picked = picked.astype(np.int64) if picked.size == 0 else picked
        if picked.dtype.kind not in "iu" or picked.ndim != 1:
            raise ModelError(
                f"{what} must be a list of node numbers, from 0 in the order of the graph's nodes, "
                "of names, where nodes have names, or a mask with one entry per node, "
                f"[{count}]; got {picked.dtype} of shape {list(picked.shape)}"
            )
        if picked.shape == (count,) and count > 2 and picked.max() <= 1:
            raise ModelError(f"{what} has a 0 or 1 for every node: give a mask as booleans")
        if picked.size and not 0 <= picked.min() <= picked.max() < count:
            wrong = picked.min() if picked.min() < 0 else picked.max()
            raise ModelError(f"{what} must be numbers from 0 to {count - 1}; got {wrong}")
        return picked.astype(np.int64)

    def places(self, names: Iterable[Hashable]) -> NDArray[np.int64]:
        """Return the numbers of names, -1 where they are new [n]."""
        return np.array([self._number.get(name, -1) for name in names], np.int64)

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        return {name: number for number, name in enumerate(self.ids.tolist())}

    def unknown(self, name: Hashable, place: int = -1) -> str:
        """Return a message on a name that no node, or one without classes, has."""
        if place >= 0:
            types, ends = list(self.node_types), np.cumsum(list(self.node_types.values()))
            own = types[int(np.searchsorted(ends, place, "right"))]
            return (
                f"{name!r} is one of the {own}, which have no classes: only {types[0]} are "
                "predicted, and explained"
            )
        some = map(str, islice(self._number, _COMPARED))
        near = difflib.get_close_matches(str(name), some, n=1)
        nodes = f"nodes are {shown(self.ids[:3].tolist())}"
        return f"no node is called {name!r}; {f'did you mean {near[0]!r}?' if near else nodes}"

    def by_meaning(
        self, text_model: object, show: Show = False, fitted: Meaning | None = None
    ) -> Problem:
        """Return the problem with one more block of features, the first: vectors of its texts.

        All blocks of a node have an equal share of its row, see `nodecopy.features.column_encoder`.
        Nothing changes where there are no sentences, or words are kept alone.

        Args:
            text_model: see `nodecopy.NodeCopyClassifier`.
            show: whether to show progress, see `nodecopy.core.progress.progress_bar`.
            fitted: the text model of a fit, where this is another graph for it.
        """
        if self.encoder is None or self.texts is None or self.meaning is not None:
            return self
        assert self.features is not None  # the encoder made them
        vectors, meaning, note = read_texts(self.texts.tolist(), text_model, show, fitted)
        if vectors is None or meaning is None:
            return replace(self, notes=(*self.notes, *([note] if note else [])))
        counts = [len(own) for own in self.encoder.widths_by_type]
        sizes = list(self.node_types.values()) or [self.num_nodes]
        others = np.repeat(counts, sizes)  # blocks of each node beside its text
        parts: list[Any] = [
            sp.diags_array(1 / np.sqrt(others + 1)) @ sp.csr_array(vectors),
            sp.diags_array(np.sqrt(others / (others + 1))) @ unit_rows(self.features),
        ]
        features = sp.csr_array(sp.hstack(parts), dtype=np.float32)
        columns = ", ".join(map(repr, dict.fromkeys(self.encoder.sentences)))
        note = f"{columns} read by meaning, with {meaning.name}, beside words"
        return replace(self, features=features, meaning=meaning, notes=(*self.notes, note))

    def similar_texts(self, node: int, count: int) -> NDArray[np.int64]:
        """Return the labelled nodes with texts of a similar meaning, the most similar first."""
        if self.meaning is None:
            return _no_nodes()
        known, vectors = self._labelled_texts
        (own,) = self._vectors_of_texts(np.array([node]))
        cosine = np.where(known == node, -1.0, vectors @ own)
        order = np.argsort(-cosine, kind="stable")[:count]
        return known[order[cosine[order] > 0]]

    @cached_property
    def _labelled_texts(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The labelled nodes and the vectors of their texts, of unit length [n], [n, d]."""
        known = np.flatnonzero(self.labels >= 0)
        return known, self._vectors_of_texts(known)

    def _vectors_of_texts(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        features: Any = self.features
        assert self.meaning is not None  # texts were read by it
        vectors: Any = unit_rows(features[nodes][:, : self.meaning.dimension])
        dense: NDArray[np.float32] = vectors.toarray()
        return dense

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Widths of the blocks of columns of each node type; empty where X is a single block."""
        if self.encoder is None or self.meaning is None:
            return () if self.encoder is None else self.encoder.blocks
        first, *others = self.encoder.widths_by_type
        return ((self.meaning.dimension, *first), *others)

    def scaled_by(self, normalise: Normalise) -> Problem:
        """Return the problem with scaled features, `structural_features` where it has none.

        Of several blocks of columns, "auto" weights each by its information about the labels.
        """
        features, hubs = self.features, None
        if features is None:
            features, hubs = structural_features(self.graph)
        scaling = scaling_of(features, normalise)
        scaled = scaling.apply(self.graph, features)
        problem = replace(
            self,
            features=features,
            scaling=scaling,
            scaled=scaled,
            hubs=hubs,
            embeddings={},  # they are of these features
        )
        weighted = normalise == "auto" and len(self.classes) > 0
        return problem._with_block_weights() if weighted else problem

    @property
    def compared(self) -> FeatureMatrix:
        """X as nodes are compared to suggest labels: as given, unless columns were shifted."""
        assert self.features is not None  # of a problem that was scaled
        return self.features if self.scaling.shift is None else self.scaled

    @property
    def given_features(self) -> FeatureMatrix | None:
        """The features that nodes are compared by; None where they were made from the graph."""
        return self.compared if self.hubs is None else None

    def task(self) -> Task:
        """Return what a method learns from, of a problem that was scaled."""
        held, k = self.validation, len(self.classes)
        train = np.setdiff1d(np.flatnonzero(self.labels >= 0), held)
        task = Task.of(self.graph, self.scaled, self.labels, train, held, num_classes=k)
        values = self.classes.astype(np.float64) if self.target == "number" else None
        return replace(task, node_types=tuple(self.node_types.values()), values=values)

    def with_labels(
        self,
        labels: ArrayLike,
        classes: ArrayLike,
        suggested: ArrayLike = (),
        notes: Sequence[str] = (),
    ) -> Problem:
        """Return the same nodes with other labels, and no public split; notes are added."""
        return replace(
            self,
            labels=np.asarray(labels, np.int64),
            classes=np.asarray(classes),
            public_split=None,
            suggested=np.asarray(suggested, np.int64),
            notes=(*self.notes, *notes),
        )

    def with_classes(self, more: Sequence[Any]) -> Problem:
        """Return the same nodes and labels with further classes, which have no label yet."""
        classes, places = np.unique([*self.classes.tolist(), *more], return_inverse=True)
        labels = np.append(places[: self.num_classes], -1)[self.labels]
        return replace(self, labels=labels, classes=classes)

    def relabelled(self, more: Mapping[Any, Any], suggested: ArrayLike = ()) -> Problem:
        """Return the same nodes with these labels by node; an unknown one removes a label."""
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        values = self.label_values
        given = tag_strings(more.values()) if self.target == "tags" else more.values()
        for node, label in zip(self.numbers(list(more)).tolist(), given, strict=True):
            values[node] = label if self.target == "number" or is_known(label) else None
        encode = encode_numbers if self.target == "number" else encode_labels
        labels, classes = encode(values)
        chosen = np.union1d(self.suggested, self.numbers(suggested, "suggested"))
        relabelled = replace(self, labels=labels, classes=classes, suggested=chosen)
        return relabelled._with_block_weights() if self.scaling.blocks else relabelled

    def _with_block_weights(self) -> Problem:
        """Return the problem with blocks of columns weighted by their information about labels."""
        if self.encoder is None or not self.blocks:
            return self
        words = None if self.meaning is None else self.encoder.words_at
        given = self.graph, self.compared, self.blocks, self.label_columns
        scaling = weighted_blocks(*given, words)
        return replace(self, scaling=scaling, scaled=scaling.apply(self.graph, self.compared))

    def for_file(self) -> Problem:
        """Return what a model file keeps: names, if all are strings or all integers of 64 bits."""
        types = set() if self.names is None else {type(name) for name in self.names.tolist()}
        arrays: dict[str, NDArray[Any]] = {}
        if self.names is not None and types in ({str}, {int}):
            arrays = stored_names(self.names)
        return replace(
            self,
            graph=_NO_GRAPH,
            features=None,
            scaled=_no_features(),
            names=None,
            name_arrays=arrays,
        )

    def __repr__(self) -> str:
        """Show the name and the counts."""
        counts = f"nodes={self.num_nodes}, edges={self.graph.num_edges}"
        noun = {"number": "numbers", "tags": "combinations"}.get(self.target, "classes")
        counts += f", features={self.num_features}, {noun}={self.num_classes}"
        return f"Problem({self.name!r}, {counts})"


def _names(given: Any, num_nodes: int) -> NDArray[Any] | None:
    """Return names as an array; None where they are the numbers of the nodes."""
    if given is None or isinstance(given, np.ndarray):
        names = given
    else:
        names = np.empty(len(given), object)
        names[:] = list(given)  # which may be pairs
    if names is None or (_integers(names[:1]) and np.array_equal(names, np.arange(num_nodes))):
        return None
    return frozen(names)


def stored_names(names: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return names as arrays without objects: none where an integer has more than 64 bits.

    They are ``ids`` if they are integers, else ``id_text``, all strings in UTF-8, and
    ``id_offsets``, where each of them begins, and the end [N + 1].

    >>> restored_names(stored_names(np.array(["ann", "Zoë", ""], object))).tolist()
    ['ann', 'Zoë', '']
    """
    if not isinstance(names[0], str):
        try:
            return {"ids": names.astype(np.int64)}
        except OverflowError:
            return {}
    encoded = [str(one).encode() for one in names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {"id_text": np.frombuffer(b"".join(encoded), np.uint8), "id_offsets": offsets}


def restored_names(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Undo `stored_names`."""
    if "ids" in arrays:
        return arrays["ids"]
    text, offsets = arrays["id_text"].tobytes(), arrays["id_offsets"].tolist()
    strings = np.empty(len(offsets) - 1, object)
    strings[:] = [text[begin:end].decode(errors="replace") for begin, end in pairwise(offsets)]
    return strings


def _labels(values: ArrayLike, num_nodes: int, num_classes: int) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.shape != (num_nodes,) or (array.size and array.dtype.kind not in "iu"):
        raise DatasetError(
            f"labels must have one integer per node, [{num_nodes}]; got {array.dtype} "
            f"{list(array.shape)}"
        )
    labels = array.astype(np.int64)
    wrong = np.flatnonzero((labels < -1) | (labels >= num_classes))
    if len(wrong):
        raise DatasetError(
            f"node {wrong[0]} has label {labels[wrong[0]]}; "
            f"accepted: 0 to {num_classes - 1}, or -1 for unknown"
        )
    return frozen(labels)


def _classes(values: ArrayLike) -> NDArray[Any]:
    classes = np.asarray(values)
    if classes.ndim != 1 or len(set(classes.tolist())) < len(classes):
        raise DatasetError(f"classes must be a list of different values, [K]; got {shown(values)}")
    return frozen(classes)


def _integers(values: Iterable[Any]) -> bool:
    return any(isinstance(value, (int, np.integer)) for value in values)
