"""Answers given on the labelling page: one append-only SQLite table, and labels.csv made from it.

Every answer is a committed row of answers.sqlite before the page shows the next node; nothing is
ever changed or removed there, and nothing but the page writes it. labels.csv is an export for
people and for `nodecopy fit`: it is written whole after every answer, and never read back. Whoever
edits labels by hand names the file, see `Answers.take`; a labels.csv that somebody changed is kept
under another name before it is written again.

A lock on a deleted file is no lock, and writing to it keeps nothing: before and after every write
the database must still be the file that was opened. If it is not, answers are refused, and all that
were given before are written to a folder elsewhere.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nodecopy.core.errors import FormatError, InputError, RunError, counted, shown
from nodecopy.core.files import guarded, regular_file, write_whole
from nodecopy.read.labels import CHOSEN, SUGGESTED
from nodecopy.report.page_nodes import natural
from nodecopy.run.folder import ANSWERS, LABELS

# After so many answers a skipped node may be suggested again.
SKIPPED_FOR = 50
MAX_NAME = 200
_WAIT = 0.5  # seconds that another program may read the table
_UNSHOWN = {"Cc", "Cs", "Zl", "Zp"}  # Unicode: control characters, lone surrogates, line ends
_UNDOABLE = ("label", "skip", "cannot tell", "confirm")
# Actions after which the label of the node is the one in the row.
_LABELLING = ("label", "given", "undo")
# EXTRA is FULL, and the folder is synced after the journal is removed.
_SCHEMA = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA synchronous = EXTRA;
BEGIN EXCLUSIVE;
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY,
    action TEXT NOT NULL,
    node TEXT,
    label TEXT,
    previous TEXT,
    undone INTEGER,
    chosen TEXT,
    time TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS estimates (labels INTEGER, accuracy REAL, low REAL, high REAL);
COMMIT;
"""


class Answer(NamedTuple):
    """A row of the table.

    Attributes:
        number: rows count up from 1.
        action: "label", "skip", "cannot tell", "confirm" or "undo" on the page; "given" in a file
            of labels; "class" for a new class.
        node: id of the node; None for a class.
        label: of the node after the action, or the name of the class.
        previous: label of the node before the action.
        undone: number of the answer that an undo takes back.
        chosen: why the node was asked about: "suggested" or "random".
        time: when it was given, UTC.
    """

    number: int
    action: str
    node: str | None
    label: str | None
    previous: str | None = None
    undone: int | None = None
    chosen: str | None = None
    time: str = ""


# Accuracy estimated with so many labels, and its interval.
Estimate = tuple[int, float, float, float]


