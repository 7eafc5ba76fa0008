"""A labelling session: tables, answers, the current fit, and what to ask next."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nodecopy.annotate import node_view
from nodecopy.annotate.answers import Answers, file_time
from nodecopy.annotate.kinds import KINDS, Suspect
from nodecopy.annotate.refit import Fit, Labels, Refitter
from nodecopy.core.errors import InputError, RunError, counted, shown
from nodecopy.core.files import regular_file
from nodecopy.core.progress import sentences
from nodecopy.problem.problem import Problem
from nodecopy.read.labels import SUGGESTED, read_label_table
from nodecopy.read.nodes import HOLDS_LABELS
from nodecopy.report import report_page
from nodecopy.run import FitSettings, check_folder, read_settings, write_folder
from nodecopy.run.fit import label_table, read_source
from nodecopy.run.folder import ANSWERS, CONFIG, LABELS, begin_folder, incomplete_run
from nodecopy.run.settings import parse_classes
from nodecopy.trust.next_labels import random_nodes

RANDOM, AGAIN = "random", "again"
_AHEAD = 3  # questions that are sent to the page
# Every fourth question is about a random node, and every fifth answer may be one to look at again.
_AUDIT, _AGAIN = 4, 5
_LIKELY = 0.5  # probability of a wrong label from which it is asked about again
_MATCHES = 20
_SUSPECTS = 20
# Name of a file, its labels by id, suggested ids, and when it was saved: see `Answers.take`.
_LabelFile = tuple[str, dict[str, str], list[str], str]


class Session:
    """Labelling in a run folder: what a page talks to, from any thread.

    The labels are those of the folder's table of answers. Labels that the settings name elsewhere
    are added to it once. The settings in a folder with results stay those of the results, until
    `finish` replaces both; then they name labels.csv, which is written from the table.

    Args:
        folder: one that `nodecopy fit` or `nodecopy label` wrote, or, with settings, a new one.
        settings: the tables, and how to fit; None takes those of the folder.
        classes: names of classes that may be chosen before any node has them, beside those that
            the settings describe.
        labels: files of labels to take over, also in place of those that the table has.

    Attributes:
        table: what was read, without labels.
        notes: what was assumed, and what the files of labels changed.
        answers: everything that was answered.
        stamp: a number that changes whenever `state` does, but for `doing`.
        doing: what is computed, and how long it will take.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: FitSettings | None = None,
        classes: Sequence[str] = (),
        labels: Sequence[str] = (),
    ) -> None:
        self.folder = check_folder(folder)
        if settings is None:
            if not (self.folder / CONFIG).is_file():
                raise InputError(
                    f"{folder} has no {CONFIG}: name a folder that nodecopy fit wrote, or say "
                    "nodecopy label --edges FILE --out FOLDER to begin a new one"
                )
            settings = read_settings(self.folder / CONFIG)
        own, node_type = self.folder / LABELS, settings.label_type
        if node_type is None and isinstance(settings.nodes, tuple) and settings.labels is not None:
            node_type = next(iter(read_source(settings, None).node_types), None)
        bare = replace(settings, labels=None, label_columns=None, label_type=node_type)
        self.table = table = read_source(bare, None)
        node_type = next(iter(table.node_types), None)
        described = () if settings.classes is None else parse_classes(settings.classes)
        settings = _settled(settings, table, own)
        files = _label_files(labels, settings, table, own)
        if settings.predict is not None:  # labels.csv has its labels from now on
            copies = (name for _, name, text in table.read if text.startswith(HOLDS_LABELS))
            skipped = (f"{name}=skip" for name in (settings.predict, *copies))
            types = (*(settings.column_types or ()), *skipped)
            settings = replace(settings, predict=None, column_types=types)
        self._kind = KINDS[settings.target or "class"]
        self.settings = settings = replace(
            settings, labels=str(own), label_columns=None, label_type=node_type
        )
        whole = incomplete_run(self.folder)
        begin_folder(self.folder, settings)
        self._ids = table.ids[: table.num_classified]
        self._number = {str(id): n for n, id in enumerate(self._ids)}
        self._lock, self._finishing = threading.RLock(), threading.Lock()
        self._fit = Fit(Labels(-1, np.zeros(0, np.int64), np.zeros(0, np.int64)), ())
        self._suspected: tuple[Any, list[Suspect]] = None, []  # computed for the key
        self._asked: dict[str, str] = {}  # how each node was chosen that a page may show
        n = len(self._ids)
        self._order = self._ids[random_nodes(np.ones(n, bool), n, settings.random_state)]
        self._finish = {"state": "", "message": ""}
        self.stamp, self._version, self._written = 0, 0, -1
        utf8 = settings.encoding in (None, "utf-8", "utf-8-sig")
        names_in = self._kind.names_in
        self.answers = answers = Answers(self.folder, mark=not utf8, names_in=names_in)
        try:
            for name in (*described, *classes):
                self.add_class(name)
            taken = []
            for file, given, suggested, saved in files:
                words = answers.take(given, suggested, saved)
                if file and (words or saved):
                    words = words or "no label is new"
                    taken.append(f"{file}: {words}; a label that it lacks stays")
            answers.refresh()
            if answers.problem:
                raise RunError(answers.problem)
            gone = len(answers.labels) - len(self._labels())
            self._rows = node_view.NodeRows(settings, table)
            self._map = node_view.NodeMap(table, settings.random_state)
            left = f"{counted(gone, 'label')} of nodes that are not in the tables: left out"
            notes = (*table.notes, whole, *taken, left if gone else "", answers.edited)
            self.notes = tuple(filter(None, notes))
        except BaseException:
            self.answers.close()
            raise
        self.doing = ""
        report = sentences(self._say)
        self._refitter = Refitter(settings, self._kind, table, self._publish, report)
        self._refit()

    def close(self) -> None:
        """Stop fitting, and let others work in the folder; everything is on the disk already."""
        self._refitter.stop()
        with self._lock:
            self._rows.close()
            self.answers.close()

    @property
    def unwritten(self) -> bool:
        """Whether there are enough labels for a fit, and no results were written for them."""
        enough = self._kind.enough([*self.answers.labels.values()])
        return self._written != self._version and enough

    def label(self, id: str, label: str, seen: str | None) -> None:
        """Give a node a label.

        Args:
            id: of the node.
            label: the name of a class, a number, or tags as labels.csv has them.
            seen: the label that the node had on the page; one that came meanwhile, from another
                page for instance, is not overwritten.
        """
        label = self._kind.parsed(label)
        with self._lock:
            self._node(id)
            held = self.answers.labels.get(id)
            if held not in (seen, label):
                raise InputError(f"{shown(id)} was labelled {shown(held)} meanwhile; look again")
            if held == label and self._asked.get(id) == AGAIN:
                self.answers.put_aside(id, "confirm")
            self.answers.label(id, label, self._asked.get(id))
            self._changed(refit=held != label)

    def put_aside(self, id: str, action: str) -> None:
        """Answer "skip", "cannot tell" or "confirm"."""
        with self._lock:
            self._node(id)
            self.answers.put_aside(id, action)
            self._changed(refit=not self.next_nodes(1))  # all that were suggested are put aside

    def undo(self) -> str:
        """Take the latest answer back; return its node."""
        with self._lock:
            undone = self.answers.undo()
            self._changed(refit=True)
            return undone

    def add_class(self, name: str) -> str:
        """Add a class or a tag, and return its name as it is written."""
        name = self._kind.checked_name(name)
        if name.strip().lower() in (*self.settings.na_words, "-1", "-1.0"):
            raise InputError(f"a class needs a name, and {shown(name)} means unknown")
        with self._lock:
            added = self.answers.add_class(name)
            self._changed(refit=False)
            return added

    def refresh(self) -> None:
        """Look whether answers can still be kept, and write labels.csv if it lacks some."""
        with self._lock:
            before = self.answers.problem, self.answers.edited
            self.answers.refresh()
            if before != (self.answers.problem, self.answers.edited):
                self.stamp += 1

    def next_nodes(self, count: int = _AHEAD) -> list[str]:
        """Return the nodes to ask about next."""
        return list(self._questions(count))

    def _questions(self, count: int = _AHEAD) -> dict[str, str]:
        """Return the nodes to ask about next, and why: "suggested", "random" or "again"."""
        with self._lock:
            answers = self.answers
            aside = answers.excluded() | answers.labels.keys()
            suspects = (row[0] for row in self._suspect_rows() if row[4] >= _LIKELY)
            drawn, best = (
                filter(lambda id: id not in aside, map(str, ids))
                for ids in (self._order, self._fit.suggestions)
            )
            chosen = [answers.chosen[id] for id in answers.labels if id in answers.chosen]
            asked, random, answered = len(chosen), chosen.count(RANDOM), answers.counts()[0]
            result: dict[str, str] = {}
            while len(result) < count:
                id: str | None = None
                why = AGAIN
                if (answered + len(result) + 1) % _AGAIN == 0:
                    id = next(suspects, None)
                if id is None and random < (asked + 1) // _AUDIT:
                    id, why, random = next(drawn, None), RANDOM, random + 1
                if id is None:
                    id, why = next(best, None), SUGGESTED
                if id is None:
                    break
                asked += why != AGAIN
                result.setdefault(id, why)
            self._asked |= result
            return result

    def search(self, text: str) -> list[tuple[str, str]]:
        """Return ids and names that contain a text, whatever its case; first those it begins."""
        text = text.strip().lower()
        if not text:
            return []
        rows = ((id, self.table.title(node)) for id, node in self._number.items())
        matches = [row for row in rows if any(text in word.lower() for word in row)]
        matches.sort(key=lambda row: not any(word.lower().startswith(text) for word in row))
        return matches[:_MATCHES]

    def state(self) -> dict[str, Any]:
        """Return everything that the page shows beside the node in question."""
        with self._lock:
            answers, fit, questions = self.answers, self._fit, self._questions()
            _, changed, confirmed = answers.counts()
            return {
                "stamp": self.stamp,
                "target": self._kind.target,
                "classes": self._kind.drawn_names(fit, answers),
                "counts": self._kind.counts(answers),
                "labels": len(answers.labels),
                "nodes": len(self._number),
                "cannotTell": len(answers.set_aside("cannot tell")),
                "next": list(questions),
                "why": list(questions.values()),
                "fitted": fit.result is not None,
                "guessed": fit.result is not None and bool((fit.result.given.labels < 0).all()),
                "version": self._version,
                "fittedVersion": fit.labels.version,
                "busy": self._refitter.busy,
                "doing": self.doing,
                "history": answers.estimates,
                "macro": self._kind.macro(fit),
                "restsOn": fit.result and fit.result.num_representative,
                "suggested": [*answers.chosen.values()].count(SUGGESTED),
                "forecast": self._kind.forecast(fit),
                "lookedAgain": [changed, confirmed],
                "suspects": self._suspect_rows(),
                "problem": answers.problem or answers.edited or fit.problem,
                "finish": self._finish,
                "folder": str(self.folder),
            }

    def view(self, id: str) -> dict[str, Any]:
        """Return what is known of a node."""
        node = self._node(id)
        cells, more = self._rows.of(node)
        with self._lock:
            fit, label, known = self._fit, self.answers.labels.get(id), self._drawn_known()
            named = tuple(self.answers.classes)
            labels = {self._number[id]: label for id, label in self._labels().items()}
        near, around = node_view.neighbourhood(self.table, node, known, fit)
        around |= self._kind.around(fit, near, list(map(labels.get, near.tolist())), named)
        return {
            "id": id,
            "name": self.table.title(node),
            "label": label,
            **self._kind.prediction(fit, node, label, named),
            "columns": cells,
            "moreColumns": more,
            "why": node_view.explained(self.table, node, fit, around["ids"])
            if fit.explains
            else None,
            "around": around,
        }

    def map(self) -> dict[str, Any]:
        """Return where the nodes lie, and what is known and predicted of them."""
        with self._lock:
            fit, known, asked = self._fit, self._drawn_known(), self.next_nodes()
        return self._map.block(fit, known, [self._number[id] for id in asked])

    def finish(self, progress: bool = False) -> str:
        """Fit once more, and write everything that `nodecopy fit` writes; return a message.

        A second call waits for the first.

        Args:
            progress: show how far it is, see `progress_bar`.
        """
        waits = self._finishing.locked()
        with self._finishing:
            if not waits or self.unwritten:
                self._write_results(progress)
            return self._finish["message"]

    def _write_results(self, progress: bool) -> None:
        self._set_finish("writing", "Fitting once more …")
        try:
            with self._lock:
                self.refresh()
                if self.answers.problem:
                    raise RunError(self.answers.problem)
                version, table = self._version, self._labelled_table()
            show = progress or sentences(self._say)
            run = label_table(self.settings, table, show)
            self._set_finish("writing", "Writing the folder …")
            write_folder(run, self.folder, lambda: report_page(run.result, run.source), show)
        except Exception as error:  # whatever it is, the page must say that it is over
            with self._lock:
                kept = self.answers.kept
            why = str(error) if kept in str(error) else f"{error}; {kept}"
            self._set_finish("failed", f"Not all results were written: {why}.")
            raise
        finally:
            self.doing = ""
        self._written = version  # more labels may have come meanwhile
        holds = f"{self.folder} holds predictions, report, model and settings."
        self._set_finish("written", holds)

    def _labelled_table(self) -> Problem:
        """Return the table with all labels, as `nodecopy fit` reads them from labels.csv."""
        with tempfile.TemporaryDirectory(prefix="nodecopy-") as folder:
            file = Path(folder, LABELS)
            file.write_bytes(self.answers.text(self._number))
            target = self.settings.target or "class"  # a class may be called a|b
            options = {"na_values": self.settings.na_values, "target": target}
            read = read_label_table(file, self._ids, **options)
        labels = np.pad(read.labels, (0, len(self.table.ids) - len(self._ids)), constant_values=-1)
        table = self.table.with_labels(labels, read.classes, read.suggested, read.notes)
        return replace(table, target=read.target)

    def _labels(self) -> dict[str, str]:
        """Return the labels by id, without those of nodes that have gone from the tables."""
        return {id: label for id, label in self.answers.labels.items() if id in self._number}

    def _drawn_known(self) -> dict[int, int]:
        """Return as what each labelled node is drawn, by its number."""
        drawn = self._kind.drawn_known(self._fit, self.answers)
        return {self._number[id]: drawn[label] for id, label in self._labels().items()}

    def _set_finish(self, state: str, message: str) -> None:
        with self._lock:
            self._finish = {"state": state, "message": message}
            self.stamp += 1

    def _node(self, id: str) -> int:
        if id not in self._number:
            example = shown(next(iter(self._number)))
            raise InputError(f"no node has the id {shown(id)}; ids look like {example}")
        return self._number[id]

    def _changed(self, *, refit: bool) -> None:
        self.stamp += 1
        if self._finish["state"] != "writing":
            self._finish = {"state": "", "message": ""}
        if refit:
            self._version += 1
            self._refit()

    def _refit(self) -> None:
        names, classes = self._kind.names(self.answers), np.full(len(self._number), -1, np.int64)
        place = {name: k for k, name in enumerate(names)}
        for id, name in self._labels().items():
            classes[self._number[id]] = place[name]
        suggested = [id for id, why in self.answers.chosen.items() if why == SUGGESTED]
        parts = (
            [self._number[id] for id in ids if id in self._number]
            for ids in (self.answers.excluded(), suggested)
        )
        excluded, chosen = (np.array(nodes, np.int64) for nodes in parts)
        both = tuple(names), tuple(self.answers.classes)
        self._refitter.ask(Labels(self._version, classes, excluded, chosen, *both))

    def _say(self, doing: str) -> None:
        self.doing = doing

    def _publish(self, fit: Fit) -> None:
        """Take a new fit."""
        with self._lock:
            self.doing = ""
            if (figures := self._kind.estimate(fit)) is not None:
                share, low, high = (round(float(value), 4) for value in figures)
                try:
                    self.answers.add_estimate((len(fit.labels.known), share, low, high))
                except RunError as error:
                    fit = replace(fit, problem=f"the estimate is {error}")
            self._fit = fit
            self.stamp += 1

    def _suspect_rows(self) -> list[list[Any]]:
        """Return the labels to look at again: id, name, label, suggestion, and how likely wrong."""
        confirmed, fit = self.answers.confirmed(), self._fit
        if fit.result is None or fit.result.held_out is None:
            return []
        key = fit, *self.answers.counts()[1:]
        if self._suspected[0] != key:
            right = [self._number[id] for id in confirmed if id in self._number]
            self._suspected = key, self._kind.suspects(fit, right, key[1])
        rows = list[list[Any]]()
        for node, known, predicted, probability in self._suspected[1]:
            id = str(self._ids[node])
            if self.answers.labels.get(id) == known and confirmed.get(id) != known:
                name = self.table.title(node)
                rows.append([id, name, known, predicted, round(probability, 4)])
        return rows[:_SUSPECTS]


