"""Features in different units: brought to one scale, the same one when predicting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nodecopy.labelling import label_tables
from nodecopy.labelling.model_folder import ModelFolder
from nodecopy.labelling.run import STANDARDISED
from tests.labelling.test_model_folder import read


def test_units_do_not_matter(settings, labelled, rows_file):
    head, *rows = read(settings.features)
    large = [(id, str(float(a) * 1000), b) for id, a, b in rows]
    thousands = replace(settings, features=rows_file("f.csv", [head, *large]))
    found = label_tables(thousands, progress=False)
    difference = found.posterior.probabilities - labelled.posterior.probabilities
    assert np.abs(difference).max() < 1e-3
    assert found.table.notes[-1] == STANDARDISED
    paper = replace(thousands, preset="paper", n_weights=2, epochs=20)  # no kernel of its own
    scaled, raw = (
        label_tables(replace(paper, standardise=chosen), progress=False) for chosen in (True, False)
    )
    assert raw.classifier.scaling_.shift is None
    assert np.abs(raw.posterior.probabilities - scaled.posterior.probabilities).max() > 0.01


def test_one_new_value_changes_nothing_far_away(settings, labelled, rows_file):
    """The scale, and whether rows are scaled, are those of the fit, not of the new file."""
    folder = ModelFolder.of(labelled)
    edges = rows_file("e.csv", [*read(settings.edges), ("new", "new2")])
    both = []
    for value in ("0.5", "-5000"):
        rows = [*read(settings.features), ("new", value, "0"), ("new2", "0", "0")]
        table, posterior = folder.predict(edges, rows_file("f.csv", rows))
        old = [place for place, id in enumerate(table.ids) if not str(id).startswith("new")]
        both.append(posterior.probabilities[old])
    assert np.array_equal(*both)
