"""Answers given on the labelling page: one append-only SQLite table, and labels.csv made from it.

Every answer is a committed row of answers.sqlite before the page shows the next node; nothing is
ever changed or removed there. labels.csv is for people and for `nodecopy fit`: it is written again
after every answer, in one step. Whoever edits it is respected: when its content is not what was
written last, the differences become rows of the table. A file that cannot be read or written is
left alone, ``problem`` says why, and answers are kept meanwhile. An empty or missing file is not an
edit: it is written again.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from nodecopy.core.errors import FormatError, InputError, NodecopyError, RunError, shown
from nodecopy.core.files import regular_file, replacing
from nodecopy.read.labels import CHOSEN, SUGGESTED
from nodecopy.report.page_nodes import natural

# After so many answers a skipped node may be suggested again.
SKIPPED_FOR = 50
MAX_NAME = 200
_UNSHOWN = {"Cc", "Cs", "Zl", "Zp"}  # Unicode: control characters, lone surrogates, line ends
_UNDOABLE = ("label", "skip", "cannot tell", "confirm")
# Actions after which the label of the node is the one in the row.
_LABELLING = ("label", "edit", "given", "undo")
_SCHEMA = """
PRAGMA locking_mode = EXCLUSIVE;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY,
    action TEXT NOT NULL,
    node TEXT,
    label TEXT,
    previous TEXT,
    undone INTEGER,
    time TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
);
CREATE TABLE IF NOT EXISTS chosen (node TEXT PRIMARY KEY, how TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS estimates (labels INTEGER, accuracy REAL, low REAL, high REAL);
CREATE TABLE IF NOT EXISTS labels_csv (id INTEGER PRIMARY KEY, digest TEXT, answer INTEGER);
COMMIT;
"""


class Answer(NamedTuple):
    """A row of the table.

    Attributes:
        number: rows count up from 1.
        action: "label", "skip", "cannot tell", "confirm" or "undo" on the page; "edit" in
            labels.csv; "given" with the tables; "class" for a new class.
        node: id of the node; None for a class.
        label: of the node after the action, or the name of the class.
        previous: label of the node before the action.
        undone: number of the answer that an undo takes back.
    """

    number: int
    action: str
    node: str | None
    label: str | None
    previous: str | None = None
    undone: int | None = None


class Estimate(NamedTuple):
    """Accuracy estimated with so many labels, and its interval."""

    labels: int
    accuracy: float
    low: float
    high: float


class Answers:
    """All answers in a run folder; one process at a time may have it open.

    Args:
        database: answers.sqlite, made if it is missing.
        file: labels.csv, likewise.
        read: returns the labels by id in a file, and raises what is wrong with it.
        mark: start labels.csv with a byte-order mark, for readers that expect another encoding.

    Attributes:
        labels: label by id.
        chosen: how a node was chosen that the page asked about, by id: "suggested" or "random".
        classes: names of the classes, in the order in which they were first named.
        problem: why labels.csv does not hold the labels; empty if it does.
    """

    def __init__(
        self,
        database: Path,
        file: Path,
        read: Callable[[Path], Mapping[str, str]],
        *,
        mark: bool = False,
    ) -> None:
        self.database, self.file = database, file
        self._read, self._mark = read, mark
        self.problem = ""
        self._open()

    def sync(self) -> bool:
        """Import edits of labels.csv, then write it if labels are missing there.

        Returns whether there were edits; ``problem`` says what went wrong.
        """
        before = dict(self.labels)
        try:
            self._import()
            if self._new_nodes() or not self._content().strip():
                self._export()
            self.problem = ""
        except (NodecopyError, OSError) as error:
            self.problem = f"{error}. Answers are kept, and written to {self.file.name} once it can"
        return self.labels != before

    def label(self, node: str, label: str, chosen: str | None = None) -> None:
        """Give a node a label, a new one or another one; ``chosen`` says why it was asked about."""
        if label not in self.classes:
            raise InputError(f"unknown class {shown(label)}; add it first")
        previous = self.labels.get(node)
        if previous != label:
            if chosen is not None and previous is None:
                self._note_chosen([(node, chosen)])
            self._add([("label", node, label, previous, None)])
            self.sync()

    def put_aside(self, node: str, action: str) -> None:
        """Skip a node, note that its class cannot be told, or confirm its label."""
        if action not in _UNDOABLE[1:]:
            raise InputError(f"an answer is {', '.join(map(repr, _UNDOABLE))}; got {shown(action)}")
        label = self.labels.get(node)
        if action == "confirm" and label is None:
            raise InputError(f"{shown(node)} has no label to confirm")
        latest = self._standing()[-1:]
        if [(one.node, one.action) for one in latest] != [(node, action)]:  # else sent twice
            self._add([(action, node, label, None, None)])

    def undo(self) -> str:
        """Take back the latest answer, but not an edit that came after it; return its node."""
        standing = self._standing()
        if not standing:
            raise InputError("there is nothing to undo")
        answer = standing[-1]
        assert answer.node is not None
        label = self.labels.get(answer.node)
        if answer.action == "label" and label == answer.label:
            label = answer.previous
        self._add([("undo", answer.node, label, None, answer.number)])
        self.sync()
        return answer.node

    def add_given(self, labels: Mapping[str, str], suggested: Iterable[str] = ()) -> None:
        """Take over labels of another file, but for nodes that there was an answer to before."""
        answered = {one.node for one in self._answers}
        new = {node: label for node, label in labels.items() if node not in answered}
        self._name_classes(new.values())
        self._note_chosen((node, SUGGESTED) for node in suggested if node in new)
        self._add(("given", node, label, None, None) for node, label in new.items())

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
        self._name_classes([name])
        return name

    def excluded(self) -> set[str]:
        """Return the nodes that are not to be suggested: skipped lately, or impossible to tell."""
        standing = self._standing()
        return self.set_aside("cannot tell") | {
            str(one.node) for one in standing[-SKIPPED_FOR:] if one.action == "skip"
        }

    def set_aside(self, action: str) -> set[str]:
        """Return the nodes with a standing answer of a kind."""
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
            with self._writing():
                self._db.execute("INSERT INTO estimates VALUES (?, ?, ?, ?)", estimate)
            self.estimates.append(estimate)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close the table while the folder is replaced by a new one that holds it as well."""
        self.close()
        try:
            yield
        finally:
            self._open()

    def close(self) -> None:
        """Let others work in the folder."""
        self._db.close()

    def _open(self) -> None:
        opened: sqlite3.Connection | None = None
        try:
            opened = sqlite3.connect(self.database, timeout=0, check_same_thread=False)
            self._db = opened
            self._db.executescript(_SCHEMA)
            columns = ", ".join(Answer._fields)
            rows = self._db.execute(f"SELECT {columns} FROM answers ORDER BY number").fetchall()
            self.estimates = [Estimate(*row) for row in self._db.execute("SELECT * FROM estimates")]
            self.chosen = dict(self._db.execute("SELECT node, how FROM chosen").fetchall())
            written = self._db.execute("SELECT digest, answer FROM labels_csv").fetchone()
        except sqlite3.Error as error:
            if opened is not None:
                opened.close()
            if "locked" in str(error):
                raise InputError(
                    f"another nodecopy label is at work in {self.database.parent}; use its page, "
                    "or stop it"
                ) from error
            kind = RunError if isinstance(error, sqlite3.OperationalError) else FormatError
            raise kind(f"cannot open {self.database}: {error}") from error
        self._note: tuple[str, int] = written or ("", 0)
        self._answers: list[Answer] = []
        self.labels: dict[str, str] = {}
        self.classes: list[str] = []
        for row in map(Answer._make, rows):
            self._take(row)

    def _take(self, answer: Answer) -> None:
        """Apply an answer that is in the table."""
        self._answers.append(answer)
        if answer.action == "class" and answer.label is not None:
            self.classes.append(answer.label)
        elif answer.action in _LABELLING and answer.node is not None:
            if answer.label is None:
                self.labels.pop(answer.node, None)
            else:
                self.labels[answer.node] = answer.label

    def _add(
        self, rows: Iterable[tuple[str, str | None, str | None, str | None, int | None]]
    ) -> None:
        """Add answers, all or none; they are on the disk when this returns."""
        first = len(self._answers) + 1
        answers = [Answer(number, *row) for number, row in enumerate(rows, first)]
        with self._writing():
            self._db.executemany(
                f"INSERT INTO answers ({', '.join(Answer._fields)}) VALUES (?, ?, ?, ?, ?, ?)",
                answers,
            )
        for answer in answers:
            self._take(answer)

    def _note_chosen(self, rows: Iterable[tuple[str, str]]) -> None:
        new = dict(rows)
        with self._writing():
            self._db.executemany("INSERT OR REPLACE INTO chosen VALUES (?, ?)", new.items())
        self.chosen |= new

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._db:
                yield
        except sqlite3.Error as error:
            raise RunError(f"cannot write {self.database}: {error}") from error

    def _standing(self) -> list[Answer]:
        """Return the answers that were not taken back."""
        undone = {one.undone for one in self._answers}
        return [
            one for one in self._answers if one.action in _UNDOABLE and one.number not in undone
        ]

    def _name_classes(self, names: Iterable[str]) -> None:
        new = sorted(set(names) - set(self.classes), key=natural)
        self._add(("class", None, name, None, None) for name in new)

    def _new_nodes(self) -> set[str | None]:
        """Return the nodes whose label changed since labels.csv had all labels."""
        new = self._answers[self._note[1] :]
        return {one.node for one in new if one.action in _LABELLING}

    def _content(self) -> bytes:
        return regular_file(self.file).read_bytes() if self.file.exists() else b""

    def _import(self) -> None:
        """Add the differences to labels.csv, but for nodes whose label it does not have yet."""
        content = self._content()
        digest = hashlib.sha256(content).hexdigest()
        if not content.strip() or digest == self._note[0]:
            return
        labels = self._read(self.file)
        for name in set(labels.values()) - set(self.classes):
            if "\n" in name:
                raise FormatError(f"{self.file}: the class {shown(name)}; is a quote left open?")
        self._name_classes(labels.values())
        nodes = [node for node in {**self.labels, **labels} if node not in self._new_nodes()]
        pairs = [(node, labels.get(node), self.labels.get(node)) for node in nodes]
        self._add(("edit", *pair, None) for pair in pairs if pair[1] != pair[2])
        if self.labels == labels:
            self._note_file(digest)

    def _export(self) -> None:
        """Write labels.csv in one step."""
        rows = [("id", "label", CHOSEN)]
        rows += [(id, label, self.chosen.get(id, "")) for id, label in self.labels.items()]
        width = 3 if any(row[2] for row in rows[1:]) else 2
        text = "".join(",".join(map(_cell, row[:width])) + "\n" for row in rows)
        content = text.encode("utf-8-sig" if self._mark else "utf-8")
        with replacing(os.path.realpath(self.file)) as temporary, temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._note_file(hashlib.sha256(content).hexdigest())

    def _note_file(self, digest: str) -> None:
        """Remember that labels.csv, with this digest, holds all labels."""
        with self._writing():
            row = (digest, len(self._answers))
            self._db.execute("INSERT OR REPLACE INTO labels_csv VALUES (1, ?, ?)", row)
        self._note = row


def _cell(text: str) -> str:
    """Return a cell of a CSV file; the csv module would not quote a carriage return."""
    special = any(sign in text for sign in ',"\r\n') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if special else text
