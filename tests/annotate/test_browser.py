"""The labelling page in a real browser, with a server that is killed in between."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nodecopy.annotate import Session
from nodecopy.annotate.server import Served
from nodecopy.read.synthetic import planted_partition
from nodecopy.run import FitSettings
from tests.annotate.conftest import Tables, kept
from tests.browser import NEEDED, Page, browser
from tests.csv_files import read_csv, write_csv
from tests.waiting import LIMIT

pytestmark = NEEDED

LABELS = 32


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as started:
        yield started


@contextmanager
def serving(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run nodecopy label; yield the address it prints, and the program."""
    command = [sys.executable, "-m", "nodecopy", "label", *words, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            lines = iter(program.stdout.readline, "")
            yield (
                next(urls[0] for line in lines if (urls := re.findall(r"http://\S+", line))),
                program,
            )
        finally:
            program.kill()


class Screen(Page):
    """The labelling page, and the person before it."""

    def visit(self, url: str, width: int = 1300, scheme: str = "light") -> None:
        self.url = url
        self.open("", width, scheme)
        self.until(self.node)

    def node(self) -> str:
        return self.run("document.querySelector('#node bdi')?.textContent ?? ''")

    def text(self, selector: str) -> str:
        return self.run("document.querySelector(arguments[0]).textContent", selector)

    def classes(self) -> list[str]:
        return self.run("state.classes")

    def has(self, selector: str) -> bool:
        return bool(self.all(selector))

    def name_class(self, name: str, run: Path) -> None:
        """Press n, and name a class, which the node in question then has."""
        self.press("n")
        self.until(lambda: self.has("#naming[open]"))
        self.press(f"{name}\n")
        self.until(lambda: name in kept(run).values())
        self.until(lambda: not self.has("#naming[open]") and not self.run("sending"))

    def answer(self, key: str) -> str:
        """Press a key, wait for the next node, and return the one that was asked about."""
        asked = self.node()
        self.press(key)
        self.until(lambda: self.node() not in ("", asked))
        return asked

    def label(self, truth: dict[str, str]) -> dict[str, str]:
        """Label the node as it is in truth."""
        self.until(self.node)
        label = truth[self.node()]
        return {self.answer(self.run("KEYS")[self.classes().index(label)]): label}

    def check_quiet(self) -> None:
        """Check that no script failed, and that none ran that came as a name."""
        assert self.errors() == []
        assert self.run("window.alerted") == 0


@pytest.fixture
def screen(driver: Any) -> Screen:
    driver.get("about:blank")
    driver.get_log("browser")  # what others left
    return Screen(driver, "")


def test_nodes_are_labelled_by_keyboard_and_a_kill_loses_nothing(
    screen: Screen, tmp_path: Path
) -> None:
    data = planted_partition(1000, 3, seed=0)
    edges, words = data.graph.edges(), data.features.tocoo()
    tables = {
        "edges": {"source": edges[:, 0], "target": edges[:, 1]},
        "nodes": {"id": words.row, "feature": words.col, "value": words.data},
    }
    for name, columns in tables.items():
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
    files = [f"--{name}={tmp_path / name}.parquet" for name in tables]
    truth = {str(n): data.class_names[k] for n, k in enumerate(data.labels)}
    names, run, given = sorted({*truth.values()}), tmp_path / "run", {}
    with serving(*files, f"--classes={','.join(names)}", f"--out={run}") as both:
        url, program = both
        screen.visit(url)
        for _ in range(20):
            given |= screen.label(truth)
        assert kept(run) == given
        skipped = screen.answer("s")
        untold = screen.answer("c")
        given |= screen.label(truth)
        taken = list(given)[-1]
        screen.press("u")
        screen.until(lambda: screen.node() == taken)
        assert kept(run) == {id: label for id, label in given.items() if id != taken}
        given |= screen.label(truth)
        screen.visit(url)  # a reload
        assert screen.node() not in {skipped, untold}
        screen.check_quiet()
        given |= screen.label(truth)
        os.kill(program.pid, signal.SIGKILL)
        program.wait(LIMIT)
        screen.press("1")
        screen.until(lambda: "Perhaps not saved" in screen.text("#message"))
        screen.until(lambda: "does not answer" in screen.text("#alerts"))
    assert kept(run) == given
    with serving(str(run)) as (url, program):
        screen.visit(url)
        screen.errors()  # the page that was left has no server
        assert screen.classes() == names
        assert screen.node() not in {skipped, untold}
        while len(given) < LABELS:  # some answers are about a label that is probably wrong
            given |= screen.label(truth)
        assert kept(run) == given
        screen.until(lambda: screen.run("state.history.at(-1)?.[0]") == LABELS)
        screen.until(lambda: screen.has("#history-chart svg"))
        fold = "document.querySelector('#neighbourhood').getBoundingClientRect().bottom"
        screen.until(lambda: screen.has("#neighbourhood svg") and screen.run(fold) < 900)
        screen.driver.find_element("id", "finish").click()
        screen.until(lambda: "holds predictions" in screen.text("#finished"))
        screen.check_quiet()
        program.send_signal(signal.SIGINT)
        assert program.wait(LIMIT) == 0  # the results are there already
    rows = read_csv(run / "predictions.csv")
    assert {row["id"]: row["known"] for row in rows if row["known"]} == given == kept(run)


def test_from_nothing_with_25_classes_and_columns_in_sight(screen: Screen, tmp_path: Path) -> None:
    data = planted_partition(150, 3, seed=0)
    write_csv(tmp_path / "edges.csv", "source,target", data.graph.edges().tolist())
    rows = [[n, k, f"a longer text about node {n}", n % 7] for n, k in enumerate(data.labels)]
    write_csv(tmp_path / "nodes.csv", "id,group,about,week", rows)
    names = [f"Diabetes Mellitus, Type {n}" for n in range(1, 26)]
    truth = {str(n): names[(9 + n) % 25] for n in range(150)}
    run, given = tmp_path / "run", {}
    files = {name: str(tmp_path / f"{name}.csv") for name in ("edges", "nodes")}
    with labelling(run, FitSettings(**files, method="fast", text_model="none")) as url:
        screen.visit(url)
        assert screen.classes() == []
        screen.until(lambda: "no prediction yet" in screen.text("#neighbours"))
        assert "0.0%" not in screen.text("#neighbours")
        first = screen.node()
        screen.name_class(names[0], run)
        given[first] = names[0]
        screen.run("Promise.all(arguments[0].map((name) => post('class', { name })))", names[1:])
        screen.until(lambda: len(screen.classes()) == 25)
        given |= screen.label(dict.fromkeys(truth, "Diabetes Mellitus, Type 25"))
        for _ in range(4):
            given |= screen.label(truth)
        size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        screen.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        bottom = "document.querySelector(arguments[0]).getBoundingClientRect().bottom"
        assert screen.run(bottom, "#columns") < screen.run(bottom, "#choices") < 900
        order = "[...document.querySelectorAll('#choices .name')].map((e) => e.textContent)"
        assert screen.run(order) == screen.classes()
        screen.visit(url)
        given |= screen.label(truth)
        screen.until(lambda: "not yet" in screen.text("#facts"))
        assert "nodes drawn at random" in screen.text("#facts")
        screen.check_quiet()
    assert kept(run) == given
    chosen = [row["chosen"] for row in read_csv(run / "labels.csv")]
    assert chosen[:4] == ["suggested"] * 3 + ["random"]


def marked_tags(screen: Screen) -> list[str]:
    """Return the names of the tags that are marked."""
    script = (
        "[...document.querySelectorAll('#choices [aria-pressed=true] .name')].map(e => e.title)"
    )
    return screen.run(script)


def test_tags_are_marked_kept_and_named_by_keyboard(
    screen: Screen, tables: Tables, tmp_path: Path
) -> None:
    of = {"ash": "tall|wood", "beech": "wood", "cedar": "[]"}
    rows = [[id, of[name] if n % 2 else ""] for n, (id, name) in enumerate(tables.truth.items())]
    write_csv(tmp_path / "kinds.csv", "id,label", [row for row in rows if row[1]])
    files = ["--edges", "--nodes", "--labels"]
    names = ["edges.csv", "features.csv", "kinds.csv"]
    words = [f"{key}={tmp_path / name}" for key, name in zip(files, names, strict=True)]
    run = tables.run
    with serving(*words, f"--out={run}", "--method=fast", "--target=tags") as (url, program):
        screen.visit(url)
        screen.until(lambda: screen.run("state.fitted && !isBehind()"))
        assert screen.all("[data-of]:not([data-of*=tags])") == []  # what is for classes is absent
        screen.until(lambda: screen.run("current.view.guesses.length") is not None)
        names = screen.run("current.view.guesses.map((k) => state.classes[k])")
        screen.run("takeView({ ...current.view, guesses: [1, 2, 3] }, current.why)")  # a new fit
        assert screen.run("current.view.guesses.map((k) => state.classes[k])") == names
        assert marked_tags(screen) == names
        dashed = "document.querySelectorAll('#choices .guess').length"
        assert screen.run(dashed) == len(names)
        first = screen.node()
        toggled = {*names} ^ {"tall"}
        screen.press("1")  # tall, or not
        assert {*marked_tags(screen)} == toggled
        screen.run("update()")  # a new fit leaves what was marked
        assert {*marked_tags(screen)} == toggled
        given = {first: "|".join(sorted(toggled)) or "[]"}
        assert screen.answer("\n") == first
        given[screen.answer("0")] = "[]"
        assert given.items() <= kept(run).items()
        taken = list(given)[-1]
        screen.press("u")
        screen.until(lambda: screen.node() == taken)
        assert taken not in kept(run)
        screen.press("n")
        screen.until(lambda: screen.has("#naming[open]"))
        screen.press("gl|ass\n")
        screen.until(lambda: "gl|ass" in marked_tags(screen))
        screen.answer("\n")
        given[taken] = kept(run)[taken]
        assert "gl\\|ass" in given[taken]
        skipped = screen.answer("s")
        assert skipped not in kept(run)
        asked, before = screen.node(), kept(run)
        screen.until(lambda: screen.run("graphMap !== null && !sending"))
        screen.driver.execute_script("document.querySelector('#map [tabindex]').focus()")
        screen.press("0", "\n")  # the map has these keys, too
        screen.run("update()")
        assert kept(run) == before
        screen.run("ask(arguments[0], '')", asked)
        screen.until(lambda: "micro F1" in screen.text("#facts"))
        screen.check_quiet()
        os.kill(program.pid, signal.SIGKILL)
        program.wait(LIMIT)
        screen.press("0")
        screen.until(lambda: "Perhaps not saved" in screen.text("#message"))
    assert given.items() <= kept(run).items()
    with serving(str(run)) as (url, program):
        screen.visit(url)
        screen.errors()  # the page that was left has no server
        assert screen.classes() == ["no tag", "tall", "wood", "gl|ass"]
        screen.press("/")
        screen.press(first)
        screen.until(lambda: len(screen.all("#matches button")) == 1)
        screen.press("\n")
        screen.until(lambda: screen.node() == first)
        screen.until(lambda: {*marked_tags(screen)} == toggled)
        assert screen.run(dashed) == 0
        screen.until(lambda: screen.run("!isBehind()"))
        screen.driver.find_element("id", "finish").click()
        screen.until(lambda: "holds predictions" in screen.text("#finished"))
        screen.check_quiet()
    known = {row["id"]: row["known"] for row in read_csv(run / "predictions.csv") if row["known"]}
    assert known == kept(run)


def test_numbers_are_typed_and_what_is_typed_stays(screen: Screen, tables: Tables) -> None:
    sizes = {id: f"{n}.5" for n, id in enumerate(tables.truth)}
    write_csv(tables.folder / "sizes.csv", "id,label", list(sizes.items())[:40])
    with labelling(tables.run, tables.settings("sizes.csv", target="number")) as url:
        screen.visit(url)
        screen.until(lambda: screen.run("state.fitted && !isBehind()"))
        assert screen.all("[data-of]:not([data-of*=number])") == []
        screen.until(lambda: "Predicted" in screen.text("#choices"))
        asked = screen.node()
        screen.press("n")  # there is no class to name
        screen.press("1")
        screen.press("2")
        value = "document.querySelector('#number').value"
        assert screen.run(value) == "12"
        screen.run("update()")
        screen.run("takeView({ ...current.view, columns: [] }, current.why)")  # a new fit
        screen.press(",5")
        assert screen.run(value) == "12,5"
        screen.press("\n")
        screen.until(lambda: screen.node() not in ("", asked))
        assert kept(tables.run)[asked] == "12.5"
        assert screen.run(value) == ""
        screen.press("7")
        screen.press("x\n")
        screen.until(lambda: "number is needed" in screen.text("#message"))
        assert len(kept(tables.run)) == 41
        screen.driver.find_element("id", "node").click()
        screen.driver.execute_script("document.activeElement.blur()")
        screen.press("u")
        screen.until(lambda: screen.node() == asked)
        assert asked not in kept(tables.run)
        errors = [line for line in screen.errors() if "409" not in line["message"]]
        assert errors == []  # the number that was refused is on the console


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "{{7*7}} ${alert(1)}",
    "'; alert(1); //",
    "a\nb\tc",
    "\u202egnirts",
    '=1+1,"x"',
]