def _settled(settings: FitSettings, table: Problem, own: Path) -> FitSettings:
    """Return settings with the kind of target, where it is not that of classes.

    Names of tags are kept with the answers: a fit of tags does not read them.
    """
    target: Any = settings.target
    if target is None:
        target, files = table.target, settings.labels
        if files is not None and not _is_own(files, own):  # which is written for a settled kind
            ids = table.ids[: table.num_classified]
            target = read_label_table(files, ids, **settings.reading).target
    return settings if target == "class" else replace(settings, target=target, classes=None)


def _label_files(
    named: Sequence[str], settings: FitSettings, table: Problem, own: Path
) -> list[_LabelFile]:
    """Read the labels that the settings name, and those that take the place of earlier ones.

    Without names they are those of the split of a built-in dataset, or of a column of nodes. The
    folder's own labels.csv is read if there are no answers that it was written from.
    """
    bare = replace(settings, label_columns=None, predict=None)
    files = [_read_labels(file, bare, table, own, file_time(file)) for file in named]
    if settings.labels is None:
        return [("", _by_id(table, table), [], ""), *files]
    if _is_own(settings.labels, own):
        rows = regular_file(own).read_bytes().splitlines() if own.exists() else []
        if len(rows) < 2 or own.with_name(ANSWERS).exists():
            return files
    return [_read_labels(settings.labels, settings, table, own), *files]


