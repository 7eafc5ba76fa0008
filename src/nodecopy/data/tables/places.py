"""Where in a file something is: the lines of cells that a message is about.

Only messages need lines, so only they pay for them: a file is read a second time, row by row, and
no further than the first rows that matter.
"""

from __future__ import annotations

import csv
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from nodecopy.data.tables.database import Database
from nodecopy.data.tables.files import TableFile, open_lines
from nodecopy.data.tables.sources import identifier, parquet_source
from nodecopy.data.tables.wording import SHOWN, listed, shortened


def offenders(
    db: Database,
    table: TableFile,
    wrong: Callable[[Sequence[str]], bool],
    count: int,
    show: Sequence[int] = (0,),
) -> str:
    """List the first rows that are wrong, each with its line, and say how many there are.

    Args:
        db: reads the file, if it is Parquet.
        table: the file.
        wrong: tells whether a row is wrong, given its cells as text; a missing one is empty.
        count: how many are wrong.
        show: the columns to quote.
    """
    rows = ((place, cells) for place, cells in _rows(db, table) if wrong(cells))
    found = [
        f"{', '.join(repr(shortened(cells[at])) for at in show)} ({place})"
        for place, cells in itertools.islice(rows, SHOWN)
    ]
    return listed(found, count)


def with_cells(places: Sequence[int], values: Iterable[str]) -> Callable[[Sequence[str]], bool]:
    """Return a test for rows that have one of the values in one of these columns.

    A value counts once: the row found is the first that has it.
    """
    left = set(values)

    def wrong(cells: Sequence[str]) -> bool:
        found = {cells[at] for at in places} & left
        left.difference_update(found)
        return bool(found)

    return wrong


def _rows(db: Database, table: TableFile) -> Iterator[tuple[str, Sequence[str]]]:
    if table.is_parquet:
        yield from _parquet_rows(db, table)
        return
    try:
        with open_lines(table.path, packed=table.packed) as lines:
            rows = itertools.islice(lines, table.skip, None)
            reader = csv.reader(rows, delimiter=table.delimiter)
            for cells in reader:
                if len(cells) == len(table.names):
                    yield f"line {table.skip + reader.line_num}", cells
    except (OSError, EOFError, zlib.error, csv.Error):
        return  # the message does without the rest of the lines


def _parquet_rows(db: Database, table: TableFile) -> Iterator[tuple[str, Sequence[str]]]:
    columns = ", ".join(
        f"coalesce(CAST({identifier(name)} AS VARCHAR), '')" for name in table.names
    )
    source = parquet_source(table, row_numbers=True)
    query = f"SELECT file_row_number, {columns} FROM {source} ORDER BY file_row_number"
    yield from ((f"row {row[0] + 1}", row[1:]) for row in db.each(query))