@pytest.fixture
def hostile(tmp_path: Path) -> FitSettings:
    """Two rings of eight, all names of which would like to be something else."""
    ids = [f"{name}{ring}" for ring in "ab" for name in HOSTILE]
    pairs = [(r + k, r + (k + s) % 8) for r in (0, 8) for k in range(8) for s in (1, 2)]
    write_csv(tmp_path / "edges.csv", "source,target", [[ids[u], ids[v]] for u, v in pairs])
    rows = [[id, f"<b onclick=alert(1)>{id}</b>", n % 3, n // 8] for n, id in enumerate(ids)]
    write_csv(tmp_path / "features.csv", "id,<i>title</i>,x,y", rows)
    given = [[ids[0], HOSTILE[1]], [ids[1], HOSTILE[1]], [ids[8], HOSTILE[0]], [ids[9], HOSTILE[0]]]
    write_csv(tmp_path / "labels.csv", "id,label", given)
    files = [str(tmp_path / f"{name}.csv") for name in ("edges", "labels", "features")]
    return FitSettings(*files, column_types=("<i>title</i>=text",), method="fast")


@contextmanager
def labelling(run: Path, settings: FitSettings) -> Iterator[str]:
    """Serve a page from this process; yield its address."""
    with closing(Session(run, settings)) as session, Served(session) as served:
        yield served.url


def test_names_stay_text_a_class_is_named_and_a_node_is_searched(
    screen: Screen, hostile: FitSettings, tmp_path: Path
) -> None:
    with labelling(tmp_path / "run", hostile) as url:
        screen.visit(url)
        screen.until(lambda: screen.run("!isBehind() && state.fitted"))
        assert sorted(screen.classes()) == sorted(HOSTILE[:2])
        screen.until(lambda: "<b onclick" in screen.text("#columns"))
        assert "<i>title</i>" in screen.text("#columns")
        screen.name_class("<u>new</u>", tmp_path / "run")
        screen.press("/")
        screen.press("img")
        screen.until(lambda: len(screen.all("#matches button")) == 2)
        screen.press("\n")
        screen.until(lambda: screen.node().startswith('"><img'))
        screen.until(lambda: screen.has("#neighbourhood svg"))
        inside = "document.querySelectorAll('#page :is(img, script, b, u, i:not(.track i))').length"
        assert screen.run(inside) == 0
        screen.check_quiet()


def test_the_map_follows_the_question_and_the_fit(screen: Screen, tables: Tables) -> None:
    selected = "[...fetched.places.keys()][graphMap.view.node]"
    with labelling(tables.run, tables.settings("given.csv")) as url:
        screen.visit(url)
        screen.until(lambda: screen.run("state.fitted && graphMap !== null && !isBehind()"))
        screen.until(lambda: screen.run(selected) == screen.node())
        positions = screen.run("fetched.positions")
        asked = screen.answer("1")
        mark = "graphMap.view.graph.getNodeAttribute(fetched.places.get(arguments[0]), 'mark')"
        screen.until(lambda: screen.run(mark, asked) in (1, 2))
        assert screen.run("graphMap.source.predicted.length") == 90
        assert screen.run("fetched.positions") == positions
        assert screen.run(selected) == screen.node()
        screen.check_quiet()


PROTO = "__proto__", "constructor", "\u0915\u094d\u200d\u0937"
MESH = "Diabetes Mellitus, Experimental", "Diabetes Mellitus Type 1", "Diabetes Mellitus Type 2"


@pytest.mark.parametrize(
    "names",
    [("category A", "category B"), tuple(map(str, range(1, 11))), ("no", "not sure"), MESH, PROTO],
    ids=["category", "numbers", "no", "pubmed", "proto"],
)
def test_class_names_that_begin_alike_are_shown_whole(
    screen: Screen, hostile: FitSettings, tmp_path: Path, names: tuple[str, ...]
) -> None:
    write_csv(
        tmp_path / "names.csv", "id,label", [[f"{HOSTILE[0]}{ring}", names[0]] for ring in "ab"]
    )
    settings = replace(hostile, labels=str(tmp_path / "names.csv"))
    with labelling(tmp_path / "run", settings) as url:
        screen.visit(url, 390)
        for name in names[1:]:
            screen.name_class(name, tmp_path / "run")
        choices = "[...document.querySelectorAll('#choices .name')].map(e => e.textContent)"
        # Of more than nine, the most probable come first.
        screen.until(lambda: sorted(screen.run(choices)) == sorted(names))
        cut = "[...document.querySelectorAll('#choices .name *')].filter("
        assert screen.run(cut + "e => e.scrollWidth > e.clientWidth + 1).length") == 0
        screen.until(lambda: screen.has("#neighbourhood svg"))
        screen.check_quiet()


# Each is the name of nodes; no font need have all of them.
SCRIPTS = "Ελληνικό όνομα", "اسم عربي", "🎉👩‍👩‍👧", "n" * 300


def test_two_hundred_classes_and_names_in_any_script_stay_in_their_places(
    screen: Screen, tmp_path: Path
) -> None:
    """On a desk and on a phone: nothing is wider than the screen, or far too high."""
    classes = [f"{SCRIPTS[k % 3]} {k}" for k in range(199)] + ["x" * 300]
    ring = [[f"i{n}", f"i{(n + 200) % 400}"] for n in range(400)] + [["i0", "i1"], ["i1", "i2"]]
    write_csv(tmp_path / "edges.csv", "source,target", ring)
    rows = [[f"i{n}", f"{SCRIPTS[n % 4]}{n}", n % 200] for n in range(400)]
    write_csv(tmp_path / "nodes.csv", "id,name,x", rows)
    labels = [[f"i{n}", classes[n % 200]] for n in range(300)]
    write_csv(tmp_path / "labels.csv", "id,label", labels)
    files = {name: str(tmp_path / f"{name}.csv") for name in ("edges", "nodes", "labels")}
    settings = FitSettings(**files, method="fast")
    too_wide = "document.documentElement.scrollWidth > innerWidth"
    highest = "Math.max(...[...document.querySelectorAll(arguments[0])].map(e => e.offsetHeight))"
    with labelling(tmp_path / "run", settings) as url:
        for width in (1280, 390):
            screen.visit(url, width)
            screen.until(lambda: screen.run("!isBehind() && state.fitted"))
            screen.until(lambda: len(screen.all("#choices button")) == 200)
            assert not screen.run(too_wide)
            assert screen.run(highest, "#choices") < 700
            assert screen.run(highest, "#choices button") < 150
            p = screen.run("current.view.probabilities")
            first = screen.run("document.querySelector('#choices .name').title")
            assert first == screen.classes()[p.index(max(p))]
            screen.check_quiet()
        screen.driver.get("about:blank")  # before the server stops
