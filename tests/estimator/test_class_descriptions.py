"""Classes described in words: guesses without a label, a component with labels."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.annotate import Session
from nodecopy.core.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.read.labels import SUGGESTED
from nodecopy.run import FitSettings, label_tables
from tests.features.test_text_model import GAMES, MAIL, SONGS, Counting, installed, sentences
from tests.waiting import wait_until

DESCRIBED = {"games": "chess3 and the like", "letters": "mail4_and_such"}


def classifier(**arguments: object) -> NodeCopyClassifier:
    text_model = Counting(topics=(MAIL, GAMES, SONGS))
    return NodeCopyClassifier(text_model=text_model, random_state=0, **arguments)


def test_classes_are_guessed_without_a_label_and_nothing_is_claimed(tmp_path: Path):
    frame, y, graph = sentences(200)
    truth = np.array(["games", "letters"])[y]
    clf = classifier(class_descriptions=DESCRIBED).fit(graph, frame)
    assert clf.classes_.tolist() == ["games", "letters"]
    assert (clf.predict() == truth).mean() > 0.9
    assert clf.predict_proba().max() < 0.9
    assert clf.result_.estimate is None
    assert "guesses" in clf.result_.why_not_estimated
    assert "guesses" in clf.result_.warnings[-1]
    assert len(clf.suggest(20)) == 20
    with pytest.raises(ModelError, match="held out"):
        clf.estimated_accuracy()
    clf.save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    loaded.text_model = clf.text_model
    predicted = loaded.predict_on(graph, frame).probabilities
    np.testing.assert_allclose(predicted, clf.predict_proba(), atol=1e-6)
    assert "guesses" in clf.report(tmp_path / "page.html").path.read_text()


def test_labels_decide_what_descriptions_count():
    frame, y, graph = sentences(200)
    truth = np.array(["games", "letters"])[y]
    labels = {node: truth[node] for node in range(8)}
    weights = {}
    for name, described in {"right": DESCRIBED, "none": {}, "own names": None}.items():
        clf = classifier(class_descriptions=described).fit(graph, frame, labels)
        scores = {one.name: one.weight for one in clf.result_.components}
        weights[name] = scores.get("class descriptions", 0.0)
        assert (clf.predict() == truth).mean() > 0.9
    assert weights["right"] > 0.01
    assert weights["none"] == 0.0
    assert weights["own names"] > 0.0
    guessed = classifier(class_descriptions=DESCRIBED).fit(graph, frame).add_labels(labels)
    assert (guessed.predict() == truth).mean() > 0.9
    assert guessed.held_out_ is not None
    assert "guesses" not in " ".join(guessed.result_.warnings)


def test_described_classes_without_a_label_are_predicted_and_said_to_be_unchecked(tmp_path: Path):
    frame, y, graph = sentences(180, topics=(GAMES, MAIL, SONGS))
    truth = np.array(["games", "letters", "music"])[y]
    labels = {node: name for node, name in enumerate(truth[:24]) if name != "music"}
    described = DESCRIBED | {"music": "song5 and the like"}
    without = classifier(class_descriptions=DESCRIBED).fit(graph, frame, labels)
    clf = classifier(class_descriptions=described).fit(graph, frame, labels)
    assert clf.classes_.tolist() == ["games", "letters", "music"]
    assert (clf.predict() == truth).mean() > 0.9 > 0.7 > (without.predict() == truth).mean()
    assert not np.isin(clf.held_out_.truth, [2]).any()
    assert [text for text in clf.result_.warnings if text.endswith("no label: music")]
    estimate = clf.estimated_accuracy()
    assert estimate.high - estimate.low > clf.result_.unchecked_share > 0.25
    assert clf.predict(clf.suggest(1)).tolist() == ["music"]
    assert clf.novelty()[truth == "music"].mean() < without.novelty()[truth == "music"].mean()
    there = clf.posterior_.take(np.flatnonzero(clf.predict() != "music"))
    sets = [clf.result_.elsewhere(one).sets.expected for one in (clf.posterior_, there)]
    np.testing.assert_array_equal(*sets)
    assert "no label: music" in clf.report(tmp_path / "page.html").path.read_text()
    clf.save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    assert loaded.result_.unlabelled_classes.tolist() == [False, False, True]
    assert loaded.estimated_accuracy() == estimate
    clf.add_labels({2: "music"})
    assert "no label: music" not in " ".join(clf.result_.warnings)


def test_only_nodes_without_a_label_are_guessed():
    frame, y, graph = sentences(60, topics=(GAMES, MAIL, SONGS))
    truth = np.array(["games", "letters", "music"])[y]
    others = np.flatnonzero(truth != "music")
    labels = dict(zip(others.tolist(), truth[others].tolist(), strict=True))
    labels |= {int(node): "games" for node in np.flatnonzero(truth == "music")[:-3]}
    described = {np.str_(name): text for name, text in DESCRIBED.items()}
    described |= {np.str_("music"): "song5 and the like"}
    clf = classifier(class_descriptions=described).fit(graph, frame, labels)
    assert clf.classes_.tolist() == ["games", "letters", "music"]
    known = [clf.predict([node])[0] == label for node, label in labels.items()]
    assert np.mean(known) > 0.7
    assert len(clf.held_out_.nodes) == len(labels)
    every = labels | {node: "letters" for node in range(60) if node not in labels}
    assert classifier(class_descriptions=described).fit(graph, frame, every).held_out_ is not None


def test_one_label_is_enough_beside_described_classes():
    frame, y, graph = sentences(60)
    clf = classifier(class_descriptions=DESCRIBED).fit(graph, frame, {0: "games"})
    assert (clf.predict() == np.array(["games", "letters"])[y]).mean() > 0.9
    assert clf.held_out_ is None
    added = classifier(class_descriptions=DESCRIBED).fit(graph, frame).add_labels({0: "games"})
    np.testing.assert_array_equal(added.predict(), clf.predict())
    with pytest.raises(ModelError, match="all labels are 'games'"):
        classifier(class_descriptions={}).fit(graph, frame, {0: "games"})
    two = classifier(class_descriptions=DESCRIBED).fit(graph, frame, {0: "games", 2: "games"})
    assert not [text for text in two.result_.warnings if "commonest class" in text]
    words = NodeCopyClassifier(text_model="none", class_descriptions=DESCRIBED)
    with pytest.raises(ModelError, match="all labels are 'games'.* as no text .*: letters"):
        words.fit(graph, frame, {0: "games"})
    words.fit(graph, frame, {0: "games", 1: "letters"}).set_params(class_descriptions={})
    with pytest.raises(ModelError, match="all labels are 'games'"):
        words.add_labels({1: None})


def test_guessed_labels_are_explained_by_descriptions():
    frame, y, graph = sentences(90, topics=(GAMES, MAIL, SONGS))
    truth = np.array(["games", "letters", "music"])[y]
    labels = {node: name for node, name in enumerate(truth[:24]) if name != "music"}
    described = DESCRIBED | {"music": "song5 and the like"}
    clf = classifier(class_descriptions=described).fit(graph, frame, labels)
    for node in np.flatnonzero(truth == "music")[:5].tolist():
        why = clf.explain(node)
        sources = {row.source for row in why.evidence}
        assert "class name" in sources
        assert "own label" not in sources
        if why.label == "music":
            assert "from the labels of" not in str(why)  # it has none


def test_guesses_are_explained_by_own_text_and_by_that_of_neighbours():
    frame, _, _ = sentences(40)
    ends = np.arange(38)
    graph = Graph.from_edges(40, np.stack([ends, ends + 1], 1))  # a path; node 39 has no edge
    frame.loc[0, "text"] = None
    clf = classifier(class_descriptions=DESCRIBED).fit(graph, frame)
    odds = {}
    for node in (0, 1, 39):
        why = clf.explain(node)
        odds[node] = {(row.source, row.name): row.log_odds for row in why.evidence}
        assert sum(odds[node].values()) == pytest.approx(why.log_odds)
    assert set(odds[0]) - {("class prior", ""), ("not explained", "")} == {
        ("neighbour", 1),
        ("class name", ""),
    }
    assert {source for source, _ in odds[39]} <= {"class name", "class prior", "not explained"}
    assert {("neighbour", 0), ("neighbour", 2), ("class name", "")} <= set(odds[1])


def test_descriptions_count_for_more_with_fewer_labels_than_classes():
    frame, _, graph = sentences(90, topics=(GAMES, MAIL, SONGS))
    described = DESCRIBED | {"music": "song5 and the like"}
    weights = []
    for labels in ({0: "games"}, {0: "games", 1: "letters", 2: "music"}):
        clf = classifier(class_descriptions=described, folds=0).fit(graph, frame, labels)
        weights += [one.weight for one in clf.result_.components if "desc" in one.name]
    assert weights[0] > 1.5 * weights[1] > 0.1


def test_described_classes_have_no_share_among_the_labels():
    frame, y, graph = sentences(60, topics=(GAMES, MAIL, SONGS))
    labels = {node: name for node, name in enumerate(np.array(["a b", "c d", ""])[y[:24]]) if name}
    clf = classifier(class_descriptions=["a b", "c d", "music"], class_prior="labels")
    clf.fit(graph, frame, labels)
    assert clf.classes_.tolist() == ["a b", "c d"]
    assert "no share among the labels: music" in clf.result_.given.notes[-1]


def test_names_of_classes_that_are_not_those_of_labels_are_noticed():
    frame, y, graph = sentences(60)
    labels = dict(enumerate(np.array(["games", "letters"])[y[:8]].tolist()))
    with pytest.raises(ModelError, match="'Games' is written 'games' as a label"):
        classifier(class_descriptions=["Games", "letters"]).fit(graph, frame, labels)
    with pytest.raises(ModelError, match="list of names; got 'games,letters'"):
        classifier(class_descriptions="games,letters").fit(graph, frame, labels)
    with pytest.raises(ModelError, match="of strings.*got .*3"):
        classifier(class_descriptions={"games": 3}).fit(graph, frame, labels)
    for unknown in ("", "-1", -1, None):
        with pytest.raises(ModelError, match="unknown label"):
            classifier(class_descriptions=["games", unknown]).fit(graph, frame, labels)
    clf = classifier(class_descriptions=["chess", "mail"]).fit(graph, frame, labels)
    assert "with labels are not: games, letters" in clf.result_.given.notes[-1]


def test_described_classes_that_no_fit_reads_are_not_predicted():
    frame, y, graph = sentences(60)
    labels = dict(enumerate(np.array(["games", "letters"])[y[:8]].tolist()))
    for others in ({"text_model": "none"}, {"method": "fast"}):
        clf = NodeCopyClassifier(random_state=0, class_descriptions=[*DESCRIBED, "music"], **others)
        clf.fit(graph, frame, labels)
        assert clf.classes_.tolist() == ["games", "letters"]
        assert "not predicted, as" in clf.result_.given.notes[-1]


def test_names_that_are_no_words_say_nothing():
    frame, y, graph = sentences(60)
    for labels in (y, np.array(["A1", "letters"])[y]):
        known = dict(enumerate(labels[:8].tolist()))
        clf = classifier().fit(graph, frame, known)
        assert "class descriptions" not in [one.name for one in clf.result_.components]


@pytest.mark.parametrize(
    ("described", "text_model", "message"),
    [
        (["games"], Counting(), "two at least"),
        (["1", "2"], Counting(), "in words"),
        (["games", "mail"], "none", "words alone"),
    ],
)
def test_what_cannot_be_guessed_is_one_line(described: list[str], text_model: object, message: str):
    frame, _, graph = sentences(60)
    clf = NodeCopyClassifier(text_model=text_model, class_descriptions=described)
    with pytest.raises(ModelError, match=message):
        clf.fit(graph, frame)


@installed
def test_files_and_names_of_classes_are_enough_to_begin(tmp_path: Path):
    programs = {
        "mutt": "a text-based reader for e-mail",
        "postfix": "a server that delivers electronic mail",
        "imapsync": "copies mailboxes from one mail server to another",
        "chess": "play chess against the computer",
        "nethack": "dungeon crawl game with many levels",
        "freeciv": "strategy game about civilisations",
    }
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    rows = [f"{name},{text}" for name, text in programs.items()]
    nodes.write_text("\n".join(["id,description", *rows]))
    edges.write_text("source,target\nmutt,postfix\nchess,nethack\n")
    classes = tmp_path / "classes.csv"
    classes.write_text("class,description\nmail,e-mail and mail servers\nplay,games\n")
    settings = FitSettings(edges=str(edges), nodes=str(nodes), classes=str(classes))
    result = label_tables(settings, False).result
    predicted = result.classes[result.probabilities.argmax(1)]
    told = dict(zip(result.given.ids, predicted, strict=True))
    assert all(told[name] == ("mail" if at < 3 else "play") for at, name in enumerate(programs))
    with closing(Session(tmp_path / "run", settings)) as session:
        assert wait_until(lambda: session.state()["fitted"])
        assert json.loads(json.dumps(session.state()))["guessed"]
        guess = session.view("nethack")["probabilities"]
        assert guess[1] > guess[0]
        session.label("mutt", "mail", None)
        assert wait_until(lambda: session.state()["fittedVersion"] == session.state()["version"])
        assert session.view("nethack")["probabilities"] == guess  # a fit would not know "play"
        asked = zip(*(session.state()[key] for key in ("next", "why")), strict=True)
        assert told[next(id for id, why in asked if why == SUGGESTED)] == "play"
        session.label("chess", "play", None)
        assert session.answers.labels == {"mutt": "mail", "chess": "play"}
