"""What a pool is made of, as the report and the summary tell it."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.presets import best
from nodecopy.read.synthetic import planted_partition

DATA = planted_partition(200, 3, seed=1)
Y = np.where(np.arange(200) < 30, DATA.labels, -1)


def test_the_components_of_the_default_have_names_weights_and_held_out_labels():
    result = NodeCopyClassifier(random_state=0).fit(DATA.graph, DATA.features, Y).result_
    scores = {one.name: one for one in result.components}
    assert set(scores) == {component.name for component in best().components}
    assert sum(one.weight for one in scores.values()) == pytest.approx(1)
    assert [one.weight for one in result.components] == sorted(
        (one.weight for one in result.components), reverse=True
    )
    truth = result.held_out.truth
    commonest = np.bincount(truth).max() / len(truth)
    assert scores["class shares"].held_out.mean() <= commonest
    assert scores["student"].held_out.mean() > 0.6


@pytest.mark.parametrize("method", ["label-propagation", "logistic-regression"])
def test_a_simple_method_is_calibrated_and_reported_as_any_other(method, tmp_path):
    clf = NodeCopyClassifier(method, random_state=0).fit(DATA.graph, DATA.features, Y)
    assert clf.result_.components == ()
    assert np.mean(clf.predict()[30:] == DATA.labels[30:]) > 0.5
    assert clf.estimated_accuracy().accuracy > 0.5
    clf.report(tmp_path / "page.html")
