r"""File formats: text, Parquet, JSON, workbooks and graph files, opened as a `Table` for DuckDB.

Content decides, not the name. Workbooks and graph files become text (`nodecopy.read.conversion`).
Text is recognised by DuckDB's CSV sniffer once it is plain (`nodecopy.read.plain_text`). Quotes are
``"``, doubled inside. Lines at the top that begin with ``# `` or ``% `` are comments, and so is
Excel's ``sep=;``.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from nodecopy.core.errors import DatasetError, FormatError, shortened
from nodecopy.read.columns import CLASSES, LABELS, NODES, TableRole, is_number, quoted
from nodecopy.read.conversion import GRAPH_FORMATS, Rows, graph_rows, sheet_rows
from nodecopy.read.database import Database
from nodecopy.read.plain_text import MAX_LINE, START, copied, first_bytes, opened, plain_text

PathLike = str | os.PathLike[str]
ACCEPTED = (
    "CSV, TSV or JSON text (also .gz), Parquet, Excel (.xlsx), or a graph as GraphML, GEXF or GML"
)
# DuckDB would take a folder named key=value for a column of all tables below it.
_NO_FOLDERS = "hive_partitioning = false"
# How files begin, in any encoding of which ASCII is a part; the first that fits.
_ABOVE = rb"(<\?xml.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(\[.*?\])?\s*>|\s)*"
_STARTS = {
    "GraphML": _ABOVE + rb"<(\w+:)?graphml\b",
    "GEXF": _ABOVE + rb"<(\w+:)?gexf\b",
    "XML": rb"<(\?xml|!DOCTYPE|html|svg)\b",
    "Pajek": rb"\*(vertices|network)\b",
    "UCINET": rb"dl\s+n\w*\s*=",
    "Matrix Market": rb"%%MatrixMarket\b",
    "KONECT with two node types (bip)": rb"%\s*bip\b",
    "DOT": rb"(strict\s+)?(di)?graph\b[^\[\n]*\{",
    "GML": rb"((#|creator|version|comment)[^\n]*\n\s*)*graph\s*\[",
    "JSON graph": rb'\{(\s*"\w+"\s*:\s*("[^"]*"|\w+|\{\s*\})\s*,)*'
    rb'\s*"(nodes|links|edges)"\s*:\s*\[',
    "JSON": rb'\{\s*"|\[\s*[\[{]',
}
_OTHERS = {"Pajek", "UCINET", "Matrix Market", "KONECT with two node types (bip)", "DOT"}
_ANY_CASE = re.IGNORECASE | re.DOTALL
_NUMBER = re.compile(r"[+-]?[\d., ']*\d[\d., ']*([eE][+-]?\d+)?")
_NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION)\b")
_COMMENT = re.compile(r'[#%][ \t].*|[#%]?|"?sep=.?"?', re.IGNORECASE)


def paths_of(files: PathLike | Sequence[PathLike] | None) -> list[Path]:
    """Return one file, or several, or none as a list."""
    return [Path(files)] if isinstance(files, (str, os.PathLike)) else list(map(Path, files or ()))


@dataclass(frozen=True)
class Table:
    """A table on disk, whose columns DuckDB knows as c0, c1, and so on.

    Attributes:
        path: where it is.
        names: of its columns: of the header row or the file's schema, else numbers from 1.
        types: of its columns, in DuckDB's words.
        source: SQL to select from.
        header: whether the names are its own.
        first_row: the header row or, without one, the first row.
        notes: what is unusual about it.
        directed: whether edges are, where the file says so.
    """

    path: Path
    names: tuple[str, ...]
    types: tuple[str, ...]
    source: str
    header: bool = True
    first_row: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    directed: bool = False

    def scan(self, doubles: Sequence[int] = ()) -> str:
        """Return SQL to select from; of text, the columns at these places are parsed as numbers."""
        return self.source

    def scanned_type(self, place: int) -> str:
        """Return the type of a column as `scan` gives it, unless it is asked for as a number."""
        return self.types[place]

    def where(self, rows: Sequence[int]) -> list[str]:
        """Say where rows are in the file; they count from 1, in order."""
        return [f"row {row}" for row in rows]

    @property
    def named_places(self) -> list[int]:
        """Places of the columns; one without a name in the header row counts only if it is first.

        A row that ends in a separator has such a last column.
        """
        return [at for at, name in enumerate(self.names) if at == 0 or name.strip()]

    @property
    def titles(self) -> list[str]:
        """The name of each column, or its number from 1 where it has none."""
        return [name.strip() or str(at + 1) for at, name in enumerate(self.names)]

    @property
    def first_row_text(self) -> str:
        """The first row, for a message."""
        more = ", …" if len(self.first_row) > 10 else ""
        return ", ".join(repr(shortened(cell)) for cell in self.first_row[:10]) + more

    def column_name(self, place: int) -> str:
        """Return a column's name for a message: 'weight', or column 3 where it has none."""
        name = self.names[place].strip()
        return repr(name) if self.header and name else f"column {place + 1}"


