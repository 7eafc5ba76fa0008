"""A labelling session: tables, labels, the current fit, and what to ask next."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nodecopy.annotation.fits import Fitter, Found, Labels, Refitter, class_order
from nodecopy.annotation.forecasting import Forecast, forecast
from nodecopy.annotation.journal import Journal
from nodecopy.annotation.label_file import Wording
from nodecopy.annotation.node_view import Shown, around
from nodecopy.annotation.own_columns import OwnColumns
from nodecopy.data.tables import TableDataset, read_label_table
from nodecopy.errors import DatasetError, FormatError, InputError, NodecopyError, shown
from nodecopy.estimator.progress import progress_bar
from nodecopy.labelling import FitSettings
from nodecopy.labelling.run import label_table, read_files
from nodecopy.report.labelled import write_folder
from nodecopy.report.labelled.change import change_line, read_figures
from nodecopy.report.labelled.folder import LABELS

SURE = 0.9
_AHEAD = 3  # suggestions that travel to the page
_MATCHES = 20
_NEAREST = 5
_SUSPECTS = 20
# Of the colours of the report, the grey one.
_GREY, _COLOURS = 7, 8


class Session:
    """What a page talks to; every method may be called from any thread.

    Args:
        settings: how to fit; its labels are those of the folder.
        table: what was read, without labels.
        folder: the run folder, which holds the labels and takes the results.
        classes: names of classes that may be chosen before any node has them.
        given: labels of another file, by id, to begin with.
    """

    def __init__(
        self,
        settings: FitSettings,
        table: TableDataset,
        folder: Path,
        classes: Sequence[str] = (),
        given: Mapping[str, str] | None = None,
    ) -> None:
        self.settings, self.table, self.folder = settings, table, folder
        self._number = {str(id): n for n, id in enumerate(table.ids)}
        self._lock, self._finishing = threading.RLock(), threading.Lock()
        self.journal = Journal(
            folder, self._number, classes, Wording(settings.encoding, settings.na_values)
        )
        self.journal.adopt(given or {})
        self._columns = OwnColumns(settings, table)
        self._fitter = Fitter(settings, table)
        self._refitter = Refitter(self._fitter, self._publish)
        self._version, self._stamp, self._problem, self._closed = 0, 0, "", False
        self._written = -1
        self._found: Found | None = None
        self._full: Found | None = None
        self._forecast = _forecast_from(self.journal.history)
        self._finish: dict[str, str] = {"state": "", "message": ""}
        self._ask()

    def close(self, *, wait: bool = True) -> None:
        """Stop fitting, and let others work in the folder; everything is on the disk already.

        Args:
            wait: for fits that run: a program must not end under them, unless by ``os._exit``.
        """
        self._refitter.stop(wait=wait)
        with self._lock:
            self._closed = True
            self._columns.close()
            self.journal.close()

    @property
    def stamp(self) -> int:
        """A number that changes whenever `state` does, as far as this process knows."""
        return self._stamp

    @property
    def unwritten(self) -> bool:
        """Whether there are labels to fit to, of two classes, that no results were written for."""
        return self._written != self._version and len(set(self.journal.labels.values())) > 1

    def label(self, id: str, label: str, seen: str | None) -> None:
        """Write down the label of a node.

        Args:
            id: of the node.
            label: the name of a class.
            seen: the label that it had for the person who answers; one that came meanwhile, from
                another page for instance, is not overwritten.
        """
        with self._lock:
            self._refresh()
            held = self.journal.labels.get(id)
            if held not in (seen, label):
                raise InputError(f"{shown(id)} was labelled {shown(held)} meanwhile; look again")
            self.journal.label(id, label)
            self._changed(refit=held != label)

    def put_aside(self, id: str, do: str) -> None:
        """Write down "skip", "cannot tell" or "confirm"."""
        with self._lock:
            self._refresh()
            self.journal.put_aside(id, do)
            self._changed(refit=not self.next_nodes(1))  # all that were suggested are put aside

    def undo(self) -> tuple[str, str] | None:
        """Take the latest answer back; return its node and what to know about it."""
        with self._lock:
            self._refresh()
            undone = self.journal.undo()
            if undone is None:
                return None
            self._changed(refit=undone.do == "label" and not undone.note)
            return undone.id, undone.note

    def add_class(self, name: str) -> str:
        """Add a class, and return its name as it is written."""
        with self._lock:
            added = self.journal.add_class(name)
            self._changed(refit=False)
            return added

    def refresh(self) -> None:
        """Look whether somebody edited labels.csv; if so, fit again."""
        with self._lock:
            try:
                if self.journal.refresh():
                    self._changed(refit=True)
                problem = ""
            except (DatasetError, FormatError) as error:
                problem = f"{error}; no answer is taken until that is mended"
            if problem != self._problem:
                self._problem = problem
                self._stamp += 1

    def next_nodes(self, count: int = _AHEAD) -> list[str]:
        """Return the nodes to ask about next, the best first."""
        with self._lock:
            if self._found is None:
                return []
            labels, excluded = self.journal.labels, self.journal.excluded()
            ids = (str(self.table.ids[node]) for node in self._found.suggestions)
            return [id for id in ids if id not in labels and id not in excluded][:count]

    def search(self, words: str) -> list[str]:
        """Return ids that contain these words, those that begin with them first."""
        sought = words.strip().casefold()
        if not sought:
            return []
        found = [id for id in self._number if sought in id.casefold()]
        found.sort(key=lambda id: (not id.casefold().startswith(sought), len(id), id))
        return found[:_MATCHES]

    def state(self) -> dict[str, Any]:
        """Return what the page shows beside the node."""
        with self._lock:
            classes, labels = self.journal.classes, self.journal.labels
            counts = dict.fromkeys(classes, 0)
            for name in labels.values():
                counts[name] += 1
            found = self._found
            return {
                "stamp": self._stamp,
                "version": self._version,
                "fitted": -1 if found is None else found.labels.version,
                "nodes": len(self._number),
                "labels": len(labels),
                "classes": classes,
                "counts": [counts[name] for name in classes],
                "expected": self._expected(classes),
                "sure": self._sure(),
                "cannotTell": self.journal.count("cannot tell"),
                "next": self.next_nodes(),
                "fit": None if found is None else found.kind,
                "behind": self._version - (found.labels.version if found else -1),
                "busy": self._refitter.busy,
                "seconds": None if found is None else round(found.seconds, 2),
                "history": [
                    [e["labels"], e["accuracy"], e["low"], e["high"]] for e in self.journal.history
                ],
                "forecast": self.forecast.words,
                "suspects": self._suspects(),
                "problem": self._problem or (found.problem if found else ""),
                "finish": self._finish,
                "folder": str(self.folder),
            }

    @property
    def forecast(self) -> Forecast:
        """What more labels would bring."""
        return self._forecast

    def view(self, id: str) -> dict[str, Any]:
        """Return what is known of a node."""
        self.journal.check_id(id)
        node = self._number[id]
        cells, more = self._columns.of(node)
        with self._lock:
            classes, labels = self.journal.classes, dict(self.journal.labels)
            found = self._found
        place = {name: k for k, name in enumerate(classes)}
        known = {self._number[key]: place[name] for key, name in labels.items()}
        fitted = None if found is None or found.probabilities is None else found
        p: list[float] | None = None
        columns = np.zeros(0, np.int64)
        if fitted is not None and fitted.probabilities is not None:
            columns = np.array([place[name] for name in fitted.labels.names])
            spread = np.zeros(len(classes))
            spread[columns] = fitted.probabilities[node]
            p = spread.round(4).tolist()
        graph, nothing = self.table.dataset.graph, _no_prediction(len(classes))
        others = np.array([other for other in known if other != node], np.int64)
        nearest = self._fitter.nearest(node, others, _NEAREST)
        return {
            "id": id,
            "label": labels.get(id),
            "nothing": nothing,
            "probabilities": p,
            "columns": cells,
            "moreColumns": more,
            "around": around(graph, node, self.table.ids, Shown(known, fitted, columns, nothing)),
            "nearest": [
                [str(self.table.ids[other]), known[other], round(alike, 3)]
                for other, alike in nearest
            ],
        }

    def finish(self, progress: bool = False) -> str:
        """Fit once more, and write everything that `nodecopy fit` writes; return what to say of it.

        Who asks while that is being done waits for it.

        Args:
            progress: show how far it is, see `progress_bar`.
        """
        waits = self._finishing.locked()
        with self._finishing:
            if not waits or self.unwritten:
                self._write_results(progress)
            return self._finish["message"]

    def _write_results(self, progress: bool) -> None:
        self._say("writing", "Fitting once more, and writing the folder …")
        before = read_figures(self.folder)
        try:
            with self._lock:
                self._refresh()
                version, table = self._version, self._as_a_fit_reads()
            found = label_table(self.settings, table, progress)
            with progress_bar("writing", progress) as report:
                write_folder(found, self.folder, self._exchanging(), report)
        except NodecopyError as error:
            self._say("failed", f"{error}. The labels are kept all the same.")
            raise
        self._written = version  # more labels may have come meanwhile
        change = change_line(before, read_figures(self.folder))
        holds = f"{self.folder} holds predictions, report, model and settings"
        self._say("written", f"{holds}; {change}." if change else f"{holds}.")

    def _as_a_fit_reads(self) -> TableDataset:
        """Return the table with the labels of labels.csv, read and checked as `fit` does it."""
        asked = self.settings
        if asked.graph is not None or asked.na_values is not None or asked.encoding is not None:
            return read_files(self.settings)
        found = read_label_table(self.folder / LABELS, self.table.ids)
        dataset = self.table.dataset.with_labels(found.labels, found.class_names)
        return replace(self.table, dataset=dataset, notes=(*self.table.notes, *found.notes))

    @contextmanager
    def _exchanging(self) -> Iterator[None]:
        """Take no answers while the folder is replaced: nothing may be written to the old one."""
        with self._lock:
            yield
            self.journal.reopen()

    def _say(self, state: str, message: str) -> None:
        with self._lock:
            self._finish = {"state": state, "message": message}
            self._stamp += 1

    def _refresh(self) -> None:
        """Read labels.csv again if somebody edited it; refuse to go on if it cannot be read."""
        if self.journal.refresh():
            self._changed(refit=True)

    def _changed(self, *, refit: bool) -> None:
        self._stamp += 1
        if self._finish["state"] != "writing":
            self._finish = {"state": "", "message": ""}
        if refit:
            self._version += 1
            self._ask()

    def _ask(self) -> None:
        with self._lock:
            labels = self.journal.labels
            names = class_order(sorted(set(labels.values())))
            place = {name: k for k, name in enumerate(names)}
            numbers = np.full(len(self._number), -1, np.int64)
            for id, name in labels.items():
                numbers[self._number[id]] = place[name]
            excluded = [self._number[id] for id in self.journal.excluded()]
            self._refitter.ask(Labels(self._version, names, numbers, np.array(excluded, np.int64)))

    def _publish(self, found: Found) -> None:
        """Take what a fit found, unless something newer is here."""
        with self._lock:
            newest = self._found
            if self._closed:
                return
            old = newest is not None and newest.labels.version > found.labels.version
            same = newest is not None and newest.labels.version == found.labels.version
            if found.kind == "full":
                self._full = found
                self._note(found)
            if old or (same and found.kind == "quick"):
                return
            self._found = found
            self._stamp += 1

    def _note(self, found: Found) -> None:
        estimate, count = found.accuracy, int(np.count_nonzero(found.labels.numbers >= 0))
        if estimate is None:
            return
        said = {"accuracy": estimate.accuracy, "low": estimate.low, "high": estimate.high}
        rounded = {key: round(value, 4) for key, value in said.items()}
        history = self.journal.history
        if history and {**history[-1], **rounded, "labels": count} == history[-1]:
            return  # the same labels again, after a restart
        self.journal.note_fit(labels=count, **rounded, seconds=round(found.seconds, 3))
        self._forecast = _forecast_from(self.journal.history)
        self._stamp += 1

    def _expected(self, classes: Sequence[str]) -> list[float] | None:
        """Return the share of all nodes that each class is expected to have."""
        if self._found is None or not self._found.shares:
            return None
        return [round(self._found.shares.get(name, 0.0), 4) for name in classes]

    def _sure(self) -> int | None:
        """Count the nodes without a label whose class has a probability of 90 % or more."""
        if self._found is None or self._found.confidence is None:
            return None
        sure = self._found.confidence >= SURE
        return int(np.count_nonzero(sure & (self._found.labels.numbers < 0)))

    def _suspects(self) -> list[list[Any]]:
        """Return the labels to look at again: node, label, suggestion, probability of an error."""
        if self._full is None:
            return []
        labels, confirmed = self.journal.labels, self.journal.confirmed()
        rows = []
        for one in self._full.suspects:
            id = str(self.table.ids[one.node])
            if labels.get(id) == one.given and confirmed.get(id) != one.given:
                rows.append([id, one.given, one.suggested, round(one.probability, 4)])
        return rows[:_SUSPECTS]


def _forecast_from(history: Sequence[Mapping[str, Any]]) -> Forecast:
    return forecast([e["labels"] for e in history], [e["accuracy"] for e in history])


def _no_prediction(classes: int) -> int:
    """Return the number of a class that is none: the first beyond them that is drawn in grey."""
    return classes + (_GREY - classes) % _COLOURS
