"""Graph by example: what it shows, what it refuses and in which words, what it shares, its growth.

The agreement of every operation with a naive reference is in properties/test_graph_properties.py.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.core.errors import GraphError
from nodecopy.graph import Graph, align_relations, join_relations

PATH = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
ARC = Graph.from_edges(3, [(0, 1), (2, 1)], directed=True)
WEIGHTED = Graph.from_edges(3, [(0, 1), (1, 2)], [0.5, 2.0])
EMPTY = Graph.from_edges(0, [])


def refused(message: str) -> Any:
    return pytest.raises(GraphError, match=message)


class TestValidation:
    @pytest.mark.parametrize(
        ("indptr", "indices", "message"),
        [
            ([], [], "start at 0 and never decrease"),
            ([1, 2], [0], "start at 0 and never decrease"),
            (np.array([0, 2, 1, 2], np.uint64), [1, 2], "start at 0 and never decrease"),
            ([0, 1], [[0]], r"got indices \[1, 1\]"),
            ([0, 1, 3], [1, 0], "indptr ends at 3"),
            ([0, 1, 2], [2, 0], "node index 2 is out of range; accepted: 0 to 1"),
            ([0, 1, 2], [2**32, 0], "out of range"),
            ([0], [0], "accepted: none"),
            ([0, 2, 2], [1, 1], "neighbours of node 0 are not sorted and distinct"),
            ([0, 0, 1], [1], "node 1 has an edge to itself"),
            ([0, 1, 2], [1.0, 0.5], "indices must hold integers; got fractions"),
            ([0, 1, 2], [True, False], "indices must hold integers; got bool"),
        ],
    )
    def test_broken_rows_are_refused(self, indptr: Any, indices: Any, message: str) -> None:
        with refused(message):
            Graph(indptr, indices, directed=True)

    @pytest.mark.parametrize(
        "arrays",
        [
            ([0, 1, 1], [1]),
            ([0, 1, 2, 3], [1, 2, 0]),
            ([0, 1, 2], [1, 0], np.array([1.0, 2.0])),
            ([0, 1, 1], [1], np.array([0.0])),
        ],
    )
    def test_a_broken_promise_of_symmetry_is_refused(self, arrays: Any) -> None:
        with refused("not symmetric; pass directed=True"):
            Graph(*arrays)
        assert Graph(*arrays, directed=True).directed

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1.0, np.nan], "weight nan at position 1"),
            ([np.inf, 1.0], "weight inf at position 0"),
            ([1.0, -0.5], "weight -0.5 at position 1"),
            ([1.0], r"one number per edge: 2; got \[1\]"),
            (["a", "b"], "real numbers; got <U1"),
        ],
    )
    def test_impossible_weights_are_refused(self, weights: Any, message: str) -> None:
        with refused(message):
            Graph([0, 1, 2], [1, 0], weights)
        with refused(message):
            Graph.from_edges(3, [(0, 1), (1, 2)], weights)

    @pytest.mark.parametrize(
        ("edges", "message"),
        [
            ([(0, 3)], "node index 3 is out of range; accepted: 0 to 2"),
            ([(-1, 0)], "node index -1 is out of range"),
            ([(np.nan, 1)], "edges must hold integers; got fractions, NaN"),
            ([("a", "b")], "edges must hold integers; got <U1"),
            ([(0, 1), (1,)], "rectangular array"),
            ([[0, 1, 2], [1, 2, 0]], r"\[E, 2\]; got \[2, 3\]"),
        ],
    )
    def test_impossible_edges_are_refused(self, edges: Any, message: str) -> None:
        with refused(message):
            Graph.from_edges(3, edges)

    @pytest.mark.parametrize("edges", [[], np.zeros((0, 2)), np.zeros((2, 0), int)])
    def test_no_edges_in_any_form_is_an_edgeless_graph(self, edges: Any) -> None:
        assert Graph.from_edges(2, edges).indptr.tolist() == [0, 0, 0]

    def test_what_is_no_adjacency_matrix_is_refused(self) -> None:
        with refused(r"square; got \[2, 3\]"):
            Graph.from_scipy(sp.csr_array((2, 3)))
        with refused("not symmetric"):
            Graph.from_scipy(ARC.to_scipy())
        with refused("distinct nodes"):
            PATH.induced([0, 1, 0])

    def test_rows_of_more_entries_than_32_bits_can_count(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("nodecopy.graph.graph.MAX_INT32", 6)
        rows = WEIGHTED.take_rows([1, 1, 0, 1])
        assert rows.indices.dtype == np.int32
        assert rows.indices.tolist() == [0, 2, 0, 2, 1, 0, 2]
        assert rows.weights is not None
        assert rows.weights.tolist() == [0.5, 2, 0.5, 2, 0.5, 0.5, 2]


class TestImmutability:
    @pytest.mark.parametrize("name", ["indptr", "indices", "weights", "degrees"])
    def test_arrays_cannot_be_written(self, name: str) -> None:
        built = [
            WEIGHTED,
            Graph(WEIGHTED.indptr, WEIGHTED.indices, WEIGHTED.weights),
            WEIGHTED.copied([0, 1, 2]),
            WEIGHTED.induced([2, 1, 0]),
            copy.deepcopy(WEIGHTED),
            pickle.loads(pickle.dumps(WEIGHTED)),
        ]
        for graph in built:
            with pytest.raises(ValueError, match="read-only"):
                getattr(graph, name)[0] = 1
        assert built[0] == built[1] == built[4] == built[5]

    def test_writing_into_the_arrays_a_graph_was_built_from_does_not_reach_it(self) -> None:
        indptr, indices = np.array([0, 1, 2]), np.array([1, 0], np.int32)
        weights = np.array([1.0, 1.0])
        graph = Graph(indptr, indices, weights)
        matrix = sp.csr_array((weights.copy(), indices.copy(), indptr.astype(np.int32)))
        read = Graph.from_scipy(matrix, weighted=True)
        before = graph.digest()
        assert read.digest() == before
        for array in (indptr, indices, weights, matrix.indptr, matrix.indices, matrix.data):
            array[:] = 0
        assert graph.digest() == before
        assert read.digest() == before


class TestEquality:
    def test_equal_graphs_hash_alike(self) -> None:
        single = Graph([0, 1, 2], [1, 0], np.array([0, 0], np.float32))
        double = Graph([0, 1, 2], [1, 0], np.array([-0.0, -0.0]))
        assert single == double
        assert hash(single) == hash(double)
        assert {PATH, Graph.from_edges(4, PATH.edges())} == {PATH}

    def test_digest_is_that_of_every_other_process(self) -> None:
        assert WEIGHTED.digest() == "fda62cb5f31cfbd740935901de155c50"


def test_from_scipy_reads_every_type_and_form_and_leaves_out_zeros() -> None:
    dense = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    for kind, form in product((bool, np.uint8, np.int64, np.float32), ("csr", "csc", "coo", "lil")):
        matrix = sp.csr_array(dense.astype(kind)).asformat(form)
        assert Graph.from_scipy(matrix) == Graph.from_edges(3, [(0, 1), (1, 2)])
    # Explicit zeros, and entries that cancel.
    rows, columns = [0, 0, 1, 2, 2], [1, 2, 2, 0, 0]
    matrix = sp.coo_array(([5.0, 0.0, 0.0, 1.0, -1.0], (rows, columns)), shape=(3, 3))
    assert Graph.from_scipy(matrix, directed=True).edges().tolist() == [[0, 1]]
    assert Graph.from_scipy(matrix.tocsr(), directed=True).edges().tolist() == [[0, 1]]


@pytest.mark.parametrize("kind", ["u1", "i2", "u4", "i4", ">i4", "i8", "u8", "f4"])
def test_edges_of_any_type_give_the_same_graph(kind: str) -> None:
    pairs = np.random.default_rng(0).integers(0, 30, (200, 2))
    assert Graph.from_edges(31, pairs.astype(kind)) == Graph.from_edges(31, pairs.tolist())


class TestRelations:
    CALLS = Graph.from_edges(4, [(3, 0), (0, 1)], [2.0, 3.0], directed=True)
    BOTH = join_relations({"pays": PATH, "calls": CALLS})

    def test_the_graph_has_the_edges_of_all_relations_in_both_directions(self) -> None:
        expected = np.maximum(PATH.to_scipy().toarray(), self.CALLS.to_scipy().toarray())
        assert np.array_equal(self.BOTH.to_scipy().toarray(), np.maximum(expected, expected.T))
        assert self.BOTH.relations == {"pays": PATH, "calls": self.CALLS}
        assert replace(join_relations({"pays": PATH}), relations={}) == PATH
        assert (
            replace(join_relations({"calls": self.CALLS}), relations={}) == self.CALLS.symmetrise()
        )
        with refused("same nodes"):
            join_relations({"pays": PATH, "calls": ARC})

    def test_relations_are_content_and_travel(self) -> None:
        assert (
            pickle.loads(pickle.dumps(self.BOTH)) == self.BOTH != replace(self.BOTH, relations={})
        )
        part, nodes = self.BOTH.induced([3, 0, 1]), [3, 0, 1]
        assert part.relations == {
            name: one.induced(nodes) for name, one in self.BOTH.relations.items()
        }

    def test_factors_of_entries_reach_the_same_entries_of_each_relation(self) -> None:
        each = np.add.outer(2 ** np.arange(4.0), 2 ** np.arange(4.0))
        heavier = self.BOTH.reweighted(each[self.BOTH.row_of_entry(), self.BOTH.indices])
        for name, one in heavier.relations.items():
            before = self.BOTH.relations[name].to_scipy().toarray()
            assert np.array_equal(one.to_scipy().toarray(), before * each)

    def test_relations_are_aligned_by_name(self) -> None:
        calls = join_relations({"calls": self.CALLS})
        aligned = align_relations(calls, list(self.BOTH.relations))
        assert [one.num_edges for one in aligned.relations.values()] == [0, 2]
        assert align_relations(PATH, ()) is PATH
        for graph, names in ((calls, ["pays"]), (calls, []), (PATH, ["pays"])):
            with refused("relation"):
                align_relations(graph, names)
