"""The journal of a labelling session: labels.csv and answers.jsonl, kept together.

labels.csv is the truth about labels. An answer is first written to answers.jsonl and then to
labels.csv, and only then does the page hear that it is kept. What a kill in between leaves is seen
by the next start, which writes the row of the last answer if it is torn or missing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodecopy.annotation.answers import Answers, Entry
from nodecopy.annotation.label_file import LabelFile, Wording, create
from nodecopy.errors import DatasetError, FormatError, InputError, shown
from nodecopy.report.labelled.folder import ANSWERS, LABELS

# After so many answers a skipped node may be suggested again.
SKIPPED_FOR = 50
_LONGEST = 200
_UNDOABLE = ("label", "skip", "cannot tell", "confirm")


@dataclass(frozen=True)
class Undone:
    """What an undo took back: the node, what had been done, and what to know about it."""

    id: str
    do: str
    note: str = ""


class Journal:
    """Everything that was answered, on the disk before anyone hears of it.

    Args:
        folder: where the two files are, or are made.
        ids: of the nodes of the graph.
        classes: names of classes that may be chosen before any node has them.
        wording: what texts in labels.csv are.
    """

    def __init__(
        self,
        folder: Path,
        ids: Mapping[str, int],
        classes: Sequence[str] = (),
        wording: Wording | None = None,
    ) -> None:
        self._ids = ids
        self.folder = folder
        create(folder / LABELS)
        self.file = LabelFile(folder / LABELS, self._check, wording)
        self.answers = Answers(folder / ANSWERS)
        self._mend()
        self.file.refresh()
        for name in classes:
            self.add_class(name)
        self._name_classes(sorted(set(self.file.labels.values()), key=_class_order))

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels by id."""
        return self.file.labels

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order they were first named: their keys stay."""
        return [entry["label"] for entry in self.answers.entries if entry["do"] == "class"]

    @property
    def history(self) -> list[Entry]:
        """The estimates of accuracy so far."""
        return [entry for entry in self.answers.entries if entry["do"] == "fit"]

    def refresh(self) -> bool:
        """Read labels.csv again if somebody edited it; return whether its labels changed.

        Raises:
            DatasetError, FormatError: it can no longer be read, or has other nodes.
        """
        before = dict(self.file.labels)
        if not self.file.refresh() or self.file.labels == before:
            return False
        self._name_classes(sorted(set(self.file.labels.values()), key=_class_order))
        return True

    def label(self, id: str, label: str) -> None:
        """Write down the label of a node, a new one or another one; the same one is there once."""
        self.check_id(id)
        if label not in self.classes:
            raise InputError(f"there is no class {shown(label)}; add it first")
        self.refresh()
        before = self.file.labels.get(id)
        if before == label:
            return
        self.answers.add("label", id=id, label=label, before=before)
        self.file.set(id, label)

    def adopt(self, labels: Mapping[str, str]) -> None:
        """Take over labels of another file, but those of nodes that were answered here already."""
        self.refresh()
        answered = {entry.get("id") for entry in self.answers.entries} | set(self.file.labels)
        for entry in self.answers.entries:
            answered.update(entry["ids"] if entry["do"] == "adopt" else ())
        fresh = {id: label for id, label in labels.items() if id not in answered}
        if fresh:
            self._check(fresh)
            self.file.add(fresh)
            self.answers.add("adopt", ids=list(fresh))  # once: whoever deletes such a row means it
            self._name_classes(sorted(set(fresh.values()), key=_class_order))

    def put_aside(self, id: str, do: str) -> None:
        """Write down that a node is skipped, or cannot be told, or that its label is confirmed."""
        self.check_id(id)
        if do not in _UNDOABLE[1:]:
            raise InputError(f"an answer is {', '.join(map(repr, _UNDOABLE))}; got {shown(do)}")
        self.refresh()
        label = self.file.labels.get(id)
        latest = self._pending()[-1:]
        if latest and (latest[0]["id"], latest[0]["do"]) == (id, do):
            return  # the same answer again, from a page that heard nothing of the first
        if do == "confirm" and label is None:
            raise InputError(f"{shown(id)} has no label to confirm")
        self.answers.add(do, id=id, label=label)

    def undo(self) -> Undone | None:
        """Take back the latest answer that was not taken back yet; None if there is none."""
        self.refresh()
        pending = self._pending()
        if not pending:
            return None
        entry = pending[-1]
        id, do = entry["id"], entry["do"]
        held = self.file.labels.get(id)
        note = ""
        if do == "label" and held != entry["label"]:
            note = f"labels.csv was edited since: it says {shown(held)}, and stays"
        self.answers.add("undo", id=id, of=do)
        if do == "label" and not note:
            self.file.set(id, entry["before"])
        return Undone(id, do, note)

    def add_class(self, name: str) -> str:
        """Add a class, and return its name as it is written.

        Raises:
            InputError: it is empty, or hardly differs from another one.
        """
        plain = unicodedata.normalize("NFC", name).strip()
        if (
            not self.file.wording.is_label(plain)
            or len(plain) > _LONGEST
            or not plain.isprintable()
        ):
            raise InputError(
                f"a class needs a name of 1 to {_LONGEST} letters, and words such as NA or -1 mean "
                f"unknown; got {shown(name)}"
            )
        for other in self.classes:
            if other == plain:
                return other
            if _look(other) == _look(plain):
                raise InputError(f"{shown(plain)} is hardly another class than {shown(other)}")
        if _is_fraction(plain):
            raise InputError(f"classes are names or whole numbers; got {shown(plain)}")
        self.file.wording.encode(plain)
        self.answers.add("class", label=plain)
        return plain

    def excluded(self) -> set[str]:
        """Return the nodes that are not to be suggested: skipped lately, or not to be told."""
        pending = self._pending()
        lately = len(pending) - SKIPPED_FOR
        return {
            entry["id"]
            for number, entry in enumerate(pending)
            if entry["do"] == "cannot tell" or (entry["do"] == "skip" and number >= lately)
        }

    def confirmed(self) -> dict[str, str]:
        """Return the labels that were confirmed, by id."""
        return {e["id"]: e["label"] for e in self._pending() if e["do"] == "confirm"}

    def count(self, do: str) -> int:
        """Count the answers of a kind that were not taken back."""
        return len({entry["id"] for entry in self._pending() if entry["do"] == do})

    def note_fit(self, **estimate: Any) -> None:
        """Write down an estimate of accuracy."""
        self.answers.add("fit", **estimate)

    def check_id(self, id: str) -> None:
        """Refuse an id that no node has."""
        if id not in self._ids:
            raise InputError(
                f"no node has the id {shown(id)} that was sent; accepted: the id of a node of the "
                f"graph, written as in its tables, such as {shown(next(iter(self._ids)))}"
            )

    def reopen(self) -> None:
        """Open both files again: the folder that holds them was replaced."""
        self.answers.open()
        self.file.refresh()

    def close(self) -> None:
        """Let others work in the folder."""
        self.answers.close()

    def _pending(self) -> list[Entry]:
        """Return the answers that were not taken back."""
        pending: list[Entry] = []
        for entry in self.answers.entries:
            if entry["do"] in _UNDOABLE:
                pending.append(entry)
            elif entry["do"] == "undo" and pending:
                pending.pop()
        return pending

    def _mend(self) -> None:
        """Write the row that a killed program left unfinished, or did not come to."""
        latest = next((e for e in reversed(self.answers.entries) if e["do"] != "fit"), None)
        if latest is None or latest["do"] != "label":
            return
        id, label = latest["id"], latest["label"]
        with suppress(DatasetError, FormatError):  # a torn row may be all that is wrong
            self.file.refresh()
        torn = self.file.cut_torn_row(self.file.row_text(id, label))
        # Who takes the row out by hand does so after the answer.
        written = datetime.fromtimestamp(self.file.path.stat().st_mtime, UTC)
        if torn or written <= datetime.fromisoformat(latest["time"]):
            self.file.set(id, label)

    def _name_classes(self, names: Sequence[str]) -> None:
        known = set(self.classes)
        for name in names:
            if name not in known:
                self.answers.add("class", label=name)
                known.add(name)

    def _check(self, labels: Mapping[str, str]) -> None:
        strangers = [id for id in labels if id not in self._ids]
        if strangers:
            raise DatasetError(
                f"{self.file.path}: {shown(strangers[0])} is not in the graph"
                f"{f', and {len(strangers) - 1} more' if strangers[1:] else ''}; "
                "ids are compared as they are written"
            )


def _look(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().lower()


def _is_fraction(name: str) -> bool:
    try:
        return float(name) % 1 != 0
    except ValueError:
        return False


def _class_order(name: str) -> tuple[bool, int, str]:
    """Order whole numbers by their value, before names."""
    whole = name.lstrip("-").isdecimal() and len(name) < 19
    return (not whole, int(name) if whole else 0, name)
