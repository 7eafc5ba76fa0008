"""A session: from no label to a folder, with fits in the background."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from nodecopy.annotate import Session
from nodecopy.annotate.kinds import KINDS
from nodecopy.annotate.refit import Fit, Labels, Refitter
from nodecopy.core.errors import InputError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.report import report_page
from nodecopy.run import Run, label_tables, read_settings, write_folder
from tests.annotate.conftest import CLASSES, Tables
from tests.csv_files import read_csv, write_csv
from tests.waiting import LIMIT, wait_until

Opened = Callable[..., Session]


def settled(session: Session) -> dict:
    """Wait until the fits have caught up with the labels, and return what the page shows."""
    assert wait_until(
        lambda: not (s := session.state())["busy"] and s["fittedVersion"] == s["version"]
    )
    return session.state()


def answer(session: Session, tables: Tables, count: int) -> list[str]:
    asked = []
    for _ in range(count):
        assert wait_until(lambda: session.next_nodes() != [])
        (id,) = session.next_nodes(1)
        session.label(id, tables.truth[id], None)
        asked.append(id)
    return asked


def write_run(run: Run, tables: Tables) -> None:
    write_folder(run, tables.run, lambda: report_page(run.result, run.source))


def test_from_no_label_to_the_folder_that_a_fit_writes(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings(), classes=CLASSES)
    first = settled(session)
    assert (first["fitted"], first["labels"], first["history"]) == (False, 0, [])
    assert len(first["next"]) == 3
    assert session.view(first["next"][0])["probabilities"] is None
    with pytest.raises(InputError, match="no node has the id 'x'"):
        session.view("x")
    asked = answer(session, tables, 12)
    assert len(set(asked)) == 12
    state = settled(session)
    assert state["fitted"]
    assert state["counts"] == [list(tables.labels().values()).count(name) for name in CLASSES]
    assert state["history"][-1][0] == 12
    assert session.finish().startswith(f"{tables.run} holds predictions")
    written = (tables.run / "predictions.csv").read_bytes()
    assert tables.labels() == {id: tables.truth[id] for id in asked}
    answer(session, tables, 1)  # and on it goes
    assert len(tables.labels()) == 13
    session.undo()
    settings = read_settings(tables.run / "config.toml")
    assert Path(settings.labels) == tables.run / "labels.csv"
    session.close()
    write_run(label_tables(settings, False), tables)
    assert (tables.run / "predictions.csv").read_bytes() == written
    assert len(tables.labels()) == 12  # a fit leaves the labels where they are
    assert (tables.run / "answers.sqlite").is_file()


def test_what_is_computed_is_said_and_how_long_it_takes(tables: Tables) -> None:
    told: list[str] = []

    class Watched(Session):
        doing = property(lambda _: told[-1], lambda _, text: told.append(text))

    with closing(Watched(tables.run, tables.settings("given.csv"))) as session:
        assert wait_until(lambda: session.state()["fitted"])
        assert re.fullmatch(r"fitting: \d+% in 0:00:\d\d(, about 0:00:\d\d left)?", told[1])
        assert session.state()["doing"] == ""
        told.clear()
        session.finish()
    names = [name for name, _ in groupby(text.partition(":")[0] for text in told)]
    assert names[:3] == ["fitting", "next labels", "suspect edges"]
    assert names[-3:] == ["explanations", "report", ""]


def test_one_class_is_too_few_to_finish_and_that_is_said(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings(), classes=CLASSES)
    session.label("p00", "ash", None)
    assert not settled(session)["fitted"]
    with pytest.raises(InputError, match="at least two classes are needed"):
        session.finish()
    assert session.state()["finish"]["state"] == "failed"
    assert str(session.answers.database) in session.state()["finish"]["message"]
    assert tables.labels() == {"p00": "ash"}


def test_settings_stay_those_of_the_results_until_both_are_written(
    tables: Tables, opened: Opened
) -> None:
    write_run(label_tables(tables.settings("given.csv"), False), tables)
    held = {file: file.read_bytes() for file in tables.run.iterdir() if file.is_file()}
    session = opened()
    (id,) = answer(session, tables, 1)
    session.close()
    assert {file: file.read_bytes() for file in held} == held
    file = tables.run / "labels.csv"
    later = opened()
    assert later.answers.labels[id] == tables.truth[id]
    answer(later, tables, 1)
    assert later.unwritten
    later.finish()
    assert not later.unwritten
    assert Path(read_settings(tables.run / "config.toml").labels) == file


def test_labels_of_a_column_become_answers_and_it_stays_no_feature(
    tables: Tables, opened: Opened
) -> None:
    given = {row["id"]: row["label"] for row in read_csv(tables.folder / "given.csv")}
    number = {name: k for k, name in enumerate(CLASSES)}
    rows = [
        [*row.values(), given.get(row["id"], ""), number[tables.truth[row["id"]]]]
        for row in read_csv(tables.folder / "features.csv")
    ]
    write_csv(tables.folder / "nodes.csv", "id,reads,age,tree,code", rows)
    column = {"nodes": str(tables.folder / "nodes.csv"), "labels": None, "predict": "tree"}
    session = opened(replace(tables.settings(), **column))
    assert settled(session)["fitted"]
    assert tables.labels() == given
    assert [*session.table.encoder.types] == ["reads", "age"]
    (id,) = answer(session, tables, 1)
    session.finish()
    session.close()
    again = opened()
    assert [*again.table.encoder.types] == ["reads", "age"]
    assert again.answers.labels == given | {id: tables.truth[id]}
    settings = read_settings(tables.run / "config.toml")
    assert (settings.predict, Path(settings.labels).name) == (None, "labels.csv")


def test_a_node_is_shown_with_what_is_known_of_it(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings("given.csv"))
    settled(session)
    view = session.view("p00")
    rows = dict(line.split(",", 1) for line in (tables.folder / "features.csv").read_text().split())
    reads, age = rows["p00"].split(",")
    assert view["columns"] == [("reads", reads), ("age", age)]
    assert view["label"] == "ash"
    assert sum(view["probabilities"]) == pytest.approx(1, abs=0.001)
    why, best = view["why"], sorted(view["probabilities"])[::-1]
    assert why["label"] == view["probabilities"].index(best[0])
    assert sum(bar[3] for bar in why["bars"]) == pytest.approx(np.log(best[0] / best[1]), abs=0.05)
    near = view["around"]
    neighbours = {piece[0] for bar in why["bars"] if bar[0] == "neighbour" for piece in bar[4]}
    assert neighbours
    assert neighbours <= set(near["targets"][: near["offsets"][1]])
    assert near["ids"][0] == "p00"
    degree = near["offsets"][1]
    assert degree == near["degree"][0] > 0
    edges = {
        frozenset(line.split(",")) for line in (tables.folder / "edges.csv").read_text().split()
    }
    assert all({"p00", near["ids"][at]} in edges for at in near["targets"][:degree])
    assert session.search("P0")[:2] == [("p00", "p00"), ("p01", "p01")]
    assert session.search(" ") == []


def test_nodes_of_files_of_ids_alone_are_shown(tables: Tables, opened: Opened) -> None:
    ids = tables.folder / "ids.csv"
    ids.write_text("".join(f"{name}\n" for name in ("id", *tables.truth)), encoding="utf-8")
    session = opened(replace(tables.settings("given.csv"), nodes=(str(ids),)))
    settled(session)
    assert session.view("p00")["columns"] == []


def test_nodes_of_a_sheet_are_shown(tables: Tables, opened: Opened) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "People"
    for row in (["id", "words"], *([name, f"word {name}"] for name in tables.truth)):
        book.active.append(row)
    book.save(tables.folder / "book.xlsx")
    sheet = f"{tables.folder / 'book.xlsx'}#People"
    session = opened(replace(tables.settings("given.csv"), nodes=(sheet,)))
    settled(session)
    assert session.view("p00")["columns"] == [("words", "word p00")]


def test_when_all_suggestions_are_put_aside_there_are_new_ones(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    settled(session)
    aside = session.next_nodes(100)
    for id in aside:
        session.put_aside(id, "cannot tell")
    assert wait_until(lambda: session.next_nodes() != [])
    assert not set(session.next_nodes(100)) & set(aside)


def test_a_fault_of_a_fit_is_shown_and_the_next_fit_is_made(
    tables: Tables, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = KeyError("p99")
    with monkeypatch.context() as broken:
        broken.setattr(NodeCopyClassifier, "suggest", raising(fault))
        session = opened(tables.settings("given.csv"))
        assert "no fit: 'p99'" in settled(session)["problem"]
    answer(session, tables, 1)
    assert settled(session)["problem"] == ""


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_shares_of_the_classes_count_once_each_has_a_label(tables: Tables, opened: Opened) -> None:
    shares = {name: 1 / len(CLASSES) for name in CLASSES}
    prior = ",".join(f"{name}={share}" for name, share in shares.items())
    session = opened(tables.settings(class_prior=prior), classes=CLASSES)
    for count, name in enumerate(CLASSES, 1):
        session.label(next(id for id, own in tables.truth.items() if own == name), name, None)
        state = settled(session)
        assert state["fitted"] == (count > 1)
        assert not state["problem"]


def test_two_pages_do_not_overwrite_each_other(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings("given.csv"))
    (id,) = settled(session)["next"][:1]
    session.label(id, "ash", None)
    session.label(id, "ash", None)  # the same answer twice is one answer
    with pytest.raises(InputError, match="was labelled 'ash' meanwhile"):
        session.label(id, "beech", None)
    session.label(id, "beech", "ash")
    assert tables.labels()[id] == "beech"


def test_labels_are_edited_by_naming_a_file_which_says_what_changed(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    session.label("p50", "ash", None)
    session.close()
    file = tables.run / "labels.csv"
    rows = file.read_text().replace("p50,ash", "p50,dogwood").splitlines()
    file.write_text("\n".join([*rows[:1], *rows[2:], "p51,ash"]) + "\n")
    edited = opened(labels=[str(file)])
    (line,) = [note for note in edited.notes if "added" in note]
    assert "1 label added, 1 changed; 1 of these" in line
    assert edited.answers.labels | {"p50": "dogwood", "p51": "ash"} == edited.answers.labels
    assert rows[1].split(",")[0] in tables.labels()  # a label that the file lacks stays
    assert edited.state()["classes"] == [*CLASSES, "dogwood"]
    edited.close()
    for bad, word in [("nobody,ash\n", "nobody"), ("", "no rows")]:
        (tables.folder / "bad.csv").write_text(f"id,label\n{bad}")
        with pytest.raises(InputError, match=word):
            opened(labels=[str(tables.folder / "bad.csv")])
    assert opened().answers.labels == edited.answers.labels


def test_labels_of_nodes_that_have_gone_from_the_tables_are_kept(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    session.label("p50", "ash", None)
    session.put_aside("p51", "cannot tell")
    session.close()
    for name in ("edges.csv", "features.csv"):
        rows = (tables.folder / name).read_text().splitlines()
        left = [row for row in rows if not {"p50", "p51"} & {*row.split(",")}]
        (tables.folder / name).write_text("\n".join(left))
    later = opened()
    assert settled(later)["fitted"]
    assert any("1 label of nodes" in note for note in later.notes)
    later.finish()
    assert later.view("p00")["label"] == "ash"
    assert tables.labels()["p50"] == "ash"


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_labels_are_kept_in_utf_8_whatever_the_tables_are(
    tables: Tables, opened: Opened, encoding: str
) -> None:
    for name in ("edges.csv", "features.csv", "given.csv"):
        file = tables.folder / name
        file.write_text(file.read_text().replace("p0", "ö0"), encoding=encoding)
    session = opened(tables.settings("given.csv", encoding=encoding))
    session.label("ö00", session.add_class("Gebüsch"), session.answers.labels["ö00"])
    file = tables.run / "labels.csv"
    assert "ö00,Gebüsch" in file.read_text(encoding="utf-8-sig")
    session.label("p50", "ash", None)
    assert session.state()["problem"] == ""
    assert {"ö00,Gebüsch", "p50,ash"} <= {*file.read_text(encoding="utf-8-sig").splitlines()}
    session.finish()
    session.close()
    file.write_text(file.read_text(encoding="utf-8-sig"), encoding="utf-16")  # by an editor
    edited = opened(labels=[str(file)])
    assert edited.answers.labels["ö00"] == "Gebüsch"
    edited.close()
    again = label_tables(read_settings(tables.run / "config.toml"), False)
    assert "Gebüsch" in again.result.given.class_names


def test_suspect_labels_are_confirmed_or_changed(tables: Tables, opened: Opened) -> None:
    rows = (tables.folder / "given.csv").read_text().splitlines()
    wrong = rows[1].split(",")[0]
    more = [f"{id},{label}" for id, label in list(tables.truth.items())[30:60]]
    (tables.folder / "given.csv").write_text(
        "\n".join([rows[0], f"{wrong},cedar", *rows[2:], *more])
    )
    session = opened(tables.settings("given.csv"))
    suspects = settled(session)["suspects"]
    assert [wrong, wrong, "cedar"] in [row[:3] for row in suspects]
    session.put_aside(wrong, "confirm")
    assert wrong not in [row[0] for row in session.state()["suspects"]]
    session.undo()
    assert wrong in [row[0] for row in session.state()["suspects"]]
    session.label(wrong, "ash", "cedar")
    assert wrong not in [row[0] for row in session.state()["suspects"]]


def test_an_estimate_that_cannot_be_stored_is_said_and_fits_go_on(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    settled(session)
    session.answers._db.execute("PRAGMA query_only = ON")
    session._refit()
    session.answers.estimates.clear()
    assert wait_until(lambda: "not kept" in session.state()["problem"])
    session.answers._db.execute("PRAGMA query_only = OFF")
    answer(session, tables, 1)
    assert settled(session)["problem"] == ""


@pytest.mark.parametrize("stands_inside", [True, False])
def test_finish_writes_file_by_file_wherever_one_stands(
    tables: Tables, opened: Opened, stands_inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.run.mkdir()
    identity = tables.run.stat().st_ino
    monkeypatch.chdir(tables.run if stands_inside else tables.folder)
    session = Session("." if stands_inside else "run", tables.settings("given.csv"))
    with closing(session):
        session.finish()
        session.label("p50", "ash", None)
        session.finish()
        assert tables.run.stat().st_ino == identity
        assert tables.labels()["p50"] == "ash"
        rows = read_csv(tables.run / "predictions.csv")
        assert {row["id"]: row["known"] for row in rows}["p50"] == "ash"


def make_labels(version: int, count: int = 9) -> Labels:
    classes = np.full(90, -1)
    classes[:count] = np.arange(count) % 3
    return Labels(version, classes, np.zeros(0, np.int64))


def test_only_the_newest_labels_are_fitted(tables: Tables, opened: Opened) -> None:
    table = opened(tables.settings()).table
    published, go_on, fits = threading.Event(), threading.Event(), []

    def publish(fit: Fit) -> None:
        fits.append(fit)
        published.set()
        assert go_on.wait(LIMIT)

    refitter = Refitter(tables.settings(), KINDS["class"], table, publish)
    refitter.ask(make_labels(1))
    assert published.wait(LIMIT)
    for version in (2, 3, 4):
        refitter.ask(make_labels(version, 9 + version))
    go_on.set()
    assert wait_until(lambda: len(fits) == 2 and not refitter.busy)
    refitter.stop()
    assert [fit.labels.version for fit in fits] == [1, 4]


def test_the_map_keeps_its_places_and_the_labelled_nodes_of_a_large_graph(
    tables: Tables, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodecopy.annotate.node_view.MAX_NODES", 30)
    session = opened(tables.settings(), classes=CLASSES)
    settled(session)
    before = session.map()
    assert (len(before["ids"]), before["total"]) == (30, 90)
    assert set(before["predicted"]) == {-1}
    asked = answer(session, tables, 12)
    settled(session)
    first = session.map()
    assert {*asked} <= {*first["ids"]}
    known = {id: k for id, k in zip(first["ids"], first["known"], strict=True) if k >= 0}
    assert known == {id: CLASSES.index(tables.truth[id]) for id in asked}
    assert set(first["predicted"]) <= {0, 1, 2}
    answer(session, tables, 1)
    settled(session)
    assert session.map()["positions"] == first["positions"] != before["positions"]