@dataclass(frozen=True)
class TextTable(Table):
    """A table of text.

    Attributes:
        text: the plain file that DuckDB reads.
        delimiter: between cells.
        skip: lines above the first row, the header row among them.
        unit: what a line is in the file.
    """

    text: Path = Path()
    delimiter: str = ","
    skip: int = 0
    unit: str = "line"

    def scan(self, doubles: Sequence[int] = ()) -> str:
        """Return SQL to select from: DuckDB's CSV reader."""
        types = ["VARCHAR"] * len(self.names)
        for place in doubles:
            types[place] = "DOUBLE"
        columns = ", ".join(f"c{place}: '{type}'" for place, type in enumerate(types))
        return (
            f"read_csv({_sql_path(self.text)}, {_NO_FOLDERS}, auto_detect = false, header = false, "
            f"skip = {self.skip}, {_dialect(self.delimiter)}, columns = {{{columns}}})"
        )

    def scanned_type(self, place: int) -> str:
        """Return VARCHAR: every cell is a string unless it is asked for as a number."""
        return "VARCHAR"

    def where(self, rows: Sequence[int]) -> list[str]:
        """Say on which lines rows end: empty lines do not count, and a cell may have several."""
        lines, row, quotes, number = [], 0, 0, 0
        with self.text.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if row == max(rows, default=0):
                    break
                if number <= self.skip or (quotes % 2 == 0 and line == "\n"):
                    continue
                quotes += line.count('"')
                row += quotes % 2 == 0
                if quotes % 2 == 0 and row in rows:
                    lines.append(f"{self.unit} {number}")
        # A quote that is not closed: its row goes on to the last line.
        return lines + [f"{self.unit} {number}"] * (len(rows) - len(lines))


def open_table(
    db: Database, path: PathLike, role: TableRole, chosen: Sequence[str] | None = None
) -> Table:
    """Open a file in the format that its first bytes tell, or as text.

    Args:
        db: scans the file.
        path: the file, or a sheet of a workbook: ``book.xlsx#people``.
        role: edges, labels or features.
        chosen: columns that were asked for; a first row with one of these names is a header row.
    """
    file, sheet = sheet_of(path)
    form = format_of(file)
    if form == "Parquet":
        return _open_typed(db, file, f"read_parquet({_sql_path(file)}, {_NO_FOLDERS})", form)
    if form == "workbook":
        rows = sheet_rows(file, sheet, role)
        return _open_rows(db, Path(f"{file}#{rows.sheet}"), rows, role, chosen)
    text, notes = plain_text(file, db, lines=form == "text")
    table: Table
    if form == "JSON":
        table = _open_json(db, file, text, role, chosen)
    elif form in GRAPH_FORMATS:
        rows = graph_rows(file, text.read_text("utf-8-sig"), form, role, db.graphs)
        table = _open_rows(db, file, rows, role, chosen)
    else:
        table = _named(_open_text(db, file, text, role), role, chosen, db)
    return replace(table, notes=(*notes, *table.notes))


def stem_of(path: PathLike) -> str:
    """Return the name of a sheet, or of a file without its ending.

    >>> stem_of("data/people.csv.gz"), stem_of("book.xlsx#people")
    ('people', 'people')
    """
    name = Path(path).name.rpartition("#")[-1]
    return name.split(".")[0] or name


def format_of(path: Path) -> str:
    """Return the format that the first bytes of a file tell; "text" is a table of text."""
    start = first_bytes(path)
    if start.startswith(b"PAR1"):
        return "Parquet"
    if start.startswith(b"PK\x03\x04"):
        return "workbook"
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise FormatError(f"{path} is an old or encrypted workbook: save it as .xlsx or CSV")
    with suppress(OSError, EOFError, zlib.error), opened(path) as file:  # reported when it is read
        start = file.read(START)
    start = start.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    known = (name for name, begin in _STARTS.items() if re.match(begin, start, _ANY_CASE))
    form = next(known, "text")
    if form in _OTHERS:
        raise FormatError(f"{path} is a file of {form}, which is not read; accepted: {ACCEPTED}")
    if form == "XML":
        raise FormatError(f"{path} is XML or HTML, but no GraphML or GEXF; accepted: {ACCEPTED}")
    return form


def sheet_of(path: PathLike) -> tuple[Path, str]:
    """Return a file, and the sheet that is named behind a #, unless that is part of its name."""
    file, mark, sheet = str(path).rpartition("#")
    if mark and not os.path.exists(path) and os.path.isfile(file):  # False of names too long
        return Path(file), sheet
    return Path(path), ""


