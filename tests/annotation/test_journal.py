"""The journal: every answer once, whatever is killed, torn, edited or taken back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodecopy.annotation.journal import SKIPPED_FOR, Journal
from nodecopy.errors import DatasetError, InputError
from tests.waiting import LIMIT

IDS = {f"n{k}": k for k in range(100)}


@pytest.fixture
def journal(tmp_path: Path):
    opened = Journal(tmp_path, IDS, ["red", "blue"])
    yield opened
    opened.close()


def again(journal: Journal) -> Journal:
    journal.close()
    return Journal(journal.folder, IDS)


def test_answers_survive_and_are_there_once(journal: Journal) -> None:
    journal.label("n1", "red")
    journal.label("n1", "red")
    journal.label("n2", "blue")
    journal.put_aside("n3", "skip")
    journal.put_aside("n4", "cannot tell")
    later = again(journal)
    assert dict(later.labels) == {"n1": "red", "n2": "blue"}
    assert later.excluded() == {"n3", "n4"}
    assert later.classes == ["red", "blue"]
    assert [e["do"] for e in later.answers.entries].count("label") == 2
    assert later.count("cannot tell") == 1
    later.close()


def test_undo_takes_back_one_answer_after_the_other(journal: Journal) -> None:
    journal.label("n1", "red")
    journal.label("n2", "blue")
    journal.label("n1", "blue")
    journal.put_aside("n3", "cannot tell")
    journal.put_aside("n2", "confirm")
    undone = [again_and_undo(journal) for _ in range(6)]
    assert [one and (one.id, one.do) for one in undone] == [
        ("n2", "confirm"),
        ("n3", "cannot tell"),
        ("n1", "label"),
        ("n2", "label"),
        ("n1", "label"),
        None,
    ]
    assert (journal.folder / "labels.csv").read_text() == "id,label\n"
    assert journal.excluded() == set()
    assert journal.confirmed() == {}


def again_and_undo(journal: Journal):
    journal.answers.open()  # an undo needs nothing but what is on the disk
    return journal.undo()


def test_a_changed_label_comes_back_as_it_was(journal: Journal) -> None:
    journal.label("n1", "red")
    journal.label("n1", "blue")
    journal.undo()
    assert dict(journal.labels) == {"n1": "red"}


def test_undo_does_not_overwrite_an_edit_by_hand(journal: Journal) -> None:
    journal.label("n1", "red")
    file = journal.folder / "labels.csv"
    file.write_text("id,label\nn1,blue\nn5,red\n")
    undone = journal.undo()
    assert undone is not None
    assert "was edited since: it says 'blue'" in undone.note
    assert file.read_text() == "id,label\nn1,blue\nn5,red\n"
    assert journal.undo() is None


def test_skipped_nodes_come_back_later(journal: Journal) -> None:
    journal.put_aside("n1", "skip")
    journal.put_aside("n2", "cannot tell")
    for k in range(3, 3 + SKIPPED_FOR):
        assert "n1" in journal.excluded() or k == 2 + SKIPPED_FOR
        journal.label(f"n{k}", "red")
    assert journal.excluded() == {"n2"}


def test_labels_of_another_file_are_taken_over_once(journal: Journal) -> None:
    journal.label("n1", "red")
    journal.label("n2", "red")
    journal.undo()
    journal.adopt({"n1": "blue", "n2": "blue", "n3": "green", "n4": "blue"})
    assert dict(journal.labels) == {"n1": "red", "n3": "green", "n4": "blue"}
    assert journal.classes == ["red", "blue", "green"]
    assert journal.undo().id == "n1"  # what was taken over is not undone


def test_classes_keep_their_order_and_hand_edits_bring_new_ones(journal: Journal) -> None:
    journal.add_class("  10 ")
    journal.label("n1", "10")
    (journal.folder / "labels.csv").write_text("id,label\nn1,10\nn2,9\nn3,amber\n")
    assert journal.refresh()
    assert journal.classes == ["red", "blue", "10", "9", "amber"]
    later = again(journal)
    assert later.classes == ["red", "blue", "10", "9", "amber"]
    later.close()


@pytest.mark.parametrize("name", ["", "  ", "-1", "NaN", "n/a", "a\nb", "x" * 201, "Red", "1.5"])
def test_names_that_are_no_class_are_refused(journal: Journal, name: str) -> None:
    with pytest.raises(InputError, match="a class needs a name|hardly another|whole numbers"):
        journal.add_class(name)
    assert journal.classes == ["red", "blue"]


def test_bad_answers_are_refused(journal: Journal) -> None:
    with pytest.raises(InputError, match="no node has the id 'x'"):
        journal.label("x", "red")
    with pytest.raises(InputError, match="there is no class 'green'"):
        journal.label("n1", "green")
    with pytest.raises(InputError, match="an answer is 'label', 'skip', 'cannot tell', 'confirm'"):
        journal.put_aside("n1", "burn")
    with pytest.raises(InputError, match="'n1' has no label to confirm"):
        journal.put_aside("n1", "confirm")
    (journal.folder / "labels.csv").write_text("id,label\nstranger,red\n")
    with pytest.raises(DatasetError, match="'stranger' is not in the graph"):
        journal.label("n1", "red")
    assert (journal.folder / "labels.csv").read_text() == "id,label\nstranger,red\n"


def test_a_folder_has_one_journal_at_a_time(journal: Journal) -> None:
    with pytest.raises(InputError, match="another nodecopy label is at work in"):
        Journal(journal.folder, IDS)


@pytest.mark.parametrize("left", ["", "n", "n2,bl", "n2,blue"])
def test_a_row_that_a_kill_left_unfinished_is_finished(journal: Journal, left: str) -> None:
    journal.label("n1", "red")
    journal.label("n2", "blue")
    file = journal.folder / "labels.csv"
    file.write_text("id,label\nn1,red\n" + left)
    before = datetime.now(UTC) - timedelta(hours=1)
    os.utime(file, (before.timestamp(),) * 2)
    later = again(journal)
    assert file.read_text() == "id,label\nn1,red\nn2,blue\n"
    later.close()


def test_a_row_that_was_taken_out_by_hand_stays_out(journal: Journal) -> None:
    journal.label("n1", "red")
    journal.label("n2", "blue")
    file = journal.folder / "labels.csv"
    file.write_text("id,label\nn1,red\n")
    after = datetime.now(UTC) + timedelta(seconds=2)
    os.utime(file, (after.timestamp(),) * 2)
    later = again(journal)
    assert dict(later.labels) == {"n1": "red"}
    later.close()


def test_an_unfinished_line_of_answers_is_dropped(journal: Journal) -> None:
    journal.label("n1", "red")
    with (journal.folder / "answers.jsonl").open("a") as file:
        file.write('{"do": "lab')
    later = again(journal)
    later.put_aside("n2", "skip")
    last = again(later)
    assert [e["do"] for e in last.answers.entries] == ["class", "class", "label", "skip"]
    last.close()


ANSWERING = """
import sys
from pathlib import Path
from nodecopy.annotation.journal import Journal
journal = Journal(Path(sys.argv[1]), {f"n{k}": k for k in range(100)}, ["red", "blue"])
for k in range(100):
    journal.label(f"n{k}", "red" if k % 3 else "blue")
    sys.stdout.write(f"n{k}\\n")
    sys.stdout.flush()
"""


def test_what_was_acknowledged_before_a_kill_is_there_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ANSWERING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        said = [program.stdout.readline().strip() for _ in range(20)]
        program.send_signal(signal.SIGKILL)
        said += program.stdout.read().split()
        program.wait(LIMIT)
    later = Journal(tmp_path, IDS)
    rows = (tmp_path / "labels.csv").read_text().splitlines()[1:]
    assert len(rows) == len(set(rows)) == len(later.labels)
    assert set(said) <= set(later.labels)
    assert len(later.labels) <= len(said) + 1
    assert all(
        label == ("red" if int(id[1:]) % 3 else "blue") for id, label in later.labels.items()
    )
    later.close()
