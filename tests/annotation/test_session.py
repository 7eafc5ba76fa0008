"""A session: from no label to a folder, with fits in the background."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nodecopy.annotation import Session, fits
from nodecopy.annotation.fits import Fitter, Labels, Refitter, class_order
from nodecopy.errors import InputError
from nodecopy.labelling import label_tables, read_settings
from nodecopy.report.labelled import write_folder
from tests.annotation.conftest import CLASSES, Tables
from tests.waiting import wait_until

Opened = Callable[..., Session]


def settled(session: Session) -> dict:
    """Wait until the fits have caught up with the labels, and return what the page shows."""
    assert wait_until(lambda: not (s := session.state())["busy"] and s["behind"] == 0)
    return session.state()


def answer(session: Session, tables: Tables, count: int) -> list[str]:
    asked = []
    for _ in range(count):
        assert wait_until(lambda: session.next_nodes() != [])
        (id,) = session.next_nodes(1)
        session.label(id, tables.truth[id], None)
        asked.append(id)
    return asked


def test_from_no_label_to_the_folder_that_a_fit_writes(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings(), classes=CLASSES)
    first = settled(session)
    assert (first["fit"], first["labels"], first["history"]) == ("none", 0, [])
    assert len(first["next"]) == 3
    assert session.view(first["next"][0])["probabilities"] is None
    with pytest.raises(InputError, match="no node has the id 'x'"):
        session.view("x")
    asked = answer(session, tables, 12)
    assert len(set(asked)) == 12
    state = settled(session)
    assert state["fit"] == "full"
    assert state["counts"] == [list(tables.labels().values()).count(name) for name in CLASSES]
    assert state["history"][-1][0] == 12
    assert 0 < state["sure"] <= 78
    assert sum(state["expected"]) == pytest.approx(1, abs=0.01)
    assert session.finish().startswith(f"{tables.run} holds predictions")
    written = (tables.run / "predictions.csv").read_bytes()
    assert tables.labels() == {id: tables.truth[id] for id in asked}
    answer(session, tables, 1)  # and on it goes
    assert len(tables.labels()) == 13
    assert session.undo() is not None
    settings = read_settings(tables.run / "config.toml")
    assert Path(settings.labels) == tables.run / "labels.csv"
    session.close()
    write_folder(label_tables(settings, False), tables.run)
    assert (tables.run / "predictions.csv").read_bytes() == written
    assert len(tables.labels()) == 12  # a fit leaves the labels where they are
    assert (tables.run / "answers.jsonl").is_file()


def test_one_class_is_too_few_to_finish_and_that_is_said(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings(), classes=CLASSES)
    session.label("p00", "ash", None)
    assert settled(session)["fit"] == "none"
    with pytest.raises(InputError, match="at least two classes are needed"):
        session.finish()
    assert session.state()["finish"]["state"] == "failed"
    assert "The labels are kept" in session.state()["finish"]["message"]
    assert tables.labels() == {"p00": "ash"}


def test_labels_given_elsewhere_are_taken_over_and_a_new_session_goes_on(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    state = settled(session)
    assert (state["labels"], state["classes"]) == (9, list(CLASSES))
    answer(session, tables, 2)
    curve = settled(session)["history"]
    session.close()
    later = opened()
    state = settled(later)
    assert state["labels"] == 11
    assert state["history"] == curve  # the same labels give the same estimate: noted once


def test_settings_stay_those_of_the_results_until_both_are_written(
    tables: Tables, opened: Opened
) -> None:
    write_folder(label_tables(tables.settings("given.csv"), False), tables.run)
    held = {file: file.read_bytes() for file in tables.run.iterdir() if file.is_file()}
    session = opened()
    (id,) = answer(session, tables, 1)
    session.close()
    assert {file: file.read_bytes() for file in held} == held
    # What was taken over is not taken over again: a row that somebody deletes stays away.
    file = tables.run / "labels.csv"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([first, *rest[1:]]))
    later = opened()
    assert list(tables.labels()) == [row.split(",")[0] for row in rest[1:]]
    assert id in tables.labels()
    said = later.finish()
    assert Path(read_settings(tables.run / "config.toml").labels) == file
    # One label was deleted and one was added: as many as before.
    assert said == f"{tables.run} holds predictions, report, model and settings."


def test_what_new_labels_changed_is_said_with_why(tables: Tables, opened: Opened) -> None:
    write_folder(label_tables(tables.settings("given.csv"), False), tables.run)
    session = opened()
    answer(session, tables, 2)
    said = session.finish()
    estimate = json.loads((tables.run / "summary.json").read_text())["estimated_accuracy"]
    assert "since the last fit, with 2 labels more: estimated accuracy " in said
    assert f" → {estimate['accuracy']:.0%}, contradicted labels " in said
    assert "suggested nodes are harder than random ones, so it may go down as well as up" in said


def test_writing_shows_how_far_it_is(
    tables: Tables, opened: Opened, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("nodecopy.estimator.progress._PAUSE", 0.0)
    session = opened(tables.settings("given.csv"))
    settled(session)
    assert session.unwritten
    session.finish(progress=True)
    assert not session.unwritten
    lines = capsys.readouterr().err.splitlines()
    titles = [line.partition(":")[0] for line in lines]
    choosing = "choosing nodes and edges to look at"
    assert list(dict.fromkeys(titles)) == ["fitting", choosing, "writing"]
    answer(session, tables, 1)
    assert session.unwritten


def test_a_node_is_shown_with_what_is_known_of_it(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings("given.csv"))
    settled(session)
    view = session.view("p00")
    rows = dict(line.split(",", 1) for line in (tables.folder / "features.csv").read_text().split())
    reads, age = rows["p00"].split(",")
    assert view["columns"] == [("reads", reads), ("age", age)]
    assert view["label"] == "ash"
    assert sum(view["probabilities"]) == pytest.approx(1, abs=0.001)
    near = view["around"]
    assert near["ids"][0] == "p00"
    degree = near["offsets"][1]
    assert degree == near["degree"][0] > 0
    edges = {
        frozenset(line.split(",")) for line in (tables.folder / "edges.csv").read_text().split()
    }
    assert all({"p00", near["ids"][at]} in edges for at in near["targets"][:degree])
    assert 0 < len(view["nearest"]) <= 5
    assert all(other != "p00" for other, _, _ in view["nearest"])
    assert session.search("P0")[:2] == ["p00", "p01"]
    assert session.search(" ") == []


def test_what_is_put_aside_is_not_asked_about_and_undo_brings_it_back(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    before = settled(session)["next"]
    session.put_aside(before[0], "skip")
    session.put_aside(before[1], "cannot tell")
    assert session.next_nodes(1) == [before[2]]
    assert session.state()["cannotTell"] == 1
    assert session.undo() == (before[1], "")
    assert session.undo() == (before[0], "")
    assert session.undo() is None
    assert session.next_nodes() == before


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


def test_two_pages_do_not_overwrite_each_other(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings("given.csv"))
    (id,) = settled(session)["next"][:1]
    session.label(id, "ash", None)
    session.label(id, "ash", None)  # the same answer twice is one answer
    with pytest.raises(InputError, match="was labelled 'ash' meanwhile"):
        session.label(id, "beech", None)
    session.label(id, "beech", "ash")
    assert tables.labels()[id] == "beech"


def test_who_edits_the_file_is_respected(tables: Tables, opened: Opened) -> None:
    session = opened(tables.settings("given.csv"))
    settled(session)
    file = tables.run / "labels.csv"
    file.write_text(file.read_text() + "p50,dogwood\n")
    session.refresh()
    assert settled(session)["classes"] == [*CLASSES, "dogwood"]
    good = file.read_text()
    file.write_text(good + "nobody,ash\n")
    session.refresh()
    assert "'nobody' is not in the graph" in session.state()["problem"]
    with pytest.raises(InputError, match="'nobody' is not in the graph"):
        session.label("p51", "ash", None)
    assert file.read_text() == good + "nobody,ash\n"
    file.write_text(good)
    session.refresh()
    assert session.state()["problem"] == ""
    session.label("p51", "ash", None)


def test_suspect_labels_are_confirmed_or_changed(tables: Tables, opened: Opened) -> None:
    rows = (tables.folder / "given.csv").read_text().splitlines()
    wrong = rows[1].split(",")[0]
    more = [f"{id},{label}" for id, label in list(tables.truth.items())[30:60]]
    (tables.folder / "given.csv").write_text(
        "\n".join([rows[0], f"{wrong},cedar", *rows[2:], *more])
    )
    session = opened(tables.settings("given.csv"))
    suspects = settled(session)["suspects"]
    assert [wrong, "cedar"] in [row[:2] for row in suspects]
    session.put_aside(wrong, "confirm")
    assert wrong not in [row[0] for row in session.state()["suspects"]]
    session.undo()
    assert wrong in [row[0] for row in session.state()["suspects"]]
    session.label(wrong, "ash", "cedar")
    assert wrong not in [row[0] for row in session.state()["suspects"]]


def make_labels(table, version: int, count: int = 9) -> Labels:
    numbers = np.full(table.dataset.num_nodes, -1)
    numbers[:count] = np.arange(count) % 3
    return Labels(version, CLASSES, numbers, np.zeros(0, np.int64))


def test_only_the_newest_labels_are_fitted(tables: Tables, opened: Opened) -> None:
    table = opened(tables.settings()).table
    begun, go_on, done = threading.Event(), threading.Event(), []

    class Slow(Fitter):
        def fit(self, labels, kind):
            begun.set()
            assert go_on.wait(60)
            return super().fit(labels, kind)

    refitter = Refitter(Slow(tables.settings(), table), lambda found: done.append(found))
    refitter.ask(make_labels(table, 1))
    assert begun.wait(60)
    for version in (2, 3, 4):
        refitter.ask(make_labels(table, version))
    go_on.set()
    assert wait_until(lambda: len(done) == 2 and not refitter.busy)
    assert [found.labels.version for found in done] == [1, 4]
    refitter.stop()


def test_a_quick_fit_comes_first_where_the_full_one_is_slow(
    tables: Tables, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened(tables.settings()).table
    monkeypatch.setattr(fits, "_PATIENCE", 0.0)
    done: list = []
    refitter = Refitter(Fitter(tables.settings(preset="best"), table), done.append)
    refitter.ask(make_labels(table, 1))
    assert wait_until(lambda: len(done) == 1)
    refitter.ask(make_labels(table, 2))
    assert wait_until(lambda: len(done) == 3)
    assert sorted(found.kind for found in done) == ["full", "full", "quick"]
    assert all((found.accuracy is None) == (found.kind == "quick") for found in done)
    refitter.stop()


def test_a_session_is_not_taken_back_by_an_older_or_quicker_fit(
    tables: Tables, opened: Opened
) -> None:
    session = opened(tables.settings("given.csv"))
    settled(session)
    newest, fitter = session._found, session._fitter
    assert newest is not None
    session._publish(fitter.fit(newest.labels, "quick"))
    assert session._found is newest
    session._publish(fitter.fit(make_labels(session.table, -1), "full"))
    assert session._found is newest


def test_classes_are_ordered_as_a_fit_orders_them() -> None:
    assert class_order(["-1", "10", "9"]) == ("-1", "9", "10")
    assert class_order(["07", "10", "9"]) == ("07", "10", "9")
    assert class_order([]) == ()
