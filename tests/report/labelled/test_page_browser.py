"""The page in a real browser: search, sort, keys, the panel of a node, light, dark and narrow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from nodecopy.labelling import LabelledGraph
from nodecopy.labelling.rivals import Rival
from nodecopy.report.labelled.page import labelled_page
from tests.browser import NEEDED, ROWS, Page, browser
from tests.report.labelled.fabricated import HOSTILE_IDS, SCRIPT, contradicted, make_found

pytestmark = NEEDED


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, LabelledGraph], Path]:
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, found: LabelledGraph) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(labelled_page(found), encoding="utf-8")
        return path

    return write


@pytest.fixture
def page(driver: Any, written: Any, found: LabelledGraph) -> Iterator[Page]:
    """The page of a small fit with awkward names; a word on the console fails the test."""
    shown = Page(driver, written("awkward", found))
    shown.errors()
    yield shown
    assert shown.errors() == []
    assert shown.run("window.alerted") == 0


@pytest.fixture
def large(driver: Any, written: Any) -> Page:
    return Page(driver, written("large", make_found(20_000, 40)))


def test_the_watch_on_alerts_and_on_the_console_would_notice(driver, tmp_path):
    path = tmp_path / "broken.html"
    path.write_text("<!DOCTYPE html><script>alert(1); nothing.here()</script>")
    broken = Page(driver, path)
    broken.open()
    assert broken.run("window.alerted") == 1
    assert "nothing is not defined" in str(broken.errors())


def test_everything_is_drawn_and_nothing_is_fetched(page, found):
    page.open()
    edges = str(found.table.dataset.graph.num_edges)
    assert [fact.text for fact in page.all("#facts .value")][:3] == ["61", edges, "24"]
    assert len(page.all(".chart svg")) == 5
    assert all(chart.size["height"] > 100 for chart in page.all(".chart svg"))
    assert "1 of 61 nodes have no edge" in page.one(".warning").text
    assert page.run("performance.getEntriesByType('resource').length") == 0


def test_a_script_that_is_not_ours_does_not_run(page):
    page.open()
    page.run(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{textContent: 'alert(3)'}))"
    )
    assert page.run("window.alerted") == 0
    assert "Content Security Policy" in str(page.errors())


def test_awkward_ids_are_shown_as_text(page):
    page.open()
    shown = page.column(0)
    assert SCRIPT in shown
    assert "two↵lines" in shown
    assert "9007199254740993" in shown
    for node_id in HOSTILE_IDS:
        page.run("openNode(placeOfId.get(arguments[0]))", node_id)
        page.until(lambda wanted=node_id: page.title() == wanted.replace("\n", "↵"))
        assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_search_and_filters(page, found):
    page.open()
    page.one("#query").send_keys("SCRIPT")
    assert page.one("#matches").text == "3 of 61 nodes"
    assert page.one(".grid").get_attribute("aria-rowcount") == "4"
    assert len(page.all(ROWS)) == 3
    page.one("#query").send_keys(" no such node")
    assert page.one("#matches").text == "0 of 61 nodes"
    assert "No node matches" in page.one(".grid").text
    page.one("#query").send_keys(Keys.CONTROL + "a", Keys.DELETE)
    Select(page.one("#label-filter")).select_by_value("unlabelled")
    assert page.one("#matches").text == "37 of 61 nodes"
    assert set(page.column(3)) == {"–"}
    Select(page.one("#label-filter")).select_by_value("labelled")
    assert page.one("#matches").text == "24 of 61 nodes"
    known = found.table.dataset.labels >= 0
    chosen = found.posterior.probabilities[known].argmax(1)[0]
    Select(page.one("#class-filter")).select_by_value(str(chosen))
    assert set(page.column(1)) == {found.class_names[chosen]}
    assert "–" not in page.column(3)


def test_a_heading_sorts_both_ways(page):
    page.open()
    page.sort("Degree")
    rising = [int(text) for text in page.column(7)]
    assert rising == sorted(rising)
    assert rising[0] == 0
    (heading,) = page.all('[aria-sort="ascending"]')
    assert heading.text.startswith("Degree")
    page.sort("Degree")
    falling = [int(text) for text in page.column(7)]
    assert falling == sorted(falling, reverse=True)
    assert page.one('[aria-sort="descending"]').text.startswith("Degree")
    page.sort("Known label")
    assert page.column(3)[0] != "–"
    page.sort("Known label")
    assert page.column(3)[0] != "–"  # unknown labels are last either way


def test_a_click_opens_a_node_and_its_neighbours_lead_on(page):
    page.open()
    page.one("#query").send_keys("<script>alert")
    page.one(ROWS).click()
    assert page.until(page.title) == SCRIPT
    panel = page.one("#panel").text
    assert "Class probabilities" in panel
    assert "Between networks" in panel
    assert "keeps its own with probability 0.01" in panel
    assert len(page.all("#neighbourhood svg")) == 1
    buttons = page.all("#panel .list button")
    first = page.run("arguments[0].querySelector('bdi').textContent", buttons[0])
    assert first != SCRIPT
    buttons[0].click()
    page.until(lambda: page.title() == first)
    page.driver.back()
    page.until(lambda: page.title() == SCRIPT)
    page.driver.forward()
    page.until(lambda: page.title() == first)
    page.driver.back()
    page.driver.back()
    page.until(lambda: page.title() == "")


def test_two_steps_show_more_nodes(page):
    page.open("#node=v20")
    near = len(page.all("#panel .list button"))
    page.one("#two-steps").click()
    assert len(page.all("#panel .list button")) > near
    assert "Two steps away" in page.one("#panel").text


def test_a_mark_in_the_drawing_opens_its_node(page):
    page.open("#node=v20")
    spot = page.run(
        "(() => { const host = byId('neighbourhood'), chart = echarts.getInstanceByDom(host); "
        "const [, node] = chart.getOption().series[0].data; "
        "const [x, y] = chart.convertToPixel({seriesIndex: 0}, node.value); "
        "host.scrollIntoView({block: 'center'}); const box = host.getBoundingClientRect(); "
        "return [box.x + x, box.y + y, nodes.ids[node.node]]; })()"
    )
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        event = {"type": kind, "x": spot[0], "y": spot[1], "button": "left", "clickCount": 1}
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)
    page.until(lambda: page.title() == spot[2])


def test_keys_move_through_the_table_and_close_the_panel(page):
    page.open()
    page.sort("Node")
    page.sort("Node")
    page.run("document.querySelector(arguments[0] + '[tabindex=\"0\"]').focus()", ROWS)
    focused = lambda: page.run("document.activeElement.getAttribute('aria-rowindex')")  # noqa: E731
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert focused() == "4"
    assert len(page.all(f'{ROWS}[tabindex="0"]')) == 1
    page.press(Keys.END)
    assert focused() == "62"
    page.press(Keys.PAGE_UP)
    assert 40 < int(focused()) < 62
    page.press(Keys.HOME)
    assert focused() == "2"
    page.press(Keys.PAGE_DOWN, Keys.ARROW_UP)
    at = focused()
    page.press(Keys.ENTER)
    assert page.until(page.title) == page.column(0)[int(at) - 2]
    assert page.run("document.activeElement.id") == "panel-title"
    page.press(Keys.ESCAPE)
    page.until(lambda: page.title() == "")
    assert focused() == at
    assert page.run("location.hash") == ""


def test_closing_the_panel_returns_to_where_it_was_opened(page):
    page.open()
    button = page.one("#next-list td button")
    button.click()
    page.until(page.title)
    page.one("#close").click()
    page.until(lambda: page.title() == "")
    assert page.driver.switch_to.active_element == button


def test_every_control_is_reached_by_tab(page):
    page.open()
    reached: list[str] = []
    for _ in range(60):
        if "row" in reached:
            break
        page.press(Keys.TAB)
        name, style = page.run(
            "(e => [e.id || e.className, getComputedStyle(e).outlineStyle])(document.activeElement)"
        )
        assert style in ("solid", "auto"), f"{name} shows no focus"
        reached.append(name)
    wanted = ["skip", "theme", "query", "class-filter", "label-filter", "row"]
    assert [name for name in reached if name in wanted] == wanted


def test_a_link_leads_to_a_node(page):
    page.open(f"#node={quote(SCRIPT, safe='')}")
    assert page.until(page.title) == SCRIPT


def test_a_link_to_no_node_says_so(page):
    page.open("#node=%zz")
    assert page.title() == ""
    assert page.one("#matches").text == "No node “%zz” on this page."


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes_and_the_switch_between_them(page, scheme):
    page.open(scheme=scheme)
    ground = lambda: sum(  # noqa: E731
        map(int, page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"))
    )
    axis = lambda: page.one("#confidence-chart svg text").get_attribute("fill")  # noqa: E731
    dark = scheme == "dark"
    before = axis()
    assert (ground() < 150) is dark
    page.one("#theme").click()
    assert (ground() < 150) is not dark
    assert axis() != before  # the charts changed with the page


@pytest.mark.parametrize("fragment", ["", "#node=v20", f"#node={'long' * 75}"])
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


def test_20_000_rows_are_few_elements(large):
    large.open()
    assert large.one("#matches").text == "20,000 nodes"
    assert 10 < len(large.all(ROWS)) < 100
    large.run("document.querySelector('.grid').scrollTo(0, 300000)")
    large.until(lambda: "n7500" in large.column(0))
    assert 10 < len(large.all(ROWS)) < 100
    large.sort("Confidence")
    large.run("(grid.scroller.scrollTop = 1e9)")
    large.until(lambda: large.run("grid.body.lastChild.getAttribute('aria-rowindex')") == "20001")
    most = make_found(20_000, 40).posterior.probabilities.max()
    assert large.column(2)[-1] == f"{most:.1%}"
    assert large.errors() == []


def test_many_classes_are_listed_on_demand(large):
    large.open("#node=n5")
    assert len(large.all(".bars li")) == 8
    (more,) = [b for b in large.all("#panel button") if b.text == "Show all 40 classes"]
    more.click()
    assert len(large.all(".bars li")) == 40


def test_sets_and_suspect_labels_are_shown_and_lead_to_their_nodes(driver, written):
    found = make_found(60, validation=contradicted(6, 2))
    page = Page(driver, written("suspect", found))
    page.errors()
    page.open()
    sizes = found.sets[6:].sum(1)
    page.one("#sets-table summary").click()
    rows = [row.text.split() for row in page.all("#sets-table tbody tr")]
    assert [(int(size), int(count)) for size, count, _ in rows] == [
        (m, np.count_nonzero(sizes == m)) for m in (1, 2, 3) if np.any(sizes == m)
    ]
    assert len(page.all("#sets-chart svg")) == 1
    first, second = page.all("#suspect-label-list tbody tr")
    suspects = found.suspect_labels
    cells = first.find_elements("css selector", "td")
    assert [page.run("arguments[0].textContent", cell) for cell in cells] == [
        f"n{suspects.nodes[0]}",
        f"class {suspects.given[0]}",
        f"class {suspects.suggested[0]}",
        f"{100 * suspects.probability[0]:.1f}%",
    ]
    second.find_element("css selector", "button").click()
    assert page.until(page.title) == f"n{suspects.nodes[1]}"
    panel = page.one("#panel").text.replace("\n", " ")
    assert f"wrong with a probability of {100 * suspects.probability[1]:.1f}%" in panel
    assert "Its 90% set" in panel
    shown = [page.run("arguments[0].textContent", item) for item in page.all("#panel .set li")]
    order = np.argsort(-found.posterior.probabilities[suspects.nodes[1]], kind="stable")
    assert shown == [f"class {k}" for k in order if found.sets[suspects.nodes[1], k]]
    page.sort("Set size")
    page.sort("Set size")
    largest = [int(text) for text in page.column(len(page.all(".head > *")) - 1)]
    assert largest == sorted(largest, reverse=True)
    assert largest[0] == found.sets.sum(1).max()
    assert page.errors() == []


def test_rows_and_headings_have_the_same_columns(driver, written):
    page = Page(driver, written("suspect", make_found(60, validation=contradicted(6, 2))))
    for width in (1300, 420):
        page.open(width=width)
        lefts = "[...document.querySelector(arguments[0]).children].map(e => e.offsetLeft)"
        head, row = page.run(lefts, ".row.head"), page.run(lefts, ROWS)
        assert len(head) == 10
        assert head == row == sorted(head)
        assert len(set(head)) == 10


def test_a_fit_with_nothing_to_show_says_so(driver, written):
    bare = make_found(12, 2, graphs=0, suggestions=0, suspects=0, edges=[(0, 1)])
    page = Page(driver, written("bare", bare))
    page.open("#node=n7")
    assert "No edge leads to it" in page.one("#panel").text
    assert "there are no donors" in page.one("#panel").text
    assert "No node is suggested" in page.one("#next").text
    assert "No edge is listed" in page.one("#suspects").text
    assert "No label was held out" in page.one("#trust").text
    assert page.errors() == []


KEPT = "[...document.querySelectorAll(arguments[0])].map(e => e.childNodes[1]?.textContent)"
INSIDE = """[...document.querySelectorAll(arguments[0])].every((line) => {
  const range = document.createRange();
  range.selectNode(line.childNodes[1]);
  const [kept, box] = [range.getBoundingClientRect(), line.getBoundingClientRect()];
  return kept.width > 0 && kept.right <= box.right + 1 && kept.left >= box.left;
})"""


@pytest.mark.parametrize("width", [1300, 390])
def test_long_ids_keep_what_tells_them_apart(driver, written, width):
    ids = [f"{'the-same-beginning/' * 3}{i:03d}{'-the-same-ending' * 3}" for i in range(12)]
    page = Page(driver, written("long-ids", make_found(12, 2, ids=ids)))
    page.open(width=width)
    for lines in (f"{ROWS} > :first-child .line", "#next-list td button .line"):
        kept = page.run(KEPT, lines)
        assert len(set(kept)) == len(kept) > 3
        assert page.run(INSIDE, lines)
    titles = page.run(
        "[...document.querySelectorAll(arguments[0])].map(e => e.title)", f"{ROWS} .line"
    )
    assert set(ids) <= set(titles)
    page.open(f"#node={quote(ids[5], safe='')}", width=width)
    # The name of each mark in the drawing, and whether it lies within the drawing.
    drawn = page.run(
        "[...document.querySelectorAll('#neighbourhood text')].map(text => {"
        " const [box, all] = [text, byId('neighbourhood')].map(e => e.getBoundingClientRect());"
        " return [text.textContent, box.left >= all.left && box.right <= all.right]; })"
    )
    assert sorted(re.findall(r"\d+", name)[0] for name, _ in drawn) == ["004", "005", "006"]
    assert all(inside for _, inside in drawn)


def test_tables_with_long_names_fit_into_the_page(driver, written):
    ids = [f"{'the-same-beginning/' * 3}{i:03d}{'-the-same-ending' * 3}" for i in range(40)]
    made = make_found(40, 4, ids=ids, validation=contradicted(8, 4, 4))
    names = tuple(f"Class {k} of those with a name that is rather long" for k in range(4))
    dataset = replace(made.table.dataset, class_names=names)
    found = replace(made, table=replace(made.table, dataset=dataset))
    page = Page(driver, written("long-names", found))
    page.open()
    hidden = (
        "[...document.querySelectorAll('main .scroll')].map(e => e.scrollWidth - e.clientWidth)"
    )
    assert max(page.run(hidden)) <= 1
    grid = page.one(".grid")
    assert page.run("arguments[0].scrollWidth - arguments[0].clientWidth", grid) <= 1


def test_labels_that_differ_from_predictions_can_be_listed(page, found):
    page.open()
    Select(page.one("#label-filter")).select_by_value("differs")
    labels = found.table.dataset.labels
    differ = (labels >= 0) & (labels != found.posterior.probabilities.argmax(1))
    assert page.one("#matches").text == f"{differ.sum()} of 61 nodes"


def test_a_search_for_a_node_that_the_page_does_not_hold_says_so(driver, written, monkeypatch):
    monkeypatch.setattr("nodecopy.report.labelled.page.MAX_NODES", 60)
    page = Page(driver, written("part", make_found(500)))
    page.open()
    held = set(page.run("data.nodes.ids"))
    missing = next(f"n{i}" for i in range(499, 0, -1) if f"n{i}" not in held)
    page.one("#query").send_keys(missing)
    words = page.one("#matches").text
    assert words.startswith("No such node on this page. It holds 60 of 500 nodes; predictions.csv")
    assert "No node on this page matches" in page.one(".grid").text


def test_mistakes_and_rivals_are_shown(driver, written):
    made = make_found(60, validation=contradicted(6, 2))
    rivals = (Rival("label propagation", np.array([True] * 5 + [False])),)
    page = Page(driver, written("rivals", replace(made, rivals=rivals)))
    page.open()
    counts = [
        [int(cell.text) for cell in row.find_elements("css selector", "td")]
        for row in page.all("#confusion-table tbody tr")
    ]
    assert counts == [[2, 0, 0], [0, 1, 1], [1, 0, 1]]
    rows = [row.text for row in page.all("#rivals-table tbody tr")]
    assert rows[0].startswith("nodecopy 66.7%")
    assert rows[1].startswith("label propagation 83.3%")
    assert rows[1].endswith("+16.7 ± 33.3")  # two standard errors, and one is 1 / 6
    assert "may do as well" in page.one("#rivals-words").text


def test_the_map_shows_every_node_and_leads_to_it(page, found):
    page.open()
    assert "Every node as a point" in page.one("#map-words").text
    assert sorted(page.run("map.nodes")) == list(range(61))
    assert len(page.all("#map-chart svg path")) >= 61
    page.run(
        "echarts.getInstanceByDom(byId('map-chart')).dispatchAction"
        "({type: 'showTip', seriesIndex: 0, dataIndex: 5}) ?? 0"
    )
    assert page.until(lambda: page.run("document.querySelector('#map-chart .tip')?.textContent"))


def test_rows_can_be_downloaded_as_they_are_filtered(page, found):
    page.open()
    page.run("(HTMLAnchorElement.prototype.click = () => 0)")
    page.run("(URL.createObjectURL = (blob) => { window.saved = blob.text(); return ''; })")
    Select(page.one("#label-filter")).select_by_value("labelled")
    page.run("document.querySelector('#nodes .download').click() ?? 0")
    text = page.driver.execute_async_script("window.saved.then(arguments[0])")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head[:4] == ["id", "known", "predicted", "confidence"]
    known = found.table.dataset.labels >= 0
    assert {row[0] for row in rows} == set(map(str, found.table.ids[known]))
    assert all(sum(map(float, row[4:])) == pytest.approx(1, abs=0.001) for row in rows)


def test_no_word_of_the_page_needs_a_dictionary(page):
    page.open("#node=v20")
    assert "nats" not in page.one("body").text.split()
    assert "Its doubt is" in page.one("#panel").text


def test_on_paper_there_are_no_buttons_and_no_table_of_all_nodes(page):
    page.open()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.one("#table").is_displayed()
    assert page.one(".on-paper").is_displayed()
    assert not any(button.is_displayed() for button in page.all("main .download"))
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.run(wide) <= 1
    # Drawn for a window of 1,300 pixels, everything still fits on paper, whole.
    size = {"width": 700, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    outside = (
        "[...document.querySelectorAll('.chart svg, main table')]"
        ".filter(e => e.getClientRects().length && e.getBoundingClientRect().right > 701).length"
    )
    assert page.run(outside) == 0
    assert all("…" not in cell.text for cell in page.all("main td"))
    cut = (
        "[...document.querySelectorAll('td .line')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    )
    assert page.run(f"{cut}.filter(e => getComputedStyle(e).display !== 'inline').length") == 0
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