def _read_labels(
    files: str | tuple[str, ...], settings: FitSettings, table: Problem, own: Path, saved: str = ""
) -> _LabelFile:
    ids = table.ids[: table.num_classified]
    # labels.csv is not in the encoding of the other tables.
    of_own = {"na_values": settings.na_values, "target": settings.target or "class"}
    read = read_label_table(files, ids, **(of_own if _is_own(files, own) else settings.reading))
    names = files if isinstance(files, str) else ", ".join(files)
    if read.target == "tags" and settings.target is None:
        raise InputError(
            f"{names} has several tags per node, and {own.parent} holds one class of each; "
            "--out another folder, for tags, or --target class"
        )
    return names, _by_id(read, table), ids[read.suggested].astype(str).tolist(), saved


def _is_own(files: str | tuple[str, ...] | None, own: Path) -> bool:
    return isinstance(files, str) and os.path.realpath(files) == os.path.realpath(own)


def _by_id(labelled: Any, table: Problem) -> dict[str, str]:
    """Return the known labels of a dataset, or of a table of labels, by id."""
    known = np.flatnonzero(labelled.labels >= 0)
    written = [f"{v:.15g}" if isinstance(v, float) else str(v) for v in labelled.classes.tolist()]
    names = (written[k] for k in labelled.labels[known])
    return dict(zip(map(str, table.ids[known]), names, strict=True))
