"""Labelling numbers: what is accepted, kept and fitted."""

from __future__ import annotations

import pytest

from nodecopy.annotate import Session
from nodecopy.core.errors import InputError
from nodecopy.run import FitSettings
from tests.run.test_numbers import HALF, write_tables
from tests.waiting import wait_until


def settled(session: Session) -> dict:
    wait_until(lambda: session.state()["fittedVersion"] >= session.state()["version"])
    return session.state()


def test_numbers_are_answered_kept_and_fitted(tmp_path):
    edges, nodes = write_tables(tmp_path, HALF)
    settings = FitSettings(edges, nodes=nodes, predict="size", method="fast")
    session = Session(tmp_path / "run", settings)
    try:
        state = settled(session)
        assert state["target"] == "number"
        assert (state["labels"], len(state["classes"])) == (80, 7)
        assert state["history"][-1][0] == 80
        node = state["next"][0]
        view = session.view(node)
        assert "with 90% from" in view["predicted"]
        assert view["why"]["bars"]
        session.label(node, "1,5", None)
        assert session.answers.labels[node] == "1.5"
        with pytest.raises(InputError, match="number"):
            session.label(node, "much", "1.5")
        with pytest.raises(InputError, match="numbers"):
            session.add_class("red")
        assert settled(session)["labels"] == 81
        assert len(session.map()["predicted"]) == 160
        session.finish()
        assert f"{node},1.5" in (tmp_path / "run" / "labels.csv").read_text()
        assert 'target = "number"' in (tmp_path / "run" / "config.toml").read_text()
        assert session.undo() == node
    finally:
        session.close()
    again = Session(tmp_path / "run")
    try:
        assert settled(again)["target"] == "number"
        assert again.state()["labels"] == 80
    finally:
        again.close()


def test_a_page_may_begin_without_any_number(tmp_path):
    edges, _ = write_tables(tmp_path, HALF)
    session = Session(tmp_path / "run", FitSettings(edges, target="number", method="fast"))
    try:
        state = settled(session)
        assert (state["labels"], state["fitted"]) == (0, False)
        for number, node in enumerate(("n1", "n2", "n3", "n4", "n5", "n6")):
            session.label(node, str(number), None)
        assert settled(session)["fitted"]
    finally:
        session.close()
