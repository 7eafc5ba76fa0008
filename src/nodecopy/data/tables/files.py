"""Opening a table: is it there, is it Parquet or text, how is it separated, has it a header?

Content decides, not the name: Parquet and gzip are known by their first bytes. The delimiter of a
text is the first of tab, semicolon, comma and bar that splits all of the first hundred rows into
the same number of cells, two or more; blanks, where none of these splits the first row. Quotes are
``"``, doubled inside. Lines at the top that begin with ``# `` are comments, and so is Excel's
``sep=;``. The first row is a header if it holds a column that was asked for by name, or if
`Kind.is_header` says so.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodecopy.data.tables.kinds import Kind
from nodecopy.data.tables.numbers import Marks
from nodecopy.data.tables.text import ACCEPTED, Text, open_lines, scan, squeezed
from nodecopy.data.tables.wording import counted, shortened
from nodecopy.errors import DatasetError, FormatError

_SAMPLED_ROWS = 100
_SHOWN_NAMES = 10
_SEPARATORS = "comma, tab, semicolon, | or space"
_EXCEL = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_RUNS = re.compile(r"^[ \t]|[ \t]{2}|[ \t]$", re.MULTILINE)
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"SQLite format 3\0": "an SQLite database",
}

Row = tuple[str, ...]


@dataclass(frozen=True)
class TableFile:
    """A table on disk, and how to read it.

    Attributes:
        path: where it is.
        kind: edges, labels or features.
        names: of its columns, as the header or the Parquet file gives them, else their numbers.
        header: whether the names are its own.
        text: the text to read, or a plain copy of it; None for Parquet.
        delimiter: of text.
        marks: how numbers are written.
        skip: lines before the first row of data.
        sample: its first rows, for text.
        types: of its columns in DuckDB's words, for Parquet.
        num_rows: for Parquet.
        chosen: places of the columns that were asked for; empty where none was.
        asked_by_name: whether one of them was asked for by its name in the header.
        notes: what is unusual about it.
    """

    path: Path
    kind: Kind
    names: tuple[str, ...]
    header: bool
    text: Text | None = None
    delimiter: str = ""
    marks: Marks = field(default_factory=Marks)
    skip: int = 0
    sample: tuple[Row, ...] = ()
    types: tuple[str, ...] = ()
    num_rows: int = 0
    chosen: tuple[int, ...] = ()
    asked_by_name: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_guess(self) -> bool:
        """Whether the first row was taken for a header without saying what its columns are."""
        named = self.asked_by_name or self.kind.is_named(self.names)
        return self.header and self.text is not None and not named

    @property
    def has_runs(self) -> bool:
        """Whether blanks separate the cells of a text, several at a time or at the ends."""
        return self.delimiter == " " and bool(self.text and _RUNS.search(self.text.beginning))

    @property
    def last_is_blank(self) -> bool:
        """Whether rows end in a separator, with a last column that has no name and no value."""
        unnamed = len(self.names) > 2 and not (self.header and self.names[-1].strip())
        rows = [row for row in self.sample if len(row) == len(self.names)]
        return bool(rows) and unnamed and not any(row[-1].strip() for row in rows)

    @property
    def remarks(self) -> list[str]:
        """What is unusual about it, and a first row taken for a header that does not say so."""
        guess = f"{self.path.name}: the first row, {self.first_row}, was taken for a header"
        return [*self.notes, guess] if self.is_guess else list(self.notes)

    def headed(self) -> TableFile:
        """Return the same text with its first row as a header."""
        (skip,) = lines_of(self, [1])
        return replace(self, names=self.sample[0], header=True, skip=skip, sample=self.sample[1:])

    def named(self, position: int) -> str:
        """Return a column's name for a message: 'weight', or column 3 where it has none."""
        name = self.names[position].strip()
        return repr(name) if self.header and name else f"column {position + 1}"

    @property
    def first_row(self) -> str:
        """The header, or else the first row of a text, for a message."""
        cells = self.names if self.header else self.sample[0]
        more = ", …" if len(cells) > _SHOWN_NAMES else ""
        return ", ".join(repr(shortened(cell)) for cell in cells[:_SHOWN_NAMES]) + more

    def choose(self, columns: Sequence[str]) -> TableFile:
        """Return the same table, of which only these columns matter, in this order.

        A column goes by its name, or by its number, from 1.
        """
        names = [name.strip() for name in self.names]
        places = []
        for column in columns:
            count = names.count(column)
            if count == 0 and column in _numbers(len(names)):
                places.append(int(column) - 1)
            elif count == 1:
                places.append(names.index(column))
            else:
                what = "more than one column" if count else "no column"
                raise DatasetError(
                    f"{self.path}: {what} {column!r}; its first row is {self.first_row}; "
                    f"accepted: one of these, or its number, 1 to {len(names)}"
                )
        if len(set(places)) < len(places):
            raise DatasetError(
                f"{self.path}: {', '.join(map(repr, columns))} name a column twice; its first row "
                f"is {self.first_row}"
            )
        by_name = self.header and any(column in names for column in columns)
        return replace(self, chosen=tuple(places), asked_by_name=by_name)


