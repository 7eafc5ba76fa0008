"""Split files: written whole, read with suspicion."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.data import Split
from nodecopy.errors import FormatError

SPLIT = Split([3, 1], [0], [2, 7, 5], "0" * 32, "named ζ")
SUFFIXES = [".json", ".npz"]


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path: Path) -> Path:
    path = tmp_path / f"split{request.param}"
    SPLIT.save(path)
    return path


def edited(path: Path, **changes) -> Path:
    """Rewrite some fields of a split file; None removes one."""
    if path.suffix == ".json":
        fields = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({k: v for k, v in fields.items() if v is not None}))
    else:
        with np.load(path) as arrays:
            fields = dict(arrays) | changes
        np.savez(path, **{k: v for k, v in fields.items() if v is not None})
    return path


def test_a_round_trip(path):
    assert Split.load(path) == SPLIT
    assert Split.load(str(path)).name == "named ζ"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@settings(deadline=None, max_examples=40)
@given(nodes=st.permutations(range(12)), cuts=st.tuples(st.integers(0, 12), st.integers(0, 12)))
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_split_survives_a_round_trip(tmp_path_factory, suffix, nodes, cuts):
    a, b = sorted(cuts)
    split = Split(nodes[:a], nodes[a:b], nodes[b:], "digest", "name")
    path = tmp_path_factory.getbasetemp() / f"round-trip{suffix}"
    split.save(path)
    assert Split.load(path) == split


def test_saving_replaces_the_old_file(path):
    other = Split([1], [], [], "d", "other")
    other.save(path)
    assert Split.load(path) == other


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nodecopy.whole_file.os.replace", fail)
    with pytest.raises(FormatError, match="cannot write the split to .*: No space left on device"):
        Split([1], [], [], "d", "other").save(path)
    monkeypatch.undo()
    assert Split.load(path) == SPLIT
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="cannot write .*there is no folder"):
        SPLIT.save(tmp_path / "nowhere" / "split.json")
    for suffix in SUFFIXES:
        with pytest.raises(FormatError, match="cannot read the split file .*No such file"):
            Split.load(tmp_path / f"nothing{suffix}")
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(FormatError, match="is a folder; accepted: a regular file"):
            Split.load(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize("name", ["split.pkl", "split", "split.JSON.gz"])
def test_other_suffixes_are_refused(tmp_path, name):
    for act in (SPLIT.save, Split.load):
        with pytest.raises(FormatError, match=r"ends in .json or .npz; got .*split"):
            act(tmp_path / name)


def test_a_truncated_file_is_an_error(path):
    whole = path.read_bytes()
    # All but the newline that ends the JSON file.
    for length in range(0, len(whole) - 1, 3):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            Split.load(path)


def test_every_changed_byte_of_the_content_is_noticed(tmp_path):
    path = tmp_path / "split.json"
    SPLIT.save(path)
    whole = path.read_bytes()
    start = whole.index(b'"dataset_digest"')
    for place in range(start, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] = ord("4") if whole[place] != ord("4") else ord("6")
        path.write_bytes(changed)
        with pytest.raises(FormatError):
            Split.load(path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("test", [2, 7, 6], "was changed after it was written"),
        ("dataset_digest", "1" * 32, "was changed after it was written"),
        ("train", [3, 0], "holds no valid split: train and val must be disjoint"),
        ("train", [3, -1], "holds no valid split: train holds the negative index -1"),
        ("train", [3, 1.5], "train must be a list of node indices"),
        ("train", [[3], [1]], "train must be a list of node indices"),
        ("val", None, "not a split file: it lacks fields, or has others"),
        ("extra", [1], "not a split file: it lacks fields, or has others"),
        ("format", "nodecopy-split-9", "has the format 'nodecopy-split-9'; accepted: 'nodecopy-s"),
        ("name", [1, 2], "name must be a string"),
        ("digest", 5, "digest must be a string"),
    ],
)
def test_tampered_files_are_refused(path, field, value, message):
    with pytest.raises(FormatError, match=message):
        Split.load(edited(path, **{field: value}))


@pytest.mark.parametrize("value", [[True], ["1"], [10**30], {"0": 1}, "12", 7])
def test_json_that_is_no_list_of_indices_is_refused(tmp_path, value):
    SPLIT.save(tmp_path / "split.json")
    with pytest.raises(FormatError, match=r"val (must be a list|holds a number beyond 64 bits)"):
        Split.load(edited(tmp_path / "split.json", val=value))


@pytest.mark.parametrize("content", [b"", b"hello", b"[]", b"3", b"\xff\xfe", b"[" * 100_000])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_foreign_files_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"foreign{suffix}"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="not a split file"):
        Split.load(path)


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "split.npz"
    SPLIT.save(path)
    with pytest.raises(FormatError, match="not a split file: Object arrays"):
        Split.load(edited(path, train=np.array([{}], dtype=object)))


def test_a_single_array_is_no_split(tmp_path):
    np.save(tmp_path / "array.npy", np.arange(3))
    path = (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with pytest.raises(FormatError, match="not a split file"):
        Split.load(path)


def test_another_archive_is_no_split(tmp_path):
    path = tmp_path / "other.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FormatError, match="not a split file: it lacks fields"):
        Split.load(path)
