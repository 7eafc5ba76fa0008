"""answers.jsonl: every answer in the order it was given, one JSON object in each line.

It holds what labels.csv cannot: what was skipped, what cannot be told, which suspect labels were
confirmed, what may be undone, the order of the classes, and the estimates of accuracy. Lines are
only ever added, and are on the disk when `add` returns; a line that a killed program left
unfinished is dropped. Whoever has the file open has it alone.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodecopy.errors import FormatError, InputError, RunError

if sys.platform != "win32":
    import fcntl

Entry = dict[str, Any]


class Answers:
    """The answers so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        self.entries: list[Entry] = []
        self.open()

    def open(self) -> None:
        """Open the file, alone, and read what it holds; again where the folder was replaced."""
        self.close()
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise RunError(f"cannot write {self.path}: {error}") from error
        if not _lock(handle):
            os.close(handle)
            raise InputError(
                f"another nodecopy label is at work in {self.path.parent}; use its page, or stop it"
            )
        self._handle = handle
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            os.ftruncate(handle, len(whole))
        self.entries = [_entry(self.path, n, line) for n, line in enumerate(whole.splitlines(), 1)]

    def add(self, do: str, **what: Any) -> Entry:
        """Write an answer down.

        Args:
            do: what was done: "label", "skip" and so on.
            what: with what.
        """
        assert self._handle is not None, "the answers are closed"
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = {"do": do, **what, "time": now}
        line = (json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
        size = os.fstat(self._handle).st_size
        try:
            written = os.write(self._handle, line)
            if written < len(line):
                raise OSError(f"{written} of {len(line)} bytes were written; is the disk full?")
            os.fsync(self._handle)
        except OSError as error:
            os.ftruncate(self._handle, size)
            raise RunError(f"cannot write {self.path}: {error}") from error
        self.entries.append(entry)
        return entry

    def close(self) -> None:
        """Let others have the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        entry = json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise FormatError(f"{path}: line {number} is not JSON: {error}") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("do"), str):
        raise FormatError(f"{path}: line {number} is no answer; rename the file to start a new one")
    return entry


def _lock(handle: int) -> bool:
    """Lock a file, if nobody has it; the system releases it when the program ends, anyhow."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
