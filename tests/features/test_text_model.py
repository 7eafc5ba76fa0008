"""Texts are embedded once and kept, by the model that was asked for; labels decide what counts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import ModelError
from nodecopy.features import text_model
from nodecopy.features.scaling import meaning_share
from nodecopy.features.text_model import PACKAGED, TextModel, read_texts
from nodecopy.graph import Graph

installed = pytest.mark.skipif(not text_model.extra_installed(), reason="needs nodecopy[text]")
# Thirty words for each of three things: a few labels do not show all of them.
MAIL, GAMES, SONGS = ([f"{thing}{i}" for i in range(30)] for thing in ("mail", "chess", "song"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "nodecopy"


class Counting:
    """A text model that knows what some words mean, and counts the texts it is given."""

    def __init__(
        self, breaks_after: int = 10**9, topics: Sequence[Sequence[str]] = (MAIL, GAMES)
    ) -> None:
        self.texts: list[str] = []
        self.breaks_after, self.topics = breaks_after, topics

    def __call__(self, texts: list[str]) -> np.ndarray:
        if len(self.texts) >= self.breaks_after:
            raise KeyboardInterrupt
        self.texts += texts
        meant = [[any(w in t.split() for w in words) for words in self.topics] for t in texts]
        return np.array(meant) + 0.1


def kept(model: Counting) -> TextModel:
    return TextModel("counting", "a1b2", model)


def test_each_text_is_embedded_once_and_in_unit_length():
    model = Counting()
    vectors = kept(model).embed(["the chess7", "", "the chess7", "a mail7"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1], atol=1e-3)
    assert (vectors[0] == vectors[2]).all()
    assert model.texts.count("the chess7") == model.texts.count("a mail7") == 1


def test_an_embedding_that_was_stopped_goes_on_where_it_was():
    texts = [f"text number {i} on chess" for i in range(1000)]
    stopped, other = Counting(breaks_after=500), Counting()
    with pytest.raises(KeyboardInterrupt):
        kept(stopped).embed(texts)
    vectors = kept(other).embed(texts)
    assert vectors.shape == (1000, 2)
    assert len({*other.texts} & {*texts}) <= 1000 - 250
    assert {*stopped.texts} | {*other.texts} >= {*texts}
    again = Counting()
    assert (kept(again).embed(texts) == vectors).all()
    assert again.texts == []


def test_two_at_a_time_do_not_disturb_each_other():
    texts = [f"text number {i}" for i in range(600)]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: kept(Counting()).embed(texts), range(2))
    np.testing.assert_array_equal(first, second)


def test_a_folder_that_cannot_be_written_costs_the_cache_only(cache: Path):
    cache.write_text("a file in the place of the folder")
    with pytest.warns(UserWarning, match="not kept"):
        assert kept(Counting()).embed(["some text"]).shape == (1, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/no/such/folder", "no folder"),
        (".", "modules.json"),
        (7, "text_model must be"),
        (lambda texts: [1.0] * len(texts), "a row of finite numbers"),
        (lambda texts: [[np.nan]] * len(texts), "a row of finite numbers"),
    ],
)
def test_a_wrong_model_is_one_line(given: object, message: str, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(text_model, "extra_installed", lambda: True)
    with pytest.raises(ModelError, match=message) as error:
        TextModel.of(given)
    assert "\n" not in str(error.value)


def test_without_the_extra_words_are_kept_with_a_line(monkeypatch):
    monkeypatch.setattr(text_model, "extra_installed", lambda: False)
    vectors, _, note = read_texts(["a text"], "auto")
    assert vectors is None
    assert "nodecopy[text]" in note
    assert read_texts(["a text"], "none").note == ""
    with pytest.raises(ModelError, match=r"nodecopy\[text\]"):
        read_texts(["a text"], PACKAGED)


def sentences(
    n: int, seed: int = 0, topics: Sequence[Sequence[str]] = (GAMES, MAIL)
) -> tuple[pd.DataFrame, np.ndarray, Graph]:
    """Return nodes in classes that are told by what words mean; words say little."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(topics)
    words = [rng.choice(topics[k]) for k in y]
    others = rng.choice(["one", "two", "three", "four", "five", "six"], (n, 3))
    texts = [" ".join([*three, word]) for three, word in zip(others, words, strict=True)]
    frame = pd.DataFrame({"text": texts, "size": rng.normal(size=n)})
    return frame, y, Graph.from_edges(n, rng.integers(0, n, (n // 20, 2)))


def test_meaning_counts_where_it_tells_the_labels():
    frame, y, graph = sentences(200)
    known = np.where(np.arange(200) < 12, y, -1)
    accuracy = {}
    for model in (Counting(), "none"):
        clf = NodeCopyClassifier("fast", text_model=model, random_state=0).fit(graph, frame, known)
        accuracy[str(model)[:4]] = (clf.predict()[12:] == y[12:]).mean()
    assert accuracy["<tes"] > 0.95 > accuracy["none"] + 0.1


@pytest.mark.parametrize(("informative", "low", "high"), [(0, 0.6, 1.0), (1, 0.0, 0.4)])
def test_labels_divide_a_text_between_meaning_and_words(informative: int, low: float, high: float):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    blocks = [rng.normal(size=(60, 8)), rng.normal(size=(60, 8))]
    blocks[informative] += 3 * np.eye(8)[y]
    x = sp.csr_array(np.hstack(blocks).astype(np.float32))
    none = Graph.from_edges(60, [])
    share = meaning_share(none, x, [slice(0, 8), slice(8, 16)], y[:, None], np.arange(60))
    assert low <= share <= high


def test_a_saved_model_names_its_text_model_and_refuses_another(tmp_path: Path):
    frame, y, graph = sentences(60)
    known = np.where(np.arange(60) < 12, y, -1)
    clf = NodeCopyClassifier("fast", text_model=Counting(), random_state=0)
    clf.fit(graph, frame, known).save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    loaded.text_model = model = Counting()
    predicted = loaded.predict_on(graph, frame).probabilities
    np.testing.assert_allclose(predicted, clf.predict_proba(), atol=1e-6)
    assert {*model.texts} >= {*frame["text"]}
    loaded.text_model = lambda texts: [[1.0, 2.0, 3.0]] * len(texts)
    with pytest.raises(ModelError, match="another"):
        loaded.predict_on(graph, frame)


def test_an_explanation_names_labelled_texts_of_a_similar_meaning():
    frame, y, graph = sentences(200)
    known = np.where(np.arange(200) < 12, y, -1)
    clf = NodeCopyClassifier("fast", text_model=Counting(), random_state=0)
    why = clf.fit(graph, frame, known).explain(100)
    assert np.isclose(sum(row.log_odds for row in why.evidence), why.log_odds)
    (row,) = [row for row in why.evidence if row.name == "its text"]
    assert row.log_odds > 0
    assert any(f"“{text}”, 0" in row.note for text in frame["text"][:12])
    assert row.note in " ".join(why.sentences)


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("AB-{} 7 C 19", False),
        ("{}son, Miss Elisabeth Mary Walton", False),
        ("{}ford Regional Airport North", False),
        ("{} reads and sorts electronic mail", True),
        ("{}-Strategiespiel über die Kriegsführung der Römer", True),
        ("A Survey of {} for Graphs, Trees, Networks and Tables", True),
        ("{}を読み書きするためのプログラム", True),
    ],
)
def test_codes_and_names_are_no_sentences(cell: str, sentence: bool):
    letters = "abcdefghij"
    cells = [cell.format(letters[i % 10].upper() + letters[i // 10]) for i in range(60)]
    frame, y = pd.DataFrame({"text": cells}), np.arange(60) % 2
    clf = NodeCopyClassifier("fast", text_model=Counting(), random_state=0)
    given = clf.fit(Graph.from_edges(60, [(0, 1)]), frame, y).result_.given
    assert (given.meaning is not None) == sentence


@installed
def test_the_packaged_model_knows_what_words_mean_without_a_network(monkeypatch):
    def refuse(*args: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    texts = ["a program to read mail", "an e-mail client", "a game of chess"]
    vectors, meaning, _ = read_texts(texts, "auto")
    assert vectors is not None
    assert meaning is not None
    assert meaning.dimension == 384
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    monkeypatch.setattr(text_model, "_WEIGHTS", "other")
    with pytest.raises(ModelError, match="published"):
        TextModel.of(PACKAGED)


@installed
def test_the_packaged_model_computes_what_sentence_transformers_does_with_its_folder():
    packaged = TextModel.of(PACKAGED)
    folder = TextModel.of(str(packaged.encode.folder))
    assert folder.digest == packaged.digest
    texts = ["chess", "a program to read mail", "a long text " * 200, "日本語 ñ 🙂", "x"]
    np.testing.assert_allclose(packaged.embed(texts), folder.encode(texts), atol=1e-3)


@installed
def test_what_would_take_too_long_is_read_as_words_with_a_line(monkeypatch):
    monkeypatch.setattr(text_model, "_MOST_CHARACTERS", 40)
    chess, both = ["a game of chess"] * 9, ["a program to read mail" * 2, "a game of chess"]
    vectors, meaning, note = read_texts(both, "auto")
    assert vectors is meaning is None
    assert "10 minutes" in note
    assert read_texts(chess, "auto").vectors is not None
    assert read_texts(both, PACKAGED).vectors is not None
    # Neither what was embedded before nor how fast decides: the same table has the same features.
    assert read_texts(both, "auto").vectors is None


@installed
def test_a_hub_name_without_a_network_is_one_line(monkeypatch):
    def refuse(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no route to host\nmore")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(ModelError, match="hub") as error:
        TextModel.of("paraphrase-multilingual-MiniLM-L12-v2")
    assert "\n" not in str(error.value)