def _open_typed(db: Database, path: Path, source: str, form: str) -> Table:
    """Open a format with typed columns; lists and objects become strings, as JSON writes them."""
    schema = db.attempt(f"DESCRIBE SELECT * FROM {source}")
    if schema is None:
        raise FormatError(f"{path} cannot be read as {form}; is it complete?")
    names, types = (tuple(str(row[place]) for row in schema) for place in (0, 1))
    nested = [_NESTED.search(type) is not None for type in types]
    picked = ", ".join(
        f"{f'CAST(to_json(a{place}) AS VARCHAR)' if own else f'a{place}'} AS c{place}"
        for place, own in enumerate(nested)
    )
    aliases = ", ".join(f"a{place}" for place in range(len(names)))
    types = tuple("VARCHAR" if own else type for own, type in zip(nested, types, strict=True))
    source = f"(SELECT {picked} FROM {source} AS t({aliases}))"
    return Table(path, names, types, source, first_row=names)


def _open_json(
    db: Database, path: Path, text: Path, role: TableRole, chosen: Sequence[str] | None
) -> Table:
    """Open JSON records, a line each or in an array; only numbers and booleans have types."""
    source = f"read_json({_sql_path(text)}, {_NO_FOLDERS}, sample_size = -1"
    schema = db.attempt(f"DESCRIBE SELECT * FROM {source})") or []
    names, types = [row[0] for row in schema], [row[1] for row in schema]
    # One object may be all of a file: by id, by column, or below a key.
    known = types and not _NESTED.search(types[0]) and (chosen or role.is_header(names))
    whole = not known and len(db.attempt(f"SELECT 1 FROM {source}) LIMIT 2") or ()) < 2
    if names in ([], ["json"]) or whole:
        records = '[{"id": 1}, {"id": 2}], or a line each'
        raise FormatError(f"{path} is not JSON of records such as {records}; is it complete?")
    types = [type if is_number(type) or type == "BOOLEAN" else "VARCHAR" for type in types]
    columns = ", ".join(map("{}: {}".format, map(quoted, names), map(quoted, types)))
    return _open_typed(db, path, f"{source}, columns = {{{columns}}})", "JSON")


