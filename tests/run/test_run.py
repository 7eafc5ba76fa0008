"""The whole job on tables: what comes out fits what went in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nodecopy import NodeCopyClassifier, presets
from nodecopy.report import report_page
from nodecopy.run import label_tables, write_folder
from nodecopy.run.fit import analyse_fit, read_source


def test_classes_that_are_numbers_keep_the_order_of_numbers(settings, rows_file):
    rows = [("id", "label"), *((f"b{n}", "10" if n < 3 else "9") for n in range(6))]
    numbers = replace(settings, labels=rows_file("l.csv", rows))
    result = label_tables(numbers, progress=False)
    assert result.class_names == ("9", "10")
    assert result.classifier.classes_.tolist() == [9, 10]


def test_a_fit_no_better_than_the_commonest_class_is_warned_of(labelled):
    good = labelled.validation
    assert labelled.warnings == labelled.inspection.warnings
    useless = replace(good, probabilities=np.roll(good.probabilities, 1, axis=-1))
    result = replace(labelled, validation=useless)
    assert useless.scores.accuracy < 4 / 7
    assert result.warnings[-1].endswith("(57%): do not trust these predictions")
    assert replace(labelled, validation=None).warnings == labelled.inspection.warnings


def test_a_fit_to_a_part_of_the_graph_says_what_it_has_to_say_of_all_of_it(settings, tmp_path):
    table = read_source(settings)
    part = NodeCopyClassifier(replace(presets.best(), most_nodes=14), random_state=0)
    result = analyse_fit(settings, table, part.fit(table))
    assert result.posterior.probabilities.shape == (20, 2)
    write_folder(result, tmp_path / "run", report_page(result))
    assert len((tmp_path / "run/predictions.csv").read_text().splitlines()) == 21
