"""Reading the pickles of the Planetoid files without running anything in them.

A pickle is a program. These files need six of its globals, and here each of the six is a stand-in
that only records what it is given: while the stream is read, no NumPy or SciPy code sees it, and
nothing is imported. What was recorded is checked afterwards (types, shapes against the bytes that
are really there), and only then becomes an array. Any other global is refused by name.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from pathlib import Path
from typing import Any, Never

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.errors import FormatError
from nodecopy.regular_file import regular_file

# Integers, floats and truth values, by size: no type that could hold or call an object.
_NUMBERS = {kind + size for kind in "iu" for size in "1248"} | {"f4", "f8", "b1"}

# Not needed by plain data, and able to reach objects (or memory) past find_class.
_REFUSED = {"EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "BYTEARRAY8", "NEXT_BUFFER"}

# A Planetoid file holds a few arrays, or lists of numbers, and uses some thirty of these; a deep
# nest of tuples, hashed, would exhaust the stack of the interpreter.
_BUILDING = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET"}
_BUILDING |= {"BUILD", "INST", "NEWOBJ", "NEWOBJ_EX", "OBJ", "REDUCE"}
_MOST_BUILDING = 1000

# What reading a stream raises when it is cut off or makes no sense.
_PICKLE_ERRORS = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def read_array(path: Path) -> NDArray[Any]:
    """Return the numeric array that a Planetoid file holds."""
    recorded = _read(path)
    if not isinstance(recorded, _Array):
        raise FormatError(f"{path} must hold a NumPy array; it holds {_kind(recorded)}")
    return _to_array(path, recorded)


def read_matrix(path: Path) -> sp.csr_array[Any]:
    """Return the sparse matrix that a Planetoid file holds."""
    recorded = _read(path)
    if not isinstance(recorded, _Matrix):
        raise FormatError(f"{path} must hold a SciPy CSR matrix; it holds {_kind(recorded)}")
    return _to_matrix(path, recorded)


def read_neighbours(path: Path) -> dict[int, list[int]]:
    """Return the table of neighbour lists that a Planetoid graph file holds."""
    recorded = _read(path)
    if not isinstance(recorded, dict):
        raise FormatError(f"{path} must hold a table of neighbours; it holds {_kind(recorded)}")
    for node, neighbours in recorded.items():
        if type(node) is not int or type(neighbours) is not list:
            raise FormatError(f"{path} must map each node to the list of its neighbours")
        if not all(type(other) is int for other in neighbours):
            raise FormatError(f"{path}: the neighbours of node {node} are not all whole numbers")
    return dict(recorded)


class _Recorded:
    """What the stream says about one object: the arguments and the state, untouched.

    Every stand-in is a class with a ``__setstate__`` of its own, so that the stream cannot set
    attributes on it: the BUILD opcode then has no other way than that method.
    """

    __slots__ = ("arguments", "state")
    arguments: tuple[Any, ...]
    state: Any

    def __new__(cls, *arguments: Any) -> _Recorded:
        recorded = super().__new__(cls)
        recorded.arguments = arguments
        recorded.state = None
        return recorded

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Recorded):
    """Stands for a call of ``_reconstruct``."""

    __slots__ = ()


class _ArrayType(_Recorded):
    """Stands for ``ndarray``, an argument of ``_reconstruct``."""

    __slots__ = ()


class _Dtype(_Recorded):
    __slots__ = ()


class _Matrix(_Recorded):
    __slots__ = ()


class _ListType(_Recorded):
    """Stands for ``list``, the argument of ``defaultdict``."""

    __slots__ = ()


class _Table(dict[Any, Any]):
    """Stands for ``defaultdict``: a plain dictionary that ignores its default factory."""

    __slots__ = ()

    def __init__(self, *_: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> Never:
        raise pickle.UnpicklingError("a defaultdict has no state")


_STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _ArrayType,
    ("numpy", "dtype"): _Dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): _Table,
    ("__builtin__", "list"): _ListType,
}


class _RefusedGlobalError(Exception):
    """The stream names a global that no Planetoid file needs."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        """Return the stand-in of one of the six globals; never import anything."""
        try:
            return _STAND_INS[module, name]
        except KeyError:
            raise _RefusedGlobalError(f"{module}.{name}") from None


def _read(path: Path) -> Any:
    """Return what the stream says, as recorded parts; every failure is a FormatError."""
    stream = regular_file(path).read_bytes()
    _check_opcodes(path, stream)
    try:
        return _Unpickler(io.BytesIO(stream), encoding="latin1").load()
    except _RefusedGlobalError as refused:
        accepted = ", ".join(sorted(f"{module}.{name}" for module, name in _STAND_INS))
        raise FormatError(
            f"{path} asks for {refused}, which no Planetoid file needs; nothing was executed; "
            f"accepted: {accepted}"
        ) from None
    except _PICKLE_ERRORS as error:
        raise FormatError(f"{path} is not a valid pickle: {error}") from error


def _check_opcodes(path: Path, stream: bytes) -> None:
    """Refuse what could exhaust memory or the stack, before the stream is interpreted."""
    try:
        opcodes = [(code.name, argument) for code, argument, _ in pickletools.genops(stream)]
    except _PICKLE_ERRORS as error:
        raise FormatError(f"{path} is not a valid pickle: {error}") from error
    for name, argument in opcodes:
        if name in _REFUSED:
            raise FormatError(f"{path} uses the pickle opcode {name}, which is refused")
        # The unpickler reserves room up to the largest memo number, used or not.
        if name.endswith("PUT") and int(argument or 0) > len(stream):
            raise FormatError(f"{path} claims {argument} memo entries in {len(stream)} bytes")
    building = sum(name in _BUILDING for name, _ in opcodes)
    if building > _MOST_BUILDING:
        raise FormatError(f"{path} builds {building} objects; accepted: {_MOST_BUILDING}")


def _to_array(path: Path, recorded: Any) -> NDArray[Any]:
    """Check a recorded array and build it: its bytes must fill its shape exactly."""
    match recorded:
        case _Array(
            state=(_, tuple(shape), _Dtype() as dtype, bool(fortran), str() | bytes() as raw)
        ):
            pass
        case _:
            raise FormatError(f"{path} holds a damaged NumPy array")
    if not all(type(size) is int and size >= 0 for size in shape) or len(shape) > 2:
        raise FormatError(f"{path} holds an array of the impossible shape {shape}")
    number = _to_dtype(path, dtype)
    # Characters that are no bytes are left out, and then missed by the next check.
    content = raw.encode("latin1", "ignore") if isinstance(raw, str) else raw
    if len(content) != math.prod(shape) * number.itemsize:
        raise FormatError(
            f"{path} holds an array of shape {list(shape)} and type {number}, "
            f"but {len(content)} bytes of content"
        )
    values = np.frombuffer(content, number).astype(number.newbyteorder("="))
    return values.reshape(shape, order="F" if fortran else "C")


def _to_dtype(path: Path, recorded: _Dtype) -> np.dtype[Any]:
    match recorded.arguments, recorded.state:
        case [(str(code), *_), (int(), "<" | ">" | "|" | "=" as order, None, None, *_)] if (
            code in _NUMBERS
        ):
            return np.dtype(f"{order}{code}")
    found = recorded.arguments[0] if recorded.arguments else None
    raise FormatError(f"{path} holds an array of type {found!r}; only numbers are accepted")


def _to_matrix(path: Path, recorded: _Matrix) -> sp.csr_array[Any]:
    """Check a recorded CSR matrix and build it."""
    state = recorded.state if isinstance(recorded.state, dict) else {}
    shape = state.get("_shape")
    parts = [_to_array(path, state.get(name)) for name in ("data", "indices", "indptr")]
    match shape:
        case (int(rows), int(columns)) if min(shape) >= 0 and max(shape) < 2**31:
            pass
        case _:
            raise FormatError(f"{path} holds a matrix of the impossible shape {shape!r}")
    if any(part.ndim != 1 for part in parts) or any(part.dtype.kind != "i" for part in parts[1:]):
        raise FormatError(f"{path} holds a damaged CSR matrix")
    try:
        matrix = sp.csr_array(tuple(parts), shape=(rows, columns))
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise FormatError(f"{path} holds a damaged CSR matrix: {error}") from error
    return matrix


def _kind(recorded: Any) -> str:
    names = {_Array: "an array", _Matrix: "a sparse matrix", _Table: "a table"}
    return names.get(type(recorded), type(recorded).__name__)
