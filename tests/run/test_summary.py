"""summary.json: a run in numbers, the same that Python gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nodecopy
from nodecopy.run import FitSettings, Run, label_tables, write_folder
from nodecopy.run.folder import summary_text


def test_the_summary_has_the_numbers_of_the_result(labelled: Run, tmp_path: Path):
    write_folder(labelled, tmp_path / "run", lambda: "page")
    held, result = json.loads((tmp_path / "run/summary.json").read_text()), labelled.result
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert "summary.json" in manifest["files"]
    assert held["versions"]["nodecopy"] == nodecopy.__version__
    assert held["versions"]["numpy"] == np.__version__
    assert held["read"]["files"] == ["edges.csv", "labels.csv", "features.csv"]
    assert {"file": "labels.csv", "column": "label", "became": "class"} in held["read"]["columns"]
    assert (held["nodes"], held["edges"], held["known_labels"]) == (20, 41, 7)
    estimate = held["estimated_accuracy"]
    assert estimate["accuracy"] == pytest.approx(result.estimate.accuracy, abs=1e-6)
    assert estimate["low"] == pytest.approx(result.estimate.low, abs=1e-6)
    assert estimate["high"] == pytest.approx(result.estimate.high, abs=1e-6)
    assert [one["name"] for one in held["components"]] == [c.name for c in result.components]
    assert sum(one["weight"] for one in held["components"]) == pytest.approx(1, abs=1e-4)
    assert [one["class"] for one in held["classes"]] == ["=red", "blue"]
    assert sum(one["predicted"] for one in held["classes"]) == 20
    assert sum(one["expected"] for one in held["classes"]) == pytest.approx(20, abs=1e-4)
    assert held["warnings"] == [*result.warnings]
    assert held["next_labels"] == [str(result.given.ids[n]) for n in result.lists.next_labels.nodes]


def test_what_was_not_estimated_is_null_with_a_reason(settings: FitSettings):
    run = label_tables(replace(settings, method="fast", calibrate=False), progress=False)
    held = json.loads(summary_text(run))
    assert held["estimated_accuracy"] is held["sets"] is held["suspect_labels"] is None
    assert "not calibrated" in held["why_not_estimated"]
