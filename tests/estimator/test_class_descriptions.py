"""Classes described in words: guesses without a label, a component with labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import ModelError
from tests.features.test_text_model import Counting, sentences

DESCRIBED = {"games": "chess3 and the like", "letters": "mail4_and_such"}


def classifier(**arguments: object) -> NodeCopyClassifier:
    return NodeCopyClassifier(text_model=Counting(), random_state=0, **arguments)


def test_classes_are_guessed_without_a_label_and_nothing_is_claimed(tmp_path: Path):
    frame, y, graph = sentences(200)
    truth = np.array(["games", "letters"])[y]
    clf = classifier(class_descriptions=DESCRIBED).fit(graph, frame)
    assert clf.classes_.tolist() == ["games", "letters"]
    assert (clf.predict() == truth).mean() > 0.9
    assert clf.predict_proba().max() < 0.9
    assert clf.result_.accuracy is None
    assert "guesses" in " ".join(clf.result_.given.notes)
    assert len(clf.suggest(20)) == 20
    with pytest.raises(ModelError, match="held out"):
        clf.estimated_accuracy()
    clf.save(tmp_path / "model")
    loaded = NodeCopyClassifier.load(tmp_path / "model")
    loaded.text_model = Counting()
    predicted = loaded.predict_on(graph, frame).probabilities
    np.testing.assert_allclose(predicted, clf.predict_proba(), atol=1e-6)
    assert "guesses" in clf.report(tmp_path / "page.html").path.read_text()


def test_labels_decide_what_descriptions_count():
    frame, y, graph = sentences(200)
    truth = np.array(["games", "letters"])[y]
    labels = {node: truth[node] for node in range(8)}
    weights = {}
    for name, described in {"right": DESCRIBED, "none": {}}.items():
        clf = classifier(class_descriptions=described).fit(graph, frame, labels)
        scores = {one.name: one.weight for one in clf.result_.components}
        weights[name] = scores.get("class descriptions", 0.0)
        assert (clf.predict() == truth).mean() > 0.9
    assert weights["right"] > 0.01
    assert weights["none"] == 0.0
    guessed = classifier(class_descriptions=DESCRIBED).fit(graph, frame).add_labels(labels)
    assert (guessed.predict() == truth).mean() > 0.9
    assert guessed.held_out_ is not None


@pytest.mark.parametrize(
    ("described", "text_model", "message"),
    [(["games"], Counting(), "two classes"), (["games", "mail"], "none", "sentences")],
)
def test_what_cannot_be_guessed_is_one_line(described: list[str], text_model: object, message: str):
    frame, _, graph = sentences(60)
    clf = NodeCopyClassifier(text_model=text_model, class_descriptions=described)
    with pytest.raises(ModelError, match=message):
        clf.fit(graph, frame)
