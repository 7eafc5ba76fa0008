"""The figures: what they are drawn from, and that their files are sound."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodecopy.experiment.store import Row
from nodecopy.report.drawing import draw
from nodecopy.report.figures import (
    figure_1,
    outcome_shares,
    paint_boxes,
    pooled_bins,
    reliability_figure,
)
from nodecopy.report.study import CellKey, Study
from tests.report.conftest import HOSTILE
from tests.report.fabricated import make_cell

Image = pytest.importorskip("PIL.Image", reason="Pillow comes with Matplotlib")


def texts(svg: bytes) -> list[str]:
    root = ET.fromstring(svg)
    return [
        text for node in root.iter("{http://www.w3.org/2000/svg}text") for text in node.itertext()
    ]


def test_the_svg_is_valid_and_its_text_is_text(report: Path) -> None:
    figure1, reliability, overview = (
        texts((report / f"{name}.svg").read_bytes())
        for name in ("figure1-random", "reliability", "overview")
    )
    assert {"at most the median degree", "above the median"} <= set(figure1)
    panels = [text for text in figure1 if "labels per class" in text]
    assert panels == [
        "Cora, 5 labels per class",
        "Cora, 10 labels per class",
        "CiteSeer, 5 labels per class",
        "CiteSeer, 10 labels per class",
    ]
    assert {"confidence (%)", "accuracy (%)", "GCNN", "Cora", "PubMed"} <= set(reliability)
    assert HOSTILE in reliability  # no markup, and no mathematics
    assert {"PubMed, random split", "Cora, fixed split", "open: the paper"} <= set(overview)


def test_nothing_in_the_svg_changes_or_runs(report: Path) -> None:
    for path in report.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "dc:date" not in text
        assert "Verdana" in text  # where the first font is missing
        assert all(line == line.rstrip() for line in text.splitlines())


def test_the_png_has_a_white_ground(report: Path) -> None:
    for path in report.glob("*.png"):
        image = Image.open(path).convert("RGBA")
        assert image.width > 500
        assert image.getpixel((0, 0)) == (255, 255, 255, 255)
        assert len(image.getcolors(10**6)) > 20  # and something on it


def test_the_shares_of_figure_1() -> None:
    rows = make_cell("cora", "random", 5, "copying", [70.0, 75.0], outcomes=True)
    shares = outcome_shares(Study.of(rows), CellKey("cora", "random", "copying", 5))
    for group in ("low", "high"):
        for outcome in ("both_right", "corrected", "broken", "both_wrong"):
            expected = [row.result.outcomes[group][outcome] * 100 for row in rows]
            assert shares[group][outcome] == expected


def test_a_degree_group_may_be_empty_in_every_trial() -> None:
    rows = [
        Row(row.trial, replace(row.result, outcomes={"low": row.result.outcomes["low"]}))
        for row in make_cell("cora", "random", 5, "copying", [70.0, 75.0], outcomes=True)
    ]
    figure = figure_1(Study.of(rows), "random")
    assert figure is not None
    assert "above the median" not in texts(figure.svg)


def test_no_trial_no_figure_1() -> None:
    assert figure_1(Study.of(make_cell("cora", "random", 5, "gcn", [70.0])), "random") is None
    assert reliability_figure(Study.of([])) is None


def test_the_boxes_of_figure_1_are_those_of_the_caption() -> None:
    from matplotlib.figure import Figure

    values = list(np.arange(101.0) ** 1.5)
    ax = Figure().subplots()
    paint_boxes(ax, {"low": {"corrected": values}}, {"corrected": "corrects"}, 1000)
    quartiles, whiskers = np.percentile(values, [25, 75]), np.percentile(values, [5, 95])
    box = ax.patches[0].get_path().vertices[:, 1]
    np.testing.assert_allclose([box.min(), box.max()], quartiles)
    lines = [(line.get_marker(), line.get_ydata()) for line in ax.lines[:6]]
    lower, upper, low_cap, high_cap, median, mean = (data for _, data in lines)
    assert list(lower) == [quartiles[0], whiskers[0]]
    assert list(upper) == [quartiles[1], whiskers[1]]
    assert (low_cap[0], high_cap[0]) == tuple(whiskers)
    np.testing.assert_allclose(median, np.median(values))
    np.testing.assert_allclose(mean, np.mean(values))
    assert lines[5][0] == "^"


def test_bins_are_pooled_by_their_counts() -> None:
    rows = make_cell("cora", "random", 5, "gcn", [70.0, 75.0])
    bins = [
        ((0.2, 0.5, 10), (0.6, 0.5, 4), (None, None, 0)),
        ((0.3, 0.7, 30), (None, None, 0), (None, None, 0)),
    ]
    study = Study.of(
        Row(row.trial, replace(row.result, reliability=b))
        for row, b in zip(rows, bins, strict=True)
    )
    confidence, accuracy, count = pooled_bins(study, "gcn", "cora")
    assert count.tolist() == [40, 4, 0]
    np.testing.assert_allclose(confidence, [0.275, 0.6, np.nan])
    np.testing.assert_allclose(accuracy, [0.65, 0.5, np.nan])


def test_the_settings_of_others_are_left_alone() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw("name", "title", "description", lambda figure: None)
    assert dict(matplotlib.rcParams) == before