def open_table(
    path: str | os.PathLike[str],
    kind: Kind,
    columns: Sequence[str] = (),
    encoding: str | None = None,
    unpacked_limit: int | None = None,
) -> TableFile:
    """Look at a file and say how to read it, or what is wrong with it.

    Args:
        path: the file.
        kind: edges, labels or features.
        columns: names that make a first row that has them a header.
        encoding: of text; None finds it.
        unpacked_limit: bytes that a compressed text may hold, see `nodecopy.data.tables.text`.
    """
    source = Path(path)
    start = first_bytes(source)
    if start.startswith(b"PAR1"):
        return TableFile(source, kind, (), header=True)
    if source.suffix.casefold() in (".parquet", ".pq") and start:
        raise FormatError(f"{source} is not a Parquet file, as its name says it is")
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise FormatError(f"{source} is {what}; accepted: {ACCEPTED}")
    text = scan(source, encoding, unpacked_limit)
    if not text.beginning.strip():
        raise DatasetError(f"{source} is empty; accepted: {ACCEPTED}")
    try:
        return _open_text(source, kind, columns, text)
    except csv.Error as error:
        raise FormatError(f"{source}: {error}; accepted: {ACCEPTED}") from error


def first_bytes(path: Path, size: int = 16) -> bytes:
    """Return the beginning of a regular file, or say why there is none."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for its writer
        what = "a folder" if path.is_dir() else "not a regular file"
        raise DatasetError(f"{path} is {what}; accepted: {ACCEPTED}")
    try:
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError:
        raise DatasetError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        raise DatasetError(f"{path} cannot be read: {error}") from error


def lines_of(table: TableFile, rows: Sequence[int]) -> list[int]:
    """Return the line that each of these rows of a text ends on; rows count from 1, in order."""
    wanted, found = set(rows), []
    for number, (line, _) in enumerate(_rows(table), start=1):
        if number in wanted:
            found.append(line)
        if number >= rows[-1]:
            break
    return found


def broken_lines(table: TableFile) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are no rows of this table, and what is wrong with each.

    DuckDB stops at the first, and its own list of rejected lines counts rows, not lines: a line end
    in quotes puts it out. So a file that was refused is read again here, until enough are found.
    """
    for line, row in _rows(table):
        if isinstance(row, csv.Error):
            long = "a cell that is too long or " if "limit" in str(row) else ""
            yield line, f"has {long}a quote that does not end where a cell ends"
        elif len(row) != len(table.names):
            yield line, f"has {counted(len(row), 'cell')} instead of {len(table.names)}"


def _rows(table: TableFile) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield the rows of data that are not blank, each with the line it ends or breaks on."""
    assert table.text is not None
    with open_lines(table.text) as lines:
        reader = csv.reader(
            itertools.islice(lines, table.skip, None), delimiter=table.delimiter, strict=True
        )
        while True:
            begin = table.skip + reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield begin, error
                continue
            if row:
                yield table.skip + reader.line_num, row


def _open_text(path: Path, kind: Kind, columns: Sequence[str], text: Text) -> TableFile:
    comments = list(itertools.takewhile(_is_comment, io.StringIO(text.beginning)))
    body = text.beginning[sum(map(len, comments)) :]
    delimiter = _delimiter(path, body)
    if delimiter == " ":
        body = "".join(map(squeezed, io.StringIO(body)))
    rows = list(itertools.islice(_numbered_rows(body, delimiter), _SAMPLED_ROWS + 1))
    first_end, first = rows[0]
    sample = tuple(row for _, row in rows)
    named = set(columns) - set(_numbers(len(first)))
    wanted = not named.isdisjoint(cell.strip() for cell in first)
    header = wanted or kind.is_header(sample[0], sample[1:])
    if header and len(rows) == 1:
        raise DatasetError(f"{path} has a header, {', '.join(map(repr, first))}, but no rows")
    return TableFile(
        path,
        kind,
        (first[0].lstrip("#"), *first[1:]) if header else _numbers(len(first)),
        header,
        text,
        delimiter,
        skip=len(comments) + (first_end if header else 0),
        sample=sample[header:],
        notes=tuple(f"{path.name}: {note}" for note in text.notes),
    )


def _numbers(columns: int) -> Row:
    return tuple(str(place + 1) for place in range(columns))


def _is_comment(line: str) -> bool:
    plain = line.strip()
    return (
        line.startswith(("# ", "#\t")) or plain in ("#", "") or _EXCEL.fullmatch(plain) is not None
    )


def _delimiter(path: Path, text: str) -> str:
    if not text.strip():
        raise DatasetError(f"{path} has no rows, only comments; accepted: {ACCEPTED}")
    widths = {}
    for mark in "\t;,|":
        rows = itertools.islice(_numbered_rows(text, mark), _SAMPLED_ROWS)
        widths[mark] = [len(row) for _, row in rows]
    even = [mark for mark, found in widths.items() if len(set(found)) == 1 and found[0] > 1]
    some = [mark for mark, found in widths.items() if found[:1] > [1]]
    if even or some:
        return (even or some)[0]
    line = text.strip().splitlines()[0].strip()
    if " " in line:
        return " "
    raise FormatError(
        f"{path}: no separator in the first row, {shortened(line)!r}; accepted: {_SEPARATORS}"
    )


def _numbered_rows(text: str, delimiter: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows that are not blank, each with the number of the line it ends on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        if row:
            yield reader.line_num, tuple(row)
