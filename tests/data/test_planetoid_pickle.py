"""The restricted unpickler: six globals, nothing executed, nothing believed."""

from __future__ import annotations

import builtins
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from nodecopy.data import planetoid_pickle
from nodecopy.data.planetoid_pickle import read_array, read_matrix, read_neighbours
from nodecopy.errors import FormatError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class Calls:
    """Pickles to a call of ``function(*arguments)``."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.fixture
def save(tmp_path: Path):
    def save(content: bytes) -> Path:
        path = tmp_path / "ind.evil.x"
        path.write_bytes(content)
        return path

    return save


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("read", [read_array, read_matrix, read_neighbours])
def test_os_system_is_refused_by_name_and_not_run(save, tmp_path, protocol, read):
    trace = tmp_path / "executed"
    path = save(pickle.dumps(Calls(os.system, f"touch {trace}"), protocol))
    with pytest.raises(FormatError, match=rf"asks for {os.system.__module__}\.system.*nothing was"):
        read(path)
    assert not trace.exists()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_eval_is_refused_by_name_and_not_run(save, tmp_path, protocol):
    trace = tmp_path / "executed"
    path = save(pickle.dumps(Calls(builtins.eval, f"open({str(trace)!r}, 'w')"), protocol))
    with pytest.raises(FormatError, match=r"asks for (builtins|__builtin__)\.eval"):
        read_array(path)
    assert not trace.exists()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_nested_reduce_is_refused(save, tmp_path, protocol):
    trace = tmp_path / "executed"
    inner = Calls(getattr, Calls(__import__, "os"), "system")
    path = save(pickle.dumps({0: [Calls(map, inner, [f"touch {trace}"])]}, protocol))
    with pytest.raises(FormatError, match="asks for"):
        read_neighbours(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy", "load"),
        ("numpy", "ndarray.tofile"),
        ("numpy.core.multiarray", "scalar"),
        ("scipy.sparse.csr", "np"),
        ("collections", "namedtuple"),
        ("__builtin__", "eval"),
        ("builtins", "list"),
    ],
)
def test_another_global_of_an_admitted_module_is_refused(save, emit, module, name):
    path = save(emit.stream(emit.name(module, name)))
    with pytest.raises(FormatError, match=f"asks for {module}.{name},"):
        read_array(path)


def test_a_global_named_from_the_stack_is_refused(save):
    with pytest.raises(FormatError, match=r"asks for os\.system"):
        read_array(save(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R."))


def test_a_global_named_by_inst_is_refused(save):
    with pytest.raises(FormatError, match=r"asks for os\.system"):
        read_array(save(b"(S'id'\nios\nsystem\n."))


@pytest.mark.parametrize("code", ["O8", "O", "V8", "S8", "M8[s]", "i4,O", "f16", "c8"])
def test_only_arrays_of_numbers_are_built(save, emit, code):
    body = emit.array_of((1,), emit.dtype(code, "|"), emit.text(b"\x00" * 8))
    with pytest.raises(FormatError, match="only numbers are accepted"):
        read_array(save(emit.stream(body)))


def test_an_object_array_with_a_list_as_content_is_refused(save, emit):
    body = emit.array_of((1,), emit.dtype("O8", "|"), b"](" + emit.number(1) + b"e")
    with pytest.raises(FormatError, match="damaged NumPy array"):
        read_array(save(emit.stream(body)))


def test_a_dtype_with_fields_is_refused(save, emit):
    fields = emit.tuple(b"K\x03", emit.text("|"), b"N", emit.tuple(emit.text("f")), b"}")
    dtype = emit.name("numpy", "dtype") + emit.tuple(emit.text("i4")) + b"R" + fields + b"b"
    with pytest.raises(FormatError, match="only numbers are accepted"):
        read_array(save(emit.stream(emit.array_of((1,), dtype, emit.text(b"1234")))))


@pytest.mark.parametrize("shape", [(2**30, 2**30), (3,), (0,), (-1, -2), (1, 1, 1)])
def test_a_shape_must_fit_the_bytes(save, emit, shape):
    body = emit.array_of(shape, emit.dtype("i4"), emit.text(b"\x00" * 8))
    with pytest.raises(FormatError, match=r"bytes of content|impossible shape"):
        read_array(save(emit.stream(body)))


def test_text_that_is_no_bytes_is_no_content(save, emit):
    content = b"X" + struct.pack("<i", 12) + "€€€€".encode()
    with pytest.raises(FormatError, match="0 bytes of content"):
        read_array(save(emit.stream(emit.array_of((1,), emit.dtype("i4"), content))))


def test_a_huge_call_of_ndarray_allocates_nothing(save, emit):
    body = emit.name("numpy", "ndarray") + emit.tuple(emit.tuple(emit.number(2**30))) + b"R"
    with pytest.raises(FormatError, match="must hold a NumPy array"):
        read_array(save(emit.stream(body)))


@pytest.mark.parametrize("target", sorted(planetoid_pickle._STAND_INS))
@pytest.mark.parametrize("state", [b"}(U\x01aK\x01u", b"N}(U\x01aK\x01u\x86"])
def test_the_stream_cannot_set_attributes_on_the_stand_ins(save, emit, target, state):
    stand_in = planetoid_pickle._STAND_INS[target]
    with pytest.raises(FormatError, match="not a valid pickle"):
        read_array(save(emit.stream(emit.name(*target) + state + b"b")))
    assert not hasattr(stand_in, "a")


def test_a_table_has_no_state(save, emit):
    with pytest.raises(FormatError, match="a defaultdict has no state"):
        read_neighbours(save(emit.stream(emit.table({0: []}) + b"}b")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"_shape": b"N"}, "impossible shape"),
        ({"_shape": b"(J\xff\xff\xff\xffK\x02t"}, "impossible shape"),
        ({"_shape": b"(K\x03K\x02t"}, "damaged CSR"),
        ({"_shape": b"(K\x02K\x01t"}, "damaged CSR"),
        ({"indptr": b"N"}, "damaged NumPy array"),
        ({"data": b"K\x07"}, "damaged NumPy array"),
    ],
)
def test_a_matrix_is_checked_after_reading(save, emit, change, message):
    state = {
        "_shape": emit.tuple(b"K\x02", b"K\x02"),
        "data": emit.array(np.ones(2, np.float32)),
        "indices": emit.array(np.array([1, 0], np.int32)),
        "indptr": emit.array(np.array([0, 1, 2], np.int32)),
    }
    assert read_matrix(save(emit.stream(emit.matrix_of(**state)))).nnz == 2
    with pytest.raises(FormatError, match=message):
        read_matrix(save(emit.stream(emit.matrix_of(**(state | change)))))


def test_attributes_a_matrix_does_not_have_are_ignored(save, emit):
    state = {
        "_shape": emit.tuple(b"K\x01", b"K\x01"),
        "data": emit.array(np.ones(1, np.float32)),
        "indices": emit.array(np.zeros(1, np.int32)),
        "indptr": emit.array(np.array([0, 1], np.int32)),
        "tocsr": b"K\x07",
        "__class__": b"K\x07",
    }
    matrix = read_matrix(save(emit.stream(emit.matrix_of(**state))))
    assert matrix.tocsr().toarray().tolist() == [[1.0]]


def test_floating_indices_are_refused(save, emit):
    state = {
        "_shape": emit.tuple(b"K\x01", b"K\x01"),
        "data": emit.array(np.ones(1, np.float32)),
        "indices": emit.array(np.zeros(1, np.float32)),
        "indptr": emit.array(np.array([0, 1], np.int32)),
    }
    with pytest.raises(FormatError, match="damaged CSR"):
        read_matrix(save(emit.stream(emit.matrix_of(**state))))


def test_memo_numbers_cannot_reserve_memory(save):
    with pytest.raises(FormatError, match="claims 4294967280 memo entries"):
        read_array(save(b"\x80\x02Nr\xf0\xff\xff\xff."))


def test_lengths_cannot_reserve_memory(save):
    with pytest.raises(FormatError, match="not a valid pickle"):
        read_array(save(b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc."))


def test_opcodes_beside_find_class_are_refused(save):
    for name, content in {
        "EXT1": b"\x82\x01.",
        "BINPERSID": b"NQ.",
        "BYTEARRAY8": b"\x96" + struct.pack("<Q", 1) + b"a.",
    }.items():
        with pytest.raises(FormatError, match=f"opcode {name}, which is refused"):
            read_array(save(b"\x80\x05" + content))


def test_a_deep_nest_of_tuples_is_refused(save):
    with pytest.raises(FormatError, match="builds 100000 objects"):
        read_neighbours(save(b"\x80\x02}(N" + b"\x85" * 100_000 + b"Nu."))


def test_every_truncation_is_an_error(save, emit):
    whole = emit.stream(emit.matrix(np.eye(2, dtype=np.float32)))
    for length in range(len(whole)):
        with pytest.raises(FormatError):
            read_matrix(save(whole[:length]))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 50, b"\x80\x02.", b"\x80\xff."])
def test_what_is_no_pickle_is_an_error(save, content):
    with pytest.raises(FormatError, match="not a valid pickle"):
        read_array(save(content))


def test_the_kind_of_content_must_be_the_expected_one(save, emit):
    path = save(emit.stream(emit.table({0: []})))
    with pytest.raises(FormatError, match="must hold a NumPy array; it holds a table"):
        read_array(path)
    with pytest.raises(FormatError, match="must hold a SciPy CSR matrix; it holds a table"):
        read_matrix(path)
    path = save(emit.stream(emit.array(np.zeros((1, 1), np.int32))))
    with pytest.raises(FormatError, match="must hold a table of neighbours; it holds an array"):
        read_neighbours(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"}(NK\x01u", "map each node"),
        (b"}(K\x00K\x01u", "map each node"),
        (b"}(K\x00](K\x01Neu", "neighbours of node 0 are not all whole numbers"),
        (b"}(K\x00](K\x01\x88eu", "neighbours of node 0 are not all whole numbers"),
    ],
)
def test_neighbour_tables_hold_whole_numbers(save, emit, body, message):
    with pytest.raises(FormatError, match=message):
        read_neighbours(save(emit.stream(body)))


def test_arrays_of_any_byte_order_and_layout_are_read(save, emit):
    values = np.array([[1, 2, 3], [4, 5, 6]], ">i4")
    read = read_array(save(emit.stream(emit.array(values))))
    assert read.tolist() == values.tolist()
    assert read.dtype.isnative
    content = emit.text(values.astype("<i4").tobytes(order="F"))
    body = emit.array_of((2, 3), emit.dtype("i4"), content).replace(b"\x89", b"\x88")
    assert read_array(save(emit.stream(body))).tolist() == values.tolist()
