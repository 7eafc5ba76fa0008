"""Planetoid files as Python 2 wrote them, opcode by opcode, for honest and for hostile tests."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp


class OldPickle:
    """Emits protocol 2 pickles that name the modules of the original Planetoid files."""

    @staticmethod
    def stream(body: bytes) -> bytes:
        return b"\x80\x02" + body + b"."

    @staticmethod
    def name(module: str, name: str) -> bytes:
        return f"c{module}\n{name}\n".encode()

    @staticmethod
    def text(value: str | bytes) -> bytes:
        raw = value.encode("latin1") if isinstance(value, str) else value
        return b"T" + struct.pack("<i", len(raw)) + raw

    @staticmethod
    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    @staticmethod
    def tuple(*parts: bytes) -> bytes:
        return b"(" + b"".join(parts) + b"t"

    def dtype(self, code: str, order: str = "<") -> bytes:
        made = self.name("numpy", "dtype") + self.tuple(self.text(code), b"K\x00", b"K\x01") + b"R"
        rest = [b"N", b"N", b"N", self.number(-1), self.number(-1), b"K\x00"]
        return made + self.tuple(b"K\x03", self.text(order), *rest) + b"b"

    def array_of(self, shape: tuple[int, ...], dtype: bytes, content: bytes) -> bytes:
        """An array whose shape, type and content need not agree."""
        kind = self.name("numpy", "ndarray")
        made = self.name("numpy.core.multiarray", "_reconstruct")
        made += self.tuple(kind, self.tuple(b"K\x00"), self.text("b")) + b"R"
        sizes = self.tuple(*map(self.number, shape))
        return made + self.tuple(b"K\x01", sizes, dtype, b"\x89", content) + b"b"

    def array(self, values: np.ndarray) -> bytes:
        code = values.dtype.str
        content = self.text(values.tobytes())
        return self.array_of(values.shape, self.dtype(code[1:], code[0]), content)

    def matrix_of(self, **state: bytes) -> bytes:
        fields = b"".join(self.text(key) + value for key, value in state.items())
        return self.name("scipy.sparse.csr", "csr_matrix") + b")\x81}(" + fields + b"ub"

    def matrix(self, values: np.ndarray) -> bytes:
        csr = sp.csr_array(values)
        return self.matrix_of(
            _shape=self.tuple(*map(self.number, csr.shape)),
            data=self.array(csr.data),
            indices=self.array(csr.indices.astype(np.int32)),
            indptr=self.array(csr.indptr.astype(np.int32)),
        )

    def table(self, neighbours: dict[int, list[int]]) -> bytes:
        made = self.name("collections", "defaultdict") + self.name("__builtin__", "list") + b"\x85R"
        rows = [
            self.number(node) + b"](" + b"".join(map(self.number, row)) + b"e"
            for node, row in neighbours.items()
        ]
        return made + b"(" + b"".join(rows) + b"u"


@pytest.fixture
def emit() -> OldPickle:
    return OldPickle()


@pytest.fixture
def tiny_planetoid(tmp_path: Path, emit: OldPickle) -> Path:
    """Six nodes, two classes; node 4 is missing from test.index, as in CiteSeer."""
    allx = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 2]], np.float32)
    ally = np.array([[1, 0], [0, 1], [1, 0]], np.int32)
    bodies = {
        "x": emit.matrix(allx[:2]),
        "y": emit.array(ally[:2]),
        "allx": emit.matrix(allx),
        "ally": emit.array(ally),
        "tx": emit.matrix(np.array([[0, 5, 5], [3, 0, 0]], np.float32)),
        "ty": emit.array(np.array([[0, 1], [1, 0]], np.int32)),
        "graph": emit.table({0: [1, 1, 0], 1: [0, 5], 2: [4], 3: [], 4: [2], 5: [1]}),
    }
    for part, body in bodies.items():
        (tmp_path / f"ind.tiny.{part}").write_bytes(emit.stream(body))
    (tmp_path / "ind.tiny.test.index").write_text("5\n3\n")
    return tmp_path
