"""Labelling tags: what is accepted, kept, fitted and asked about again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nodecopy import NodeCopyMultilabelClassifier, cli
from nodecopy.annotate import Session
from nodecopy.core.errors import InputError
from nodecopy.run import FitSettings
from tests.annotate.conftest import Tables, kept
from tests.csv_files import read_csv, write_csv
from tests.waiting import wait_until

OF = {"ash": "tall|wood", "beech": "wood", "cedar": "[]"}


@pytest.fixture
def tagged(tables: Tables) -> dict[str, str]:
    """Fill the column of tags for two thirds of the nodes; return the tags of all."""
    truth = {id: OF[name] for id, name in tables.truth.items()}
    columns = read_csv(tables.folder / "features.csv")
    rows = [[*row.values(), truth[row["id"]] if n % 3 else ""] for n, row in enumerate(columns)]
    write_csv(tables.folder / "features.csv", "id,reads,age,kinds", rows)
    return truth


def settled(session: Session) -> dict[str, Any]:
    assert wait_until(lambda: session.state()["fittedVersion"] >= session.state()["version"])
    return session.state()


def settings(tables: Tables, **changes: Any) -> FitSettings:
    return replace(tables.settings(), labels=None, predict="kinds", **changes)


def known(tagged: dict[str, str]) -> list[str]:
    return [tags for n, tags in enumerate(tagged.values()) if n % 3]


def test_tags_are_answered_kept_and_fitted(
    tables: Tables, tagged: dict[str, str], opened: Callable[..., Session]
) -> None:
    session = opened(settings(tables))
    state = settled(session)
    assert (state["target"], state["labels"], state["problem"]) == ("tags", 60, "")
    assert state["classes"] == ["no tag", "tall", "wood"]
    assert sum(state["counts"]) == sum(max(v.count("|") + (v != "[]"), 1) for v in known(tagged))
    assert state["history"][-1][0] == 60
    assert state["macro"][1] < state["macro"][0] < state["macro"][2]
    node = state["next"][0]
    view = session.view(node)
    assert view["tags"] is None
    p = view["probabilities"][1:]
    result = session._fit.result
    assert view["guesses"] == [k for k in (1, 2) if p[k - 1] > result.thresholds[k - 1]]
    assert view["why"]["tag"] in (1, 2)
    assert len(view["around"]["sets"]) == len(view["around"]["ids"])
    session.label(node, "wood|tall", None)
    assert session.view(node)["tags"] == [1, 2]
    with pytest.raises(InputError, match="add it first"):
        session.label(node, "tall|glass", "tall|wood")
    for name in ("a;b", "[x"):
        with pytest.raises(InputError, match="tag"):
            session.add_class(name)
    assert session.add_class("gl|ass") == "gl|ass"
    session.label(node, r"tall|gl\|ass", "tall|wood")
    session.label(state["next"][1], "[]", None)
    assert settled(session)["problem"] == ""
    assert session.view(node)["probabilities"][3] is None  # one label is too few
    assert kept(tables.run)[node] == r"gl\|ass|tall"
    session.finish()
    assert read_csv(tables.run / "labels.csv")[-1]["label"] == "[]"
    assert session.undo() == state["next"][1]
    session.close()
    again = settled(opened())
    assert (again["target"], again["labels"]) == ("tags", 61)
    assert again["classes"] == ["no tag", "tall", "wood", "gl|ass"]
    rows = {row["id"]: row["known"] for row in read_csv(tables.run / "predictions.csv")}
    assert rows[node] == r"gl\|ass|tall"
    assert NodeCopyMultilabelClassifier.load(tables.run).classes_.tolist() == ["tall", "wood"]


def test_from_nothing_named_tags_are_fitted_as_soon_as_one_has_three_nodes(
    tables: Tables, opened: Callable[..., Session]
) -> None:
    session = opened(tables.settings(target="tags", classes="wood,tall"))
    state = settled(session)
    assert (state["classes"], state["labels"]) == (["no tag", "wood", "tall"], 0)
    by_class = {name: [id for id, own in tables.truth.items() if own == name] for name in OF}
    nodes = [id for group in zip(*by_class.values(), strict=False) for id in group]
    for id in nodes[:6]:
        assert (session.unwritten, settled(session)["fitted"]) == (False, False)
        session.label(id, OF[tables.truth[id]], None)
    # Of six nodes, four have wood, two have tall.
    assert not settled(session)["fitted"]
    for id in nodes[6:9]:
        session.label(id, OF[tables.truth[id]], None)
    assert settled(session)["fitted"]
    assert session.unwritten
    session.finish()
    assert 'target = "tags"' in (tables.run / "config.toml").read_text()
    assert cli.main(["fit", f"--config={tables.run}/config.toml", f"--out={tables.run}2"]) == 0


def test_a_wrong_tag_is_asked_about_again(
    tables: Tables, tagged: dict[str, str], opened: Callable[..., Session]
) -> None:
    session = opened(settings(tables))
    settled(session)
    fit = session._fit
    held = fit.result.held_out
    node = str(fit.result.given.ids[held.nodes[0]])
    # Predictions that are sure and right, but that one tag of the first node is missing.
    sure = np.where(held.truth, 0.999, 0.001)
    sure[0, 0] = 1 - sure[0, 0]
    vars(fit.result)["held_out"] = replace(held, probabilities=sure)
    vars(fit.result).pop("suspect_labels", None)  # computed from the others
    session._publish(replace(fit))
    ((id, _, label, rather, probability),) = session.state()["suspects"]
    assert (id, label) == (node, tagged[node])
    assert set(rather.split("|")) ^ set(label.split("|")) in ({"tall"}, {"tall", "[]"})
    assert probability > 0.1
    session.put_aside(node, "confirm")
    assert session.state()["suspects"] == []


def test_a_file_of_tags_does_not_become_classes(
    tables: Tables, tagged: dict[str, str], opened: Callable[..., Session]
) -> None:
    opened(tables.settings("given.csv")).close()
    rows = [[f"p{n:02}", "tall;wood" if n % 2 else "wood"] for n in range(20)]
    write_csv(tables.folder / "tags.csv", "id,label", rows)
    files = [str(tables.folder / "tags.csv")]
    with pytest.raises(InputError, match="several tags"):
        opened(labels=files)
    assert len(tables.labels()) == 9
    session = Session(tables.folder / "other", settings(tables), labels=files)
    session.close()
    assert kept(tables.folder / "other")["p01"] == "tall|wood"
