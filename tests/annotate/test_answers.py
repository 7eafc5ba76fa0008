"""Answers: every one once, whatever is killed, removed, edited or taken back."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.annotate.answers import SKIPPED_FOR, Answers, file_time
from nodecopy.core.errors import FormatError, InputError, RunError
from nodecopy.read.labels import read_label_table
from tests.waiting import LIMIT


def read(path: Path) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file, strict=True)}


HELD: list[Answers] = []


def opened(folder: Path) -> Answers:
    answers = Answers(folder)
    HELD.append(answers)
    answers.refresh()
    return answers


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while HELD:
        HELD.pop().close()


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    held = opened(tmp_path)
    for name in ("red", "blue"):
        held.add_class(name)
    return held


def again(answers: Answers) -> Answers:
    """Open the folder again, as after a kill."""
    answers.close()
    return opened(answers.file.parent)


def test_answers_survive_and_are_there_once(answers: Answers) -> None:
    answers.label("n1", "red")
    answers.label("n1", "red")
    answers.label("n2", "blue")
    answers.put_aside("n3", "skip")
    answers.put_aside("n4", "cannot tell")
    answers.put_aside("n4", "cannot tell")
    answers.add_estimate((2, 0.5, 0.25, 0.75))
    later = again(answers)
    assert later.labels == read(later.file) == {"n1": "red", "n2": "blue"}
    assert later.excluded() == {"n3", "n4"}
    assert later.classes == ["red", "blue"]
    assert later.estimates == [(2, 0.5, 0.25, 0.75)]
    assert [later.undo() for _ in range(4)] == ["n4", "n3", "n2", "n1"]
    later.close()


def test_undo_takes_back_one_answer_after_the_other(answers: Answers) -> None:
    answers.label("n1", "red")
    answers.label("n2", "blue")
    answers.label("n1", "blue")
    answers.put_aside("n3", "cannot tell")
    answers.put_aside("n2", "confirm")
    assert answers.confirmed() == {"n2": "blue"}
    for node in ("n2", "n3"):
        assert answers.undo() == node
    assert (answers.confirmed(), answers.excluded()) == ({}, set())
    later = again(answers)
    assert later.undo() == "n1"
    assert read(later.file) == {"n1": "red", "n2": "blue"}
    assert [later.undo() for _ in range(2)] == ["n2", "n1"]
    assert later.file.read_text() == "id,label\n"
    with pytest.raises(InputError, match="nothing to undo"):
        later.undo()
    later.close()


def test_skipped_nodes_come_back_later(answers: Answers) -> None:
    answers.put_aside("n1", "skip")
    answers.put_aside("n2", "cannot tell")
    for k in range(3, 2 + SKIPPED_FOR):
        assert "n1" in answers.excluded()
        answers.label(f"n{k}", "red")
    answers.put_aside("n90", "skip")
    assert answers.excluded() == {"n2", "n90"}


def test_labels_of_a_file_are_taken_over_unless_an_answer_is_newer(
    answers: Answers, tmp_path: Path
) -> None:
    answers.label("n1", "red")
    answers.label("n2", "red")
    answers.undo()
    given = {"n1": "blue", "n2": "blue", "n3": "green", "n4": "blue"}
    added = answers.take(given, saved="")
    assert added.startswith("2 labels added, 0 changed; 2 left out")
    assert answers.take(given, saved="").startswith("2 left out")
    assert read(answers.file) == {"n1": "red", "n3": "green", "n4": "blue"}
    assert answers.classes == ["red", "blue", "green"]
    (tmp_path / "edited.csv").write_text("id,label\n")
    saved = file_time(tmp_path / "edited.csv")
    changed = answers.take({"n1": "blue", "n3": "red", "n5": "red"}, saved=saved)
    assert changed.startswith("1 label added, 2 changed; 1 of these")
    assert read(answers.file) == {"n1": "blue", "n3": "red", "n4": "blue", "n5": "red"}
    answers.label("n3", "blue")
    again_taken = answers.take({"n3": "red"}, saved=saved)  # the same command again
    assert again_taken.startswith("1 left out")
    assert again(answers).labels["n3"] == "blue"


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "Red", "\ud800", "a\u2028b"])
def test_names_that_are_no_class_are_refused(answers: Answers, name: str) -> None:
    with pytest.raises(InputError, match="needs a name|hardly another"):
        answers.add_class(name)
    assert answers.classes == ["red", "blue"]


def test_bad_answers_are_refused(answers: Answers) -> None:
    with pytest.raises(InputError, match="unknown class 'green'"):
        answers.label("n1", "green")
    with pytest.raises(InputError, match="'skip'"):
        answers.put_aside("n1", "burn")
    with pytest.raises(InputError, match="no label to confirm"):
        answers.put_aside("n1", "confirm")
    assert answers.labels == {}


def test_a_folder_is_open_once_at_a_time_and_another_file_is_no_database(
    answers: Answers, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="another nodecopy label"):
        opened(answers.file.parent)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/answers.sqlite").write_text("no database, but a text of some length" * 10)
    with pytest.raises(FormatError, match=r"answers\.sqlite"):
        opened(tmp_path / "other")


# What people do to the folder while it is served.


@pytest.mark.parametrize(
    "content", ["id,label\n", "id,label\nn1,blu", "", None, "id,label\nn9,red\n"]
)
def test_labels_csv_is_written_again_and_never_taken_for_an_edit(
    answers: Answers, content: str | None
) -> None:
    answers.label("n1", "red")
    answers.file.unlink() if content is None else answers.file.write_text(content)
    answers.refresh()
    assert answers.labels == {"n1": "red"}
    answers.label("n2", "blue")
    assert answers.file.read_text() == "id,label\nn1,red\nn2,blue\n"
    later = again(answers)
    assert later.labels == {"n1": "red", "n2": "blue"}
    copies = [copy.read_text() for copy in answers.file.parent.glob("labels.edited-*.csv")]
    assert copies == ([content] if content else [])
    assert later.edited == ""


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_that_cannot_be_written_is_a_problem_and_loses_nothing(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.label("n1", "red")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        answers.label("n2", "blue")
        assert "No space left" in answers.problem
        assert str(answers.database) in answers.problem
        answers.undo()
        answers.label("n3", "blue")
        assert answers.file.read_text() == "id,label\nn1,red\n"
    answers.refresh()
    assert answers.problem == ""
    assert read(answers.file) == {"n1": "red", "n3": "blue"}
    assert answers.undo() == "n3"
    assert [path.name for path in answers.file.parent.glob("*.part*")] == []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    "harm", ["folder removed", "folder moved", "database", "copied", "emptied"]
)
def test_an_answer_is_refused_and_the_others_are_rescued_when_the_table_is_gone(
    tmp_path: Path, home: Path, harm: str
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    answers = opened(run)
    answers.add_class("red")
    answers.label("n1", "red")
    answers.put_aside("n2", "cannot tell")
    if harm == "folder removed":
        shutil.rmtree(run)
    elif harm == "folder moved":
        run.rename(tmp_path / "moved")
    elif harm == "database":
        answers.database.unlink()
    elif harm == "copied":  # as by a program that replaces a file, or a disk without hard links
        shutil.copy(answers.database, run / "copy")
        (run / "copy").replace(answers.database)
    else:
        answers.database.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(RunError, match="removed or replaced") as refused:
            answers.label("n3", "red")
    (rescue,) = home.iterdir()
    assert str(rescue) in str(refused.value)
    answers.refresh()
    assert str(rescue) in answers.problem
    assert str(rescue) in answers.kept
    copy = opened(rescue)
    assert (copy.labels, copy.excluded()) == ({"n1": "red"}, {"n2"})
    assert read(copy.file) == {"n1": "red"}
    if harm == "folder moved":
        (tmp_path / "moved").rename(run)
        answers.label("n4", "red")
        assert again(answers).labels == {"n1": "red", "n4": "red"}


def test_a_table_that_goes_while_it_is_written_is_noticed_before_the_answer_counts(
    answers: Answers, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.label("n1", "red")
    apply = Answers._apply

    def removed(*given: object) -> None:
        answers.database.unlink(missing_ok=True)
        apply(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Answers, "_apply", removed)
    with pytest.raises(RunError, match="removed or replaced"):
        answers.label("n2", "red")
    (rescue,) = home.iterdir()
    assert read(rescue / "labels.csv")["n1"] == "red"


def test_a_failed_write_leaves_memory_and_table_alike(answers: Answers) -> None:
    answers.label("n1", "red")
    answers._db.execute("PRAGMA query_only = ON")
    for write in (
        lambda: answers.label("n2", "red"),
        lambda: answers.add_estimate((1, 0.5, 0, 1)),
    ):
        with pytest.raises(RunError, match="not kept"):
            write()
    answers._db.execute("PRAGMA query_only = OFF")
    assert answers.labels == {"n1": "red"}
    answers.label("n3", "red")
    assert again(answers).labels == {"n1": "red", "n3": "red"}


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


@settings(max_examples=15)
@given(st.dictionaries(NAMES.map("n{}".format), NAMES.map("c{}c".format), min_size=1, max_size=5))
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, labels: dict[str, str]
) -> None:
    answers = opened(tmp_path_factory.mktemp("any"))
    answers.take(labels)
    assert read(answers.file) == labels
    later = again(answers)
    assert later.labels == labels
    later.close()


def test_awkward_ids_are_read_by_a_fit(tmp_path: Path) -> None:
    ids = ["a,b", 'say "x"', "lead ing", "two\nlines", "tab\tbed", "=1+1", "'q", "ä"]
    answers = opened(tmp_path)
    given = ["=class" if n % 2 else "+class" for n in range(8)]
    answers.take(dict(zip(ids, given, strict=True)))
    assert "\n'=1+1,'=class\n" in answers.file.read_text()  # a spreadsheet runs none of them
    labels = read_label_table(answers.file, np.array(ids, object))
    assert [labels.class_names[k] for k in labels.labels] == given
    answers.close()


def test_a_kill_before_the_file_is_written_loses_nothing(tmp_path: Path) -> None:
    answers = opened(tmp_path)
    answers.add_class("red")
    answers.label("n1", "red")
    answers.close()
    killed = "import os; answers._export = lambda: os._exit(9); answers.label('n2', 'red')"
    setup = "from pathlib import Path; from tests.annotate.test_answers import opened; import sys;"
    code = f"{setup} answers = opened(Path(sys.argv[1])); {killed}"
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, check=False, timeout=LIMIT).returncode == 9
    assert (tmp_path / "labels.csv").read_text() == "id,label\nn1,red\n"
    later = opened(tmp_path)
    assert set(later.labels) == set(read(later.file)) == {"n1", "n2"}
    assert later.edited == ""
