"""Ids in one array of bytes read like an object array of text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.data import text_ids
from nodecopy.data.text_ids import TextIds

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=30)


@given(TEXTS, st.data())
def test_every_way_to_read_gives_what_an_object_array_gives(texts, data):
    ids, array = TextIds.of(texts), np.array([*texts, ""], object)[:-1]
    assert ids.tolist() == list(ids) == np.asarray(ids).tolist() == texts
    assert (len(ids), ids.shape, ids.dtype) == (len(texts), array.shape, array.dtype)
    start, stop = (data.draw(st.integers(-40, 40)) for _ in range(2))
    step = data.draw(st.sampled_from([1, 2, -1, None]))
    assert ids[start:stop:step].tolist() == array[start:stop:step].tolist()
    if texts:
        nodes = np.array(data.draw(st.lists(st.integers(-len(texts), len(texts) - 1))), int)
        assert ids[nodes].tolist() == array[nodes].tolist()
        assert ids[nodes.reshape(-1, 1)].shape == (len(nodes), 1)
        assert ids[nodes % 2 == 0 if len(nodes) == len(texts) else nodes].dtype == object


def test_many_blocks_are_joined(monkeypatch):
    monkeypatch.setattr(text_ids, "_BLOCK", 3)
    texts = [f"ß{k}" * k for k in range(10)]
    ids = TextIds.of(texts)
    assert list(ids) == ids.tolist() == texts
    assert ids.offsets.tolist()[:3] == [0, 1, 5]
    assert ids.text.tobytes()[:5] == "\0ß1\0".encode()


def test_a_node_that_is_not_there_is_an_error():
    ids = TextIds.of(["a", "b"])
    for node in (2, -3):
        with pytest.raises(IndexError, match="there are 2"):
            ids[node]


def test_a_mask_chooses():
    assert TextIds.of(["a", "b", "c"])[np.array([True, False, True])].tolist() == ["a", "c"]
