"""The page in a real browser: search, sort, keys, the panel of a node, light, dark and narrow."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from nodecopy import NodeCopyClassifier
from nodecopy.read.synthetic import planted_partition
from nodecopy.trust.components import ComponentScore
from tests.browser import NEEDED, ROWS, Page
from tests.report.fabricated import HOSTILE_IDS, SCRIPT, contradicted, make_result

pytestmark = NEEDED


def test_everything_is_drawn_nothing_is_fetched_and_no_other_script_runs(page, result):
    page.open()
    edges = str(result.given.graph.num_edges)
    assert [fact.text for fact in page.all("#facts .value")][:3] == ["61", edges, "24"]
    assert len(page.all(".chart svg")) == 4
    assert all(chart.size["height"] > 100 for chart in page.all(".chart svg"))
    assert "1 of 61 nodes have no edge" in page.one(".warning").text
    assert page.run("performance.getEntriesByType('resource').length") == 0
    page.run(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{textContent: 'alert(3)'}))"
    )
    assert "Content Security Policy" in str(page.errors())


def test_awkward_ids_are_shown_as_text_and_lead_to_their_nodes(page):
    page.open()
    assert {SCRIPT, "two↵lines", "9007199254740993"} <= set(page.column(0))
    for node_id in HOSTILE_IDS:
        page.open(f"#node={quote(node_id, safe='')}")
        page.until(lambda id=node_id: page.title() == id.replace("\n", "↵"))
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
    page.open("#node=%zz")
    assert page.title() == ""
    assert "“%zz”" in page.one("#matches").text


def test_search_filters_and_sorting(page, result):
    page.open()
    page.one("#query").send_keys("SCRIPT")
    assert page.one("#matches").text == "3 of 61 nodes"
    assert len(page.all(ROWS)) == 3
    page.one("#query").send_keys(" no such node")
    assert "No node matches" in page.one(".grid").text
    page.one("#query").send_keys(Keys.CONTROL + "a", Keys.DELETE)
    labels, predicted = result.given.labels, result.probabilities.argmax(1)
    for value, chosen in {
        "unlabelled": labels < 0,
        "differs": (labels >= 0) & (labels != predicted),
        "labelled": labels >= 0,
    }.items():
        Select(page.one("#label-filter")).select_by_value(value)
        assert page.one("#matches").text == f"{chosen.sum()} of 61 nodes"
    first = predicted[labels >= 0][0]
    Select(page.one("#class-filter")).select_by_value(str(first))
    assert set(page.column(1)) == {result.given.class_names[first]}
    page.open()
    for order in ("ascending", "descending"):
        page.sort("Degree")
        shown = [int(text) for text in page.column(7)]
        assert shown == sorted(shown, reverse=order == "descending")
        assert page.one(f'[aria-sort="{order}"]').text.startswith("Degree")
    for _ in range(2):  # unknown labels are last either way
        page.sort("Known label")
        assert page.column(3)[0] != "–"


def test_a_click_opens_a_node_and_its_neighbours_lead_on(page):
    page.open()
    page.one("#query").send_keys("<script>alert")
    page.one(ROWS).click()
    assert page.until(page.title) == SCRIPT
    panel = page.one("#panel").text
    for part in ("Class probabilities", "Why", "Between networks"):
        assert part in panel
    assert len(page.all("#neighbourhood svg")) == 1
    page.one("#panel .neighbours summary").click()
    buttons = page.all("#panel .list button")
    first = page.run("arguments[0].querySelector('bdi').textContent", buttons[0])
    buttons[0].click()
    page.until(lambda: page.title() == first != SCRIPT)
    page.driver.back()
    page.until(lambda: page.title() == SCRIPT)
    page.driver.back()
    page.until(lambda: page.title() == "")


def test_keys_move_through_the_table_and_close_the_panel(page):
    page.open()
    page.run("document.querySelector(arguments[0] + '[tabindex=\"0\"]').focus()", ROWS)
    focused = lambda: page.run("document.activeElement.getAttribute('aria-rowindex')")  # noqa: E731
    for key, place in ((Keys.ARROW_DOWN, "3"), (Keys.END, "62"), (Keys.HOME, "2")):
        page.press(key)
        assert focused() == place
    page.press(Keys.PAGE_DOWN, Keys.ARROW_UP)
    at = focused()
    page.press(Keys.ENTER)
    assert page.until(page.title) == page.column(0)[int(at) - 2]
    assert page.run("document.activeElement.id") == "panel-title"
    page.press(Keys.ESCAPE)
    page.until(lambda: page.title() == "")
    assert focused() == at
    assert page.run("location.hash") == ""
    button = page.one("#next-list td button")
    button.click()
    page.until(page.title)
    page.one("#close").click()
    page.until(lambda: page.title() == "")
    assert page.driver.switch_to.active_element == button


@pytest.mark.parametrize("fragment", ["", f"#node={'long' * 75}"])
def test_a_phone_needs_no_sideways_scrolling(page, fragment):
    page.open(fragment, width=360)
    assert page.run("document.documentElement.scrollWidth") <= page.run("innerWidth") == 360
    panel = page.one("#panel")
    assert panel.is_displayed() is bool(fragment)
    if fragment:
        for part in (panel, page.one("#panel-title")):
            assert page.run("arguments[0].scrollWidth <= arguments[0].clientWidth", part)
        page.press(Keys.ESCAPE)
        page.until(lambda: not panel.is_displayed())


def test_20_000_rows_are_few_elements_and_many_classes_are_listed_on_demand(driver, written):
    large = Page(driver, written("large", make_result(20_000, 40)))
    large.open()
    assert large.one("#matches").text == "20,000 nodes"
    assert large.run("graphMap.view.graph.order") == 20_000
    *_, grey, _ = [b.text.split("\n")[0] for b in large.all(".map-classes button")[:9]]
    assert grey == "33 others, in grey"
    large.run("document.querySelector('.grid').scrollTo(0, 300000)")
    large.until(lambda: "n7500" in large.column(0))
    assert 10 < len(large.all(ROWS)) < 100
    large.sort("Confidence")
    large.run("(grid.scroller.scrollTop = 1e9)")
    large.until(lambda: large.run("grid.body.lastChild.getAttribute('aria-rowindex')") == "20001")
    assert large.column(2)[-1] == f"{make_result(20_000, 40).posterior.probabilities.max():.1%}"
    large.open("#node=n5")
    assert len(large.all(".bars li")) == 8
    (more,) = [b for b in large.all("#panel button") if b.text == "Show all 40 classes"]
    more.click()
    assert len(large.all(".bars li")) == 40
    assert large.errors() == []


def test_what_held_out_labels_tell_is_shown(driver, written, monkeypatch):
    result = make_result(60, held_out=contradicted(6, 2))
    propagation = ComponentScore(
        "label propagation", "labels of neighbours", 0.75, np.array([True] * 5 + [False])
    )
    monkeypatch.setattr(type(result), "components", (propagation,))
    page = Page(driver, written("held-out", result))
    page.open()
    sizes = result.sets()[6:].sum(1)
    page.one("#sets-table summary").click()
    rows = [row.text.split() for row in page.all("#sets-table tbody tr")]
    assert [(int(size), int(count)) for size, count, _ in rows] == [
        (m, np.count_nonzero(sizes == m)) for m in (1, 2, 3) if np.any(sizes == m)
    ]
    counts = [
        [int(cell.text) for cell in row.find_elements("css selector", "td")]
        for row in page.all("#confusion-table tbody tr")
    ]
    assert counts == [[2, 0, 0], [0, 1, 1], [1, 0, 1]]
    rows = [row.text for row in page.all("#components-table tbody tr")]
    assert rows[0].startswith("nodecopy all of it 100.0% 66.7%")
    assert rows[1].startswith("label propagation labels of neighbours 75.0% 83.3%")
    suspects = result.lists.suspect_labels
    _, second = page.all("#suspect-label-list tbody tr")
    second.find_element("css selector", "button").click()
    assert page.until(page.title) == f"n{suspects.nodes[1]}"
    panel = page.one("#panel").text.replace("\n", " ")
    assert f"wrong with a probability of {100 * suspects.probability[1]:.1f}%" in panel
    shown = [page.run("arguments[0].textContent", item) for item in page.all("#panel .set li")]
    order = np.argsort(-result.probabilities[suspects.nodes[1]], kind="stable")
    assert shown == [f"class {k}" for k in order if result.sets()[suspects.nodes[1], k]]
    lefts = "[...document.querySelector(arguments[0]).children].map(e => e.offsetLeft)"
    head, row = page.run(lefts, ".row.head"), page.run(lefts, ROWS)
    assert len(set(head)) == 10
    assert head == row == sorted(head)
    assert page.errors() == []


def test_a_fit_with_nothing_to_show_says_so(driver, written):
    bare = make_result(12, 2, suggestions=0, suspects=0, edges=[(0, 1)])
    page = Page(driver, written("bare", bare))
    page.open("#node=n7")
    for place, words in {
        "#panel": "No edge leads to it",
        "#next": "No node is suggested",
        "#suspects": "No edge is listed",
        "#trust": "no label was held out",
    }.items():
        assert words in page.one(place).text
    assert page.errors() == []


def test_names_are_shown_in_place_of_ids_and_searched(driver, written):
    result = make_result(60)
    names = ["Ελένη", "عائشة", "👩‍👩‍👧 family", "long name " * 30, SCRIPT, ""]
    padded = np.array([*names, *(f"person {i}" for i in range(54))], object)
    named = replace(result, given=replace(result.given, titles=padded))
    page = Page(driver, written("named", named))
    page.errors()
    page.open("#node=n0")
    assert "Ελένη" in page.one("#panel-title").text
    assert "n0" in page.one("#panel").text
    neighbours = page.one("#panel").text
    assert "عائشة" in neighbours
    page.open()
    for sought, shown in (("ελέν", "Ελένη"), ("n1", "عائشة"), ("n5", "n5")):
        page.one("#query").clear()
        page.one("#query").send_keys(sought)
        page.until(lambda text=shown: text in page.all(ROWS)[0].text)
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.errors() == []
    assert page.run("window.alerted") == 0


def test_rows_can_be_downloaded_as_they_are_filtered(page, result):
    page.open()
    page.run("(HTMLAnchorElement.prototype.click = () => 0)")
    page.run("(URL.createObjectURL = (blob) => { window.saved = blob.text(); return ''; })")
    Select(page.one("#label-filter")).select_by_value("labelled")
    page.run("document.querySelector('#nodes .download').click() ?? 0")
    text = page.driver.execute_async_script("window.saved.then(arguments[0])")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head[:4] == ["id", "known", "predicted", "confidence"]
    known = result.given.labels >= 0
    assert {row[0] for row in rows} == set(map(str, result.given.ids[known]))
    assert all(sum(map(float, row[4:])) == pytest.approx(1, abs=0.001) for row in rows)


# Pairs of names in the drawing that cover each other.
OVERLAPS = """(() => {
  const boxes = [...document.querySelectorAll('#neighbourhood text')].map(
    (text) => text.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
  ).length;
})()"""


@pytest.mark.parametrize("width", [390, 1300])
def test_names_of_neighbours_do_not_cover_each_other_and_are_always_there(page, width):
    drawings = []
    for _ in range(2):
        page.open(f"#node={quote(SCRIPT, safe='')}", width)
        page.until(page.title)
        drawings.append(page.one("#neighbourhood svg").get_attribute("innerHTML"))
        assert page.run(OVERLAPS) == 0
        assert len(page.all("#neighbourhood text")) > 3
    page.one("#two-steps").click()
    assert page.run(OVERLAPS) == 0
    strip = "(text) => text.replace(/zr\\d+-[\\w-]+/g, '')"  # numbers of this drawing
    assert page.run(f"({strip})(arguments[0]) === ({strip})(arguments[1])", *drawings)


def test_a_waterfall_opens_to_its_pieces_and_two_are_compared(driver, written):
    data = planted_partition(60, 3, seed=0)
    y = np.where(np.arange(60) < 24, data.labels, -1)
    result = NodeCopyClassifier("fast", random_state=0).fit(data.graph, data.features, y).result_
    page = Page(driver, written("explained", result))
    page.open("#node=3")
    page.until(page.title)
    bar = page.one(".waterfall .neighbour")
    bar.find_element("css selector", "summary").click()
    names = page.run("[...arguments[0].querySelectorAll('bdi')].map(e => e.textContent)", bar)
    assert set(names) == {str(n) for n in result.given.graph.neighbours(3)}
    assert "times as likely" in bar.text
    strokes = "[...document.querySelectorAll('#neighbourhood [stroke-width]')]"
    assert page.run(f"new Set({strokes}.map(e => e.getAttribute('stroke-width'))).size") > 3
    page.one(".compare").click()
    page.run("openNode(7)")
    page.until(lambda: len(page.all(".fall")) == 2)
    assert [title.text for title in page.all(".fall h4")] == ["7", "3"]
    left, right = (fall.rect for fall in page.all(".fall"))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    page.one(".compare").click()
    assert [title.text for title in page.all(".fall h4")] == ["7"]
    assert page.errors() == []


def test_many_classes_are_drawn_by_their_number_of_nodes_the_rest_on_demand(driver, written):
    result = make_result(800, 40)
    page = Page(driver, written("many", result))
    page.open(width=390)
    shown = "echarts.getInstanceByDom(byId('class-chart')).getOption().yAxis[0].data"
    order = np.argsort(-np.bincount(result.probabilities.argmax(1), minlength=40), kind="stable")
    assert page.run(shown) == [f"class {k}" for k in order[:12]]
    (more,) = [button for button in page.all("#classes button") if "40" in button.text]
    more.click()
    assert len(page.run(shown)) == 40
    # A suspect edge is a card: no cell is beside the screen.
    cells = page.all("#suspect-list td")
    assert all(cell.rect["x"] + cell.rect["width"] <= 390 for cell in cells)
    assert {"Node", "Surprise"} <= {cell.get_attribute("data-name") for cell in cells}