class Answers:
    """All answers in a run folder; one process at a time may have it open.

    Args:
        folder: of answers.sqlite and labels.csv; they are made if they are missing.
        mark: start labels.csv with a byte-order mark, for readers that expect another encoding.
        names_in: returns the names in a label, which must be among the classes: the class itself,
            each tag, or none where labels are numbers.

    Attributes:
        labels: label by id.
        chosen: how a node was chosen that the page asked about, by id: "suggested" or "random".
        classes: names of the classes or tags, in the order in which they were first named.
        problem: what cannot be written at present; empty if all is well.
        edited: a sentence about a labels.csv that somebody else wrote; empty if nobody did.
    """

    def __init__(
        self,
        folder: Path,
        *,
        mark: bool = False,
        names_in: Callable[[str], Iterable[str]] = lambda label: (label,),
    ) -> None:
        self._names_in = names_in
        self.database, self.file = folder / ANSWERS, folder / LABELS
        self.problem, self.edited, self._stale = "", "", True
        self._encoding = "utf-8-sig" if mark else "utf-8"
        self._rescued: tuple[int, Path] | None = None
        try:
            self._db = sqlite3.connect(self.database, timeout=_WAIT, check_same_thread=False)
            self._db.executescript(_SCHEMA)
            self._load()
        except sqlite3.Error as error:
            if hasattr(self, "_db"):
                self._db.close()
            if "locked" in str(error):
                raise InputError(
                    f"another nodecopy label is at work in {folder}; use its page, or stop it"
                ) from error
            exception = RunError if isinstance(error, sqlite3.OperationalError) else FormatError
            raise exception(f"cannot open {self.database}: {error}") from error
        self._identity = _identity(self.database)

    def label(self, node: str, label: str, chosen: str | None = None) -> None:
        """Give a node a label, a new one or another one; ``chosen`` says why it was asked about."""
        if unknown := [name for name in self._names_in(label) if name not in self.classes]:
            raise InputError(f"unknown class {shown(unknown[0])}; add it first")
        previous = self.labels.get(node)
        if previous != label:
            why = chosen if previous is None else None
            self._add([Answer(0, "label", node, label, previous, chosen=why)])
            self.refresh()

    def put_aside(self, node: str, action: str) -> None:
        """Skip a node, note that its class cannot be told, or confirm its label."""
        if action not in _UNDOABLE[1:]:
            raise InputError(f"an answer is {', '.join(map(repr, _UNDOABLE))}; got {shown(action)}")
        label = self.labels.get(node)
        if action == "confirm" and label is None:
            raise InputError(f"{shown(node)} has no label to confirm")
        latest = self._standing()[-1:]
        if [(one.node, one.action) for one in latest] != [(node, action)]:  # else sent twice
            self._add([Answer(0, action, node, label)])

    def undo(self) -> str:
        """Take back the latest answer, but not a label given after it; return its node."""
        standing = self._standing()
        if not standing:
            raise InputError("there is nothing to undo")
        answer = standing[-1]
        assert answer.node is not None
        label = self.labels.get(answer.node)
        if answer.action == "label" and label == answer.label:
            label = answer.previous
        self._add([Answer(0, "undo", answer.node, label, undone=answer.number)])
        self.refresh()
        return answer.node

    def take(
        self, labels: Mapping[str, str], suggested: Iterable[str] = (), saved: str = ""
    ) -> str:
        """Take over labels of a file; return what that changed in words, "" for nothing.

        A label of the table is replaced if the file was saved after it was given; what the file
        lacks stays.

        Args:
            labels: by id.
            suggested: ids of nodes that were suggested.
            saved: when the file was saved, as in `Answer.time`; "" replaces nothing.
        """
        latest = {one.node: one for one in self._answers if one.action in _LABELLING}
        other = {id: label for id, label in labels.items() if self.labels.get(id) != label}
        newer = [id for id in other if id in latest and latest[id].time >= saved]
        chosen = dict.fromkeys(suggested, SUGGESTED)
        rows = [
            Answer(0, "given", id, label, self.labels.get(id), chosen=chosen.get(id))
            for id, label in other.items()
            if id not in newer
        ]
        names = {name for one in rows for name in self._names_in(str(one.label))}
        names -= set(self.classes)
        if saved and (broken := [name for name in names if "\n" in name]):
            raise FormatError(f"the class {shown(broken[0])} has two lines; is a quote left open?")
        classes = [Answer(0, "class", None, name) for name in sorted(names, key=natural)]
        self._add([*classes, *rows])
        self.refresh()
        changed = sum(one.previous is not None for one in rows)
        answered = sum(one.node in latest and latest[one.node].action == "label" for one in rows)
        counts = {
            f"{counted(len(rows) - changed, 'label')} added, {changed:,} changed": rows,
            f"{answered:,} of these had been answered on the page": answered,
            f"{len(newer):,} left out that contradict newer answers": newer,
        }
        return "; ".join(words for words, count in counts.items() if count)

    def add_class(self, name: str) -> str:
        """Add a class, and return its name as it is written."""
        name = unicodedata.normalize("NFC", name).strip()
        if not 0 < len(name) <= MAX_NAME or _UNSHOWN & {*map(unicodedata.category, name)}:
            raise InputError(
                f"a class needs a name of 1 to {MAX_NAME} characters in one line; got {shown(name)}"
            )
        for other in self.classes:
            if other == name:
                return other
            if unicodedata.normalize("NFC", other).lower() == name.lower():
                raise InputError(f"{shown(name)} is hardly another class than {shown(other)}")
        self._add([Answer(0, "class", None, name)])
        return name

    def excluded(self) -> set[str]:
        """Return the nodes that are not to be suggested: skipped lately, or impossible to tell."""
        standing = self._standing()
        return self.set_aside("cannot tell") | {
            str(one.node) for one in standing[-SKIPPED_FOR:] if one.action == "skip"
        }

    def set_aside(self, action: str) -> set[str]:
        """Return the nodes with a standing answer of one type."""
        return {str(one.node) for one in self._standing() if one.action == action}

    def counts(self) -> tuple[int, int, int]:
        """Return how many answers stand, how many changed a label, and how many confirmed one."""
        standing = self._standing()
        changed = [one for one in standing if one.action == "label" and one.previous is not None]
        return len(standing), len(changed), len(self.confirmed())

    def confirmed(self) -> dict[str, str | None]:
        """Return the labels that were confirmed, by id."""
        return {str(one.node): one.label for one in self._standing() if one.action == "confirm"}

    def add_estimate(self, estimate: Estimate) -> None:
        """Keep an estimate of accuracy, unless it is that of the last fit again."""
        if self.estimates[-1:] != [estimate]:
            try:
                self._insert("estimates", [estimate])
            finally:
                self.estimates.append(estimate)  # it is shown even if it cannot be stored

    def refresh(self) -> None:
        """Look whether the table is still there, and write labels.csv if it lacks labels."""
        try:
            self._check()
            if self._stale or not self.file.exists():
                self._export()
            self.problem = ""
        except RunError as error:
            self.problem = str(error)
        except (InputError, OSError) as error:
            self.problem = f"cannot write {self.file}: {error}; {self.kept}"

    @property
    def kept(self) -> str:
        """Where the answers are, in a sentence."""
        try:
            self._check()
        except RunError as error:
            return str(error)
        return f"all answers so far are in {self.database}"

    def text(self, nodes: Container[str] | None = None) -> bytes:
        """Return the labels of all nodes, or of some, as labels.csv has them."""
        rows = [("id", "label", CHOSEN)]
        rows += [
            (id, label, self.chosen.get(id, ""))
            for id, label in self.labels.items()
            if nodes is None or id in nodes
        ]
        width = 3 if any(row[2] for row in rows[1:]) else 2
        text = "".join(",".join(map(_cell, row[:width])) + "\n" for row in rows)
        return text.encode(self._encoding)

    def close(self) -> None:
        """Let others work in the folder."""
        self._db.close()

    def _load(self) -> None:
        """Read the table."""
        rows = self._db.execute("SELECT * FROM answers ORDER BY number").fetchall()
        held = self._held()
        self.estimates: list[Estimate] = self._db.execute("SELECT * FROM estimates").fetchall()
        self._answers: list[Answer] = []
        self.labels: dict[str, str] = {}
        self.chosen: dict[str, str] = {}
        self.classes: list[str] = []
        # What labels.csv holds if nobody changed it: it may be that of some answers ago.
        self._exported = self.text()
        for row in map(Answer._make, rows):
            self._apply(row)
            if len(self.labels) == held.count(b"\n") - 1 and self.text() == held:
                self._exported = held

    def _apply(self, answer: Answer) -> None:
        """Apply an answer that is in the table."""
        self._answers.append(answer)
        if answer.action == "class" and answer.label is not None:
            self.classes.append(answer.label)
        elif answer.action in _LABELLING and answer.node is not None:
            self._stale = True
            if answer.label is None:
                self.labels.pop(answer.node, None)
            else:
                self.labels[answer.node] = answer.label
        if answer.chosen is not None and answer.node is not None:
            self.chosen[answer.node] = answer.chosen

    def _add(self, rows: Iterable[Answer]) -> None:
        """Add answers, all or none; they are on the disk when this returns."""
        first, now = len(self._answers) + 1, _timestamp(datetime.now(UTC))
        answers = [
            row._replace(number=n, time=row.time or now) for n, row in enumerate(rows, first)
        ]
        self._insert("answers", answers)
        for answer in answers:
            self._apply(answer)
        self._check()  # the answer is acknowledged if it is where the next start will look

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Write rows in one transaction."""
        self._check()
        if not rows:
            return
        places = ", ".join("?" * len(rows[0]))
        try:
            with self._db:
                self._db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error, InputError, OSError):
                self._load()  # what the table really holds
            raise RunError(f"not kept: cannot write {self.database}: {error}") from error
        now, held = _identity(self.database), self._identity
        if now and held and now[:2] == held[:2] and now >= held:  # else the next check says so
            self._identity = now

    def _check(self) -> None:
        """Refuse to go on if the database is no longer the file that was opened."""
        if _identity(self.database) == self._identity:
            return
        gone = f"{self.database} was removed or replaced: answers cannot be kept there. "
        raise RunError(gone + self._rescue())

    def _rescue(self) -> str:
        """Write all answers to a folder elsewhere; return a sentence that says where they are."""
        rows, held = len(self._answers), self._rescued
        if held is not None and held[0] == rows and held[1].exists():
            return f"What was answered so far is in {held[1]}"
        for place in (os.path.expanduser("~"), tempfile.gettempdir()):
            with suppress(OSError, sqlite3.Error, RunError):
                folder = Path(tempfile.mkdtemp(dir=place, prefix="nodecopy-answers-"))
                with closing(Answers(folder)) as copy:
                    copy._add(self._answers)
                    copy._export()
                self._rescued = (rows, folder)
                return self._rescue()
        return "What was answered so far is in the memory of this program alone: do not stop it"

    def _standing(self) -> list[Answer]:
        """Return the answers that were not taken back."""
        undone = {one.undone for one in self._answers}
        return [
            one for one in self._answers if one.action in _UNDOABLE and one.number not in undone
        ]

    def _export(self) -> None:
        """Write labels.csv in one step, and keep what somebody else wrote there."""
        file, text, held = Path(os.path.realpath(self.file)), self.text(), self._held()
        if held != text:
            if held.strip() and held != self._exported:
                names = (file.with_stem(f"{file.stem}.edited-{n}") for n in count(1))
                copy = next(name for name in names if not name.exists())
                write_whole(copy, held)
                self.edited = (
                    f"{file.name} is written from the answers, and was changed by somebody else: "
                    f"that is kept as {copy.name}. To take labels over: nodecopy label "
                    f"{file.parent} --labels FILE"
                )
            write_whole(file, text)
        self._exported, self._stale = text, False

    def _held(self) -> bytes:
        """Return what labels.csv holds."""
        return regular_file(self.file).read_bytes() if self.file.exists() else b""


def file_time(path: str | os.PathLike[str]) -> str:
    """Return when a file was saved, as in `Answer.time`."""
    return _timestamp(datetime.fromtimestamp(os.stat(path).st_mtime, UTC))


def _timestamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _identity(file: Path) -> tuple[int, int, int] | None:
    """Return what tells a file from another of the same name; None if there is none.

    Opening it would not do: when it is closed, the process loses its lock of the file.
    """
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size


def _cell(text: str) -> str:
    """Return a cell of a CSV file; the csv module would not quote a carriage return."""
    text = guarded(text)
    special = any(sign in text for sign in ',"\r\n') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if special else text
