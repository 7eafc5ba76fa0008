"""What the page asks about: from nothing, some nodes at random, suspect labels again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nodecopy import NodeCopyClassifier
from nodecopy.annotate import Session
from tests.annotate.conftest import CLASSES, Tables
from tests.csv_files import read_csv
from tests.waiting import wait_until


def answer(session: Session, truth: dict[str, str]) -> str:
    """Answer the next question when the fit knows of all earlier ones; return its node."""
    assert wait_until(lambda: session.next_nodes() and not session.state()["busy"])
    (id,) = session.next_nodes(1)
    session.label(id, session.add_class(truth[id]), None)
    return id


def test_labelling_starts_from_nothing_and_one_in_four_is_random(
    tables: Tables, opened: Callable[..., Session]
) -> None:
    session = opened(tables.settings())
    assert session.state()["labels"] == 0
    ids = [answer(session, tables.truth) for _ in range(6)]
    session.close()
    session = opened()  # what was chosen how is kept, and goes on as before
    ids += [answer(session, tables.truth) for _ in range(6)]
    chosen = {row["id"]: row["chosen"] for row in read_csv(tables.run / "labels.csv")}
    assert list(chosen) == ids
    assert Counter(chosen.values()) == {"suggested": 9, "random": 3}
    assert [chosen[id] for id in ids][3::4] == ["random"] * 3
    assert set(tables.labels().values()) == set(CLASSES)
    assert wait_until(lambda: session.state()["restsOn"] == 3 and not session.state()["busy"])
    session.finish()
    session.close()
    assert NodeCopyClassifier.load(tables.run).estimated_accuracy().num_labels == 3
    assert opened().state()["suggested"] == 9


def test_a_suspect_label_is_asked_about_again_as_a_fifth_question(
    tables: Tables, opened: Callable[..., Session]
) -> None:
    session = opened(tables.settings("given.csv"))
    for _ in range(4):
        answer(session, tables.truth)
    assert wait_until(lambda: not session.state()["busy"])
    doubted = next(iter(session.answers.labels))
    given = CLASSES.index(session.answers.labels[doubted])
    fit = session._fit
    assert fit is not None
    assert fit.result is not None
    held = fit.result.held_out
    assert held is not None
    # Predictions that are sure and right, but for one label. A cached property may be set.
    sure = 0.997 * np.eye(3)[held.truth] + 0.001
    at = held.nodes == fit.result.given.numbers([doubted])
    sure[at] = np.roll(sure[at], 1, axis=1)
    vars(fit.result)["held_out"] = replace(held, probabilities=sure)
    session._publish(replace(fit))
    state = session.state()
    assert (state["next"][0], state["why"][0]) == (doubted, "again")
    session.label(doubted, CLASSES[given], CLASSES[given])  # the same answer confirms it
    state = session.state()
    assert "again" not in state["why"]
    assert state["lookedAgain"] == [0, 1]
