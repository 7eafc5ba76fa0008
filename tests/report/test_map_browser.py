"""The map in a real browser: what is drawn, picked, searched and walked, on screens of any kind."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from nodecopy import NodeCopyClassifier, fixed_split, load_dataset
from nodecopy.graph import Graph
from nodecopy.report.page import asset
from nodecopy.result import Result
from tests.browser import NEEDED, Page
from tests.report.fabricated import SCRIPT

pytestmark = NEEDED

# The colour in the middle of a node; what WebGL drew is kept until the script returns.
MIDDLE = """((node) => {
  const { renderer, graph } = graphMap.view;
  renderer.refresh();
  const at = renderer.graphToViewport(graph.getNodeAttributes(node));
  const copy = document.createElement("canvas").getContext("2d");
  copy.drawImage(renderer.getCanvases().nodes, -Math.round(at.x), -Math.round(at.y));
  return [...copy.getImageData(0, 0, 1, 1).data];
})(arguments[0])"""
NO_WEBGL = """
const { getContext } = HTMLCanvasElement.prototype;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind.startsWith("webgl") ? null : getContext.call(this, kind, ...more);
};"""


def drawn(page: Page, node: int | str, attribute: str) -> Any:
    script = "graphMap.view.renderer.getNodeDisplayData(arguments[0])[arguments[1]]"
    return page.run(script, node, attribute)


def calm_down(page: Page, scheme: str = "light") -> None:
    """Prefer reduced motion from now on."""
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def click_node(page: Page, node: int | str) -> None:
    at = page.run("graphMap.view.placeOf(arguments[0])", node)
    corner = page.run("document.querySelector('.map-view').getBoundingClientRect()")
    actions = ActionBuilder(page.driver)
    actions.pointer_action.move_to_location(corner["left"] + at["x"], corner["top"] + at["y"])
    actions.pointer_action.click()
    actions.perform()


@pytest.fixture(scope="module")
def cora() -> Result:
    data = load_dataset("cora")
    split = fixed_split(data, labels_per_class=5)
    y = np.full(data.num_nodes, -1)
    y[split.train] = data.labels[split.train]
    return NodeCopyClassifier(method="fast", random_state=0).fit(data, y=y).result_


def test_cora_is_drawn_and_a_click_opens_the_node(driver, written, cora):
    file: Path = written("cora", cora)
    page = Page(driver, file)
    page.open()
    assert page.run("[graphMap.view.graph.order, graphMap.view.graph.size]") == [2_708, 5_278]
    known = page.run("graphMap.view.graph.filterNodes((_, {mark}) => mark === 1 || mark === 2)")
    assert len(known) == 35
    colour = [int(part) for part in drawn(page, known[0], "color")[4:-1].split(",")]
    *shown, opaque = page.run(MIDDLE, known[0])
    assert opaque == 255
    assert np.abs(np.subtract(shown, colour)).max() <= 3
    calm_down(page)
    page.run(f"(graphMap.goTo({known[0]}), graphMap.view.renderer.refresh(), 1)")
    click_node(page, known[0])
    assert page.until(page.title) == page.run("nodes.ids[arguments[0]]", known[0])
    assert page.run("graphMap.view.node") == int(known[0])
    assert page.run("performance.getEntriesByType('resource').length") == 0
    library, block = (
        asset("vendor/sigma.min.js"),
        page.run("JSON.stringify([data.map, data.links])"),
    )
    assert len(library) + len(block) < 500_000
    assert page.errors() == []


def test_the_map_is_searched_coloured_and_walked_by_keys(page):
    page.open()
    page.one("#map-query").send_keys("<script>alert")
    assert page.until(lambda: page.one("#map-status").text).startswith("1 node")
    page.press(Keys.ENTER)
    first = page.run("graphMap.view.node")
    assert SCRIPT in page.one("#map-status").text
    page.until(lambda: page.run("graphMap.view.camera.getState().ratio") < 0.4)
    page.press("0", Keys.ARROW_DOWN)
    page.until(lambda: page.run("graphMap.view.node") != first)
    second = page.run("nodes.names[graphMap.view.node]").replace("\n", "↵")
    page.press(Keys.ENTER)
    assert page.until(page.title) == second
    page.press(Keys.ESCAPE)
    colours = [drawn(page, first, "color")]
    for title in ("Confidence", "Mistakes of held-out labels", "Degree"):
        Select(page.one("#map-colour")).select_by_visible_text(title)
        colours.append(drawn(page, first, "color"))
    assert all(colour != other for colour, other in pairwise(colours))
    page.one(".map-zoom button").click()
    page.until(lambda: page.run("graphMap.view.camera.getState().ratio") < 1)


def test_of_many_classes_the_commonest_have_colours(driver, written):
    """Classes 4 and 12 would share a colour by their numbers; these have most of the nodes."""
    sizes = np.where(np.isin(np.arange(16), [4, 12]), 60, 4)
    labels = np.repeat(np.arange(16), sizes)
    known = np.where(np.arange(len(labels)) % 2, labels, -1)
    chain = Graph.from_edges(len(labels), list(pairwise(range(len(labels)))))
    fitted = NodeCopyClassifier("fast", random_state=0).fit(chain, np.eye(16)[labels], known)
    page = Page(driver, written("many", fitted.result_))
    page.open()
    coloured = page.run("[...colouredClasses(nodes.predicted)]")
    assert len(coloured) == 7
    assert {4, 12} <= set(coloured)
    assert page.run("colourOf(4) !== colourOf(12)")


def test_on_a_phone_in_the_dark_everything_has_a_name_and_fits(page):
    page.open(width=390)
    light = page.run("graphMap.view.renderer.getSetting('defaultEdgeColor')")
    page.open(width=390, scheme="dark")
    assert page.run("graphMap.view.renderer.getSetting('defaultEdgeColor')") != light
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert page.one(".map-view").size["width"] > 300
    for element in page.all("#map button, #map input, #map select, #map [tabindex]"):
        assert element.accessible_name
        assert element.size["width"] <= 390
    assert page.one(".map-view").aria_role == "application"
    calm_down(page, scheme="dark")
    ratio = "(graphMap.view.zoom(2), graphMap.view.camera.getState().ratio)"
    assert page.run(ratio) == pytest.approx(0.5)  # at once
    page.one(".map-classes button").click()
    assert page.one(".map-classes button").get_attribute("aria-pressed") == "true"
    alone = page.run("[...graphMap.classes][0]")
    pale = page.run("ink('--line')")
    others = page.run(f"[...nodes.predicted.keys()].filter((i) => nodes.predicted[i] !== {alone})")
    look = "graphMap.view.graph.filterNodes((_, { color }) => color === arguments[0]).map(Number)"
    assert page.run(look, pale) == others


def test_without_webgl_a_sentence_takes_the_place_of_the_map(driver, page):
    added = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NO_WEBGL})
    try:
        page.open("#node=v1")
        assert "WebGL" in page.one("#map").text
        assert page.title() == "v1"
        assert page.one("#matches").text == "61 nodes"
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
