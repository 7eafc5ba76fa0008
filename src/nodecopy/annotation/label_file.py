"""labels.csv: a plain table of id and label, to which answers are added one by one.

At every instant it is a table that a person can read and `nodecopy fit` accepts: one row for each
labelled node. A new label is one row at the end, on the disk before anyone hears of it. A label
that is changed or taken away changes its row, and the file is replaced in one step. All other bytes
stay as they are, so who edits the file by hand, before or meanwhile, is respected: it is read again
whenever it is not as it was left.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nodecopy.data.label_values import UNKNOWN_TEXTS
from nodecopy.data.tables.columns import label_columns
from nodecopy.data.tables.files import open_table
from nodecopy.data.tables.kinds import LABELS
from nodecopy.data.tables.numbers import check_na_words
from nodecopy.errors import DatasetError, FormatError, InputError, RunError, shown
from nodecopy.whole_file import replacing, write_whole

HEADER = "id,label\n"
_SPACES = " \t"  # around a cell they do not count


@dataclass(frozen=True)
class Row:
    """A row of the file: its cells, and where it stands in the text."""

    id: str
    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Wording:
    """What texts in the file are, as the settings of the fits say it.

    Args:
        encoding: of the file; None is UTF-8.
        na_values: words that mean missing; None is the usual ones.
    """

    encoding: str | None = None
    na_values: Sequence[str] | None = None

    def is_label(self, text: str) -> bool:
        """Tell a label from a word that means missing."""
        words = (*check_na_words(self.na_values), *UNKNOWN_TEXTS, "-1,0")
        return text.strip(_SPACES).lower() not in words

    def encode(self, text: str) -> bytes:
        """Return bytes to write."""
        try:
            return text.encode(self.encoding or "utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{shown(text[error.start : error.end])} cannot be written as {error.encoding}, "
                "the encoding of these files"
            ) from None

    def decode(self, raw: bytes, path: Path) -> str:
        """Return bytes as text."""
        try:
            return raw.decode(self.encoding or "utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path} is not {error.encoding.upper()}: {error.reason}") from None


@dataclass(frozen=True)
class Layout:
    """How the file is written: what separates cells, and which is the id and which the label."""

    delimiter: str = ","
    id: int = 0
    label: int = 1
    skip: int = 1  # lines above the first row

    def row(self, id: str, label: str) -> str:
        """Return a row as text, with its line end."""
        cells = ["", ""]
        cells[self.id], cells[self.label] = id, label
        return self.delimiter.join(self._cell(cell) for cell in cells) + "\n"

    def _cell(self, text: str) -> str:
        # A carriage return ends a row for some readers, and spaces at the ends are cut by others.
        special = re.search(rf'["\r\n{re.escape(self.delimiter)}]', text) or text != text.strip()
        return '"' + text.replace('"', '""') + '"' if special else text


class LabelFile:
    """The labels in a file.

    Args:
        path: the file.
        check: refuses labels by id that cannot be; what was read before stays, then.
        wording: what texts there are.
    """

    def __init__(
        self,
        path: Path,
        check: Callable[[Mapping[str, str]], None] = lambda labels: None,
        wording: Wording | None = None,
    ) -> None:
        self.path = path
        self.wording = wording or Wording()
        self._check = check
        self._stamp: tuple[int, ...] | None = None
        self._text = ""
        self._layout = Layout()
        self._rows: dict[str, Row] = {}

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels by id, in the order of the rows; those that are unknown are left out."""
        return {id: row.label for id, row in self._rows.items()}

    def refresh(self) -> bool:
        """Read the file if it is not as it was left; return whether it was read.

        Raises:
            DatasetError, FormatError: it is no table of labels; what was read before stays.
        """
        stamp = self._stat()
        if stamp is not None and stamp == self._stamp:
            return False
        text = self._read()
        layout = self._laid_out(text)
        rows: dict[str, Row] = {}
        for row in self._rows_of(text, layout):
            earlier = rows.get(row.id)
            if earlier is not None and earlier.label != row.label:
                raise DatasetError(
                    f"{self.path}: {shown(row.id)} has two labels, {shown(earlier.label)} and "
                    f"{shown(row.label)}; accepted: one for each id"
                )
            rows[row.id] = row
        self._check({id: row.label for id, row in rows.items()})
        self._text, self._layout, self._rows, self._stamp = text, layout, rows, stamp
        return True

    def set(self, id: str, label: str | None) -> None:
        """Give a node a label, or take it away; on the disk when this returns.

        Args:
            id: of the node.
            label: None takes its label away.
        """
        self.refresh()
        earlier = self._rows.get(id)
        if earlier is None and label is not None:
            self.add({id: label})
        elif earlier is not None and earlier.label != label:
            self._replace(id, "" if label is None else self._layout.row(id, label))

    def add(self, labels: Mapping[str, str]) -> None:
        """Add rows at the end, all of them or none, for nodes that have no row."""
        gap = "" if not self._text or self._text.endswith(("\n", "\r")) else "\n"
        rows = {id: self._layout.row(id, label) for id, label in labels.items()}
        data = self.wording.encode(gap + "".join(rows.values()))
        before = self._stamp
        _append(self.path, data)
        after = self._stat()
        if before is None or after is None or after[1:] != (before[1] + len(data), before[2]):
            self._stamp = None  # somebody else wrote there, too
            self.refresh()
            return
        self._text += gap
        for id, row in rows.items():
            start = len(self._text)
            self._text += row
            self._rows[id] = Row(id, labels[id], start, len(self._text))
        self._stamp = after

    def cut_torn_row(self, whole: str) -> bool:
        """Remove what a killed or failed write left of a row at the end of the file.

        A last line without an end is such a rest if it is a beginning of the row that was being
        written; else somebody's editor left it so, and it stays.

        Args:
            whole: the row that was written last, as text.
        """
        text = self._read()
        kept = text.rstrip("\0")  # what some disks make of bytes that were never written
        for size in range(len(whole) - 1, 0, -1):
            start = len(kept) - size
            if kept.endswith(whole[:size]) and (start == 0 or kept[start - 1] in "\r\n"):
                kept = kept[:start]
                break
        if kept == text:
            return False
        self._write(kept)
        return True

    def row_text(self, id: str, label: str) -> str:
        """Return the row of a label as it is written."""
        return self._layout.row(id, label)

    def _replace(self, id: str, row: str) -> None:
        """Put another text in the place of all rows of a node."""
        parts, done = [], 0
        for found in self._rows_of(self._text, self._layout):
            if found.id == id:
                parts += [self._text[done : found.start], row]
                row, done = "", found.end
        self._write("".join([*parts, self._text[done:]]))

    def _write(self, text: str) -> None:
        """Put another text in the place of the whole file, in one step."""
        target = Path(os.path.realpath(self.path))
        content = self.wording.encode(text)
        mark = b"\xef\xbb\xbf" if self.path.read_bytes().startswith(b"\xef\xbb\xbf") else b""
        try:
            with replacing(target) as temporary, temporary.open("wb") as file:
                file.write(mark + content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(f"cannot write {self.path}: {error}") from error
        self._stamp = None
        self.refresh()

    def _stat(self) -> tuple[int, ...] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> str:
        try:
            return self.wording.decode(self.path.read_bytes(), self.path)
        except FileNotFoundError:
            raise DatasetError(f"{self.path} is gone; put it back, or start again") from None
        except OSError as error:
            raise DatasetError(f"{self.path} cannot be read: {error}") from error

    def _rows_of(self, text: str, layout: Layout) -> Iterator[Row]:
        rows = _rows(text, layout, self.path)
        return (row for row in rows if self.wording.is_label(row.label))

    def _laid_out(self, text: str) -> Layout:
        """Tell how the file is written; one without rows is written as this module would."""
        if len(text.splitlines()) < 2:
            if text.strip() not in ("", HEADER.strip()):
                raise DatasetError(f"{self.path} must begin with the header {HEADER.strip()}")
            return Layout()
        table = open_table(self.path, LABELS, encoding=self.wording.encoding)
        if table.text is None or table.text.packed or len(table.names) != 2:
            raise FormatError(f"{self.path} must be a plain text of id and label, such as CSV")
        id, label = label_columns(table)
        return Layout(table.delimiter, id, label, table.skip)


def create(path: Path) -> None:
    """Make a file without labels, unless there is one."""
    if not path.exists():
        write_whole(path, HEADER.encode())


def _append(path: Path, data: bytes) -> None:
    """Add bytes to a file, all of them or none; on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        size = os.fstat(handle).st_size
        try:
            if os.write(handle, data) < len(data):
                raise OSError("not all of it was written; is the disk full?")
            os.fsync(handle)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(handle, size)
            raise RunError(f"cannot write {path}: {error}") from error
    finally:
        os.close(handle)


def _rows(text: str, layout: Layout, path: Path) -> Iterator[Row]:
    """Yield the rows, with their places in the text."""
    lines = io.StringIO(text, newline="").readlines()
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    reader = csv.reader(lines, delimiter=layout.delimiter)
    first = 0
    try:
        for cells in reader:
            start, first = first, reader.line_num
            if start < layout.skip or not cells:
                continue
            if len(cells) <= max(layout.id, layout.label):
                raise DatasetError(f"{path}: line {start + 1} has no label: {shown(lines[start])}")
            id, label = (cells[place].strip(_SPACES) for place in (layout.id, layout.label))
            yield Row(id, label, ends[start], ends[first])
    except csv.Error as error:
        raise FormatError(f"{path}: line {reader.line_num}: {error}") from error
