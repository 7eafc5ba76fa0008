"""What a notebook shows: the summary of a fit, and its page."""

from __future__ import annotations

import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import InputError, ModelError
from nodecopy.presets import fast
from nodecopy.read.synthetic import planted_partition

CLASSES = np.array(["<b>ash</b>", "beech"], object)


@pytest.fixture(scope="module")
def clf() -> NodeCopyClassifier:
    data = planted_partition(120, 2, seed=0)
    y = np.where(np.arange(120) < 20, CLASSES[data.labels], None)
    return NodeCopyClassifier(fast(), random_state=0).fit(data.graph, data.features, y)


def test_a_fit_shows_labels_classes_and_accuracy(clf: NodeCopyClassifier):
    html = clf._repr_mimebundle_()["text/html"]
    for part in ("&lt;b&gt;ash", "estimated accuracy", f"{clf.estimated_accuracy().accuracy:.0%}"):
        assert part in html
    assert "<b>ash" not in html
    assert html.index("estimated accuracy") < html.index("random_state")  # of the diagram
    assert "known labels" not in NodeCopyClassifier()._repr_mimebundle_()["text/html"]


def test_a_fit_shows_its_map(clf: NodeCopyClassifier, monkeypatch):
    def drawn() -> str:
        html: str = clf._repr_mimebundle_()["text/html"]
        return html[html.index("<svg viewBox") :].split("</svg>")[0]

    assert drawn().count("h0") == 120  # a disc for each node
    assert drawn() == drawn()
    monkeypatch.setattr("nodecopy.report.map._STILL", 50)
    assert 25 < drawn().count("h0") <= 50


def test_the_page_of_a_fit_in_python_is_written_and_shown(clf: NodeCopyClassifier, tmp_path: Path):
    report = clf.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = report._repr_html_()
    assert unescape(shown.split('"')[1]) == page
    assert "method StackedClassifier" in page
    assert "<b>ash" not in page
    clf.save(tmp_path / "model")
    with pytest.raises(ModelError, match="^report needs the graph"):
        NodeCopyClassifier.load(tmp_path / "model").report(tmp_path / "other.html")


def test_frames_without_pandas_say_what_to_install(clf: NodeCopyClassifier, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for call in (clf.to_frame, clf.explain(30).to_frame):
        with pytest.raises(InputError, match="pip install pandas"):
            call()


def test_the_frame_has_known_labels_and_sets(clf: NodeCopyClassifier):
    frame = clf.to_frame()
    assert frame["known"].notna().sum() == 20
    sets = clf.predict_set(coverage=0.9)
    for node, labels in frame["set_90"].items():
        assert set(labels) == set(clf.classes_[sets[node]])
        assert labels[0] == frame["predicted"][node]