def _open_rows(
    db: Database, path: Path, rows: Rows, role: TableRole, chosen: Sequence[str] | None
) -> Table:
    """Open rows of a workbook or of a graph file: write them as text."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for row in rows.rows:
        cells = ("" if cell is None else str(cell) for cell in row)
        writer.writerow([re.sub(r"[\r\n\0]+", " ", cell) for cell in cells])
    text = copied([lines.getvalue()], db.folder)
    table = _open_text(db, path, text, role, ",")
    table = replace(table, unit="row", directed=rows.directed, notes=rows.notes)
    return _named(table, role, chosen, db, rows.named)


def _open_text(
    db: Database, path: Path, text: Path, role: TableRole, delimiter: str | None = None
) -> TextTable:
    """Open plain text: let DuckDB find its dialect, unless that is given, and its types."""
    skip, first = _first_line(text)
    if not first.strip():
        raise DatasetError(f"{path} has no rows; accepted: {ACCEPTED}")
    separated = re.search(r"[,;|\t]", first) is not None
    delimiter = delimiter or db.options.delimiter
    if role is CLASSES and not separated:
        delimiter = "\t"  # names of classes alone, of several words perhaps
    if delimiter == " " or (delimiter is None and _is_spaced(first)):
        with text.open(encoding="utf-8-sig") as lines:
            text = copied((" ".join(line.split()) + "\n" for line in lines), db.folder)
        skip, first = _first_line(text)
    delimiter, types, header = _sniffed(db, text, skip, first, delimiter)
    # Ids or names alone are a table of nodes or classes, unless another character may separate.
    others = ": " if role is CLASSES else ":"
    if len(types) < 2 and (role not in (NODES, CLASSES) or separated or others in first):
        accepted = "comma, tab, semicolon or |"
        if role is not CLASSES:
            accepted = "comma, tab, semicolon, | or spaces, or another one that `delimiter` names"
        raise FormatError(
            f"{path}: no separator in the first row, {shortened(first.strip())!r}; accepted: "
            f"{accepted}"
        )
    names = ("",) * len(types)  # until the first row is looked at
    table = TextTable(path, names, types, "", header, text=text, delimiter=delimiter, skip=skip)
    rows = db.in_order(f"SELECT * FROM {table.scan()} LIMIT 1")
    cells = tuple(cell or "" for cell in rows[0]) if rows else tuple(first.strip().split(delimiter))
    return replace(table, first_row=cells)


def _named(
    table: TextTable,
    role: TableRole,
    chosen: Sequence[str] | None,
    db: Database,
    header: bool | None = None,
) -> TextTable:
    """Decide whether the first row names the columns, unless that is known, and name them."""
    first = [cell.strip() for cell in table.first_row]
    numbers = tuple(str(place + 1) for place in range(len(table.names)))
    header, notes = header or db.options.header, table.notes
    if header is None:
        named = not set(first).isdisjoint(set(chosen or ()) - {*numbers})
        numbered = not set(numbers).isdisjoint(chosen or ())
        words = not (numbered or any(map(_NUMBER.fullmatch, first)))
        sure = role.is_header(first) or named
        header = sure or (words and _names_columns(db, table, role))
        if header and not (sure or table.header or db.known_ids):
            guess = f"{table.first_row_text} taken for the names of columns"
            notes = (*notes, f"{table.path.name}: {guess}; `header` says whether they are")
    if not header:
        return replace(table, names=numbers, header=False)
    (line,) = table.where([1]) or ["line 1"]
    names = (table.first_row[0].lstrip("#"), *table.first_row[1:])
    skip = int(line.split()[1])
    return replace(table, names=names, header=True, skip=skip, notes=notes)


def _names_columns(db: Database, table: TextTable, role: TableRole) -> bool:
    """Tell whether a first row of words names the columns: unless one of its ids is one elsewhere.

    Elsewhere is a later row, or a table that was read before. An edge that is wrongly taken for
    names joined two nodes without any other edge; names that are wrongly taken for an edge would
    be two nodes that do not exist. Of nodes the first row always names the columns; of classes a
    single word does that is above descriptions of several words each.
    """
    if role is NODES:
        return True
    if role is CLASSES:
        if len(table.first_row) < 2 or " " in table.first_row[1].strip():
            return False
        single = "count(*) FILTER (WHERE c1 IS NULL OR trim(c1) NOT LIKE '% %')"
        return db.attempt(f"SELECT count(*) > 2, {single} FROM {table.scan()}") == [(True, 1)]
    unnamed = not table.first_row[0].strip()  # the index of a data frame
    last = unnamed + (1 if role is LABELS else 2)
    places = range(unnamed, min(last, len(table.first_row)))
    some = ", ".join(quoted(table.first_row[place].strip()) for place in places)
    here = " OR ".join(f"trim(c{place}) IN ({some})" for place in places)
    counts = f"SELECT count(*), count(*) FILTER (WHERE {here}) FROM {table.scan()}"
    ((total, alike),) = db.attempt(counts) or [(0, 0)]
    known = f"SELECT count(*) FROM ({db.known_ids}) WHERE id IN ({some})"
    return total > 1 and alike == 1 and not (db.known_ids and db.value(known))


def _sniffed(
    db: Database, text: Path, skip: int, first: str, given: str | None
) -> tuple[str, tuple[str, ...], bool]:
    """Return the delimiter, the types of the columns, and whether they tell a header row.

    DuckDB does not try spaces and ``::``, and cannot say anything of a file with broken rows: then
    the first line decides.
    """
    decimal = f", decimal_separator = {quoted(db.options.decimal or '.')}"
    query = "SELECT Delimiter, Columns, HasHeader FROM "
    query += f"sniff_csv({_sql_path(text)}, {_NO_FOLDERS}, skip = {skip}{decimal}"
    given = given or ("::" if "::" in first else None)
    rows = db.attempt(f"{query}, {_dialect(given)})")
    if not rows or (len(rows[0][1]) < 2 and given is None):
        delimiter = max(",;\t| ", key=lambda mark: mark in first)
        rows = db.attempt(f"{query}, {_dialect(delimiter)})")
        if not rows:
            return delimiter, ("VARCHAR",) * (first.count(delimiter) + 1), False
    delimiter, columns, header = rows[0]
    types = tuple(str(column["type"]) for column in columns)
    return str(delimiter), types, bool(header) and set(types) != {"VARCHAR"}


def _is_spaced(first: str) -> bool:
    """Tell whether cells are separated by spaces, which may be several in a row."""
    if re.match(r"\s*\d+ +\d+\s*\t", first):  # a tab before the weight, perhaps
        return True
    return " " in first.strip() and not set(first) & set(",;\t|") and "::" not in first


def _dialect(delimiter: str | None) -> str:
    given = "" if delimiter is None else f"delim = {quoted(delimiter)}, "
    return f"{given}quote = '\"', escape = '\"', new_line = '\\n', max_line_size = {MAX_LINE}"


def _sql_path(path: Path) -> str:
    # DuckDB takes a path for a pattern: a name with * or [ must stand for itself.
    return quoted(glob.escape(str(path.absolute())))


def _first_line(text: Path) -> tuple[int, str]:
    """Return how many lines of comments are at the top, and the first line below."""
    with text.open(encoding="utf-8-sig") as file:
        skip = 0
        for line in iter(lambda: file.readline(MAX_LINE), ""):
            if not _COMMENT.fullmatch(line.strip()):
                return skip, line
            skip += 1
    return skip, ""
