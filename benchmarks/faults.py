"""Faults while nodes are labelled: kills, two servers, a fit, a full disk, a lost folder.

    python -m benchmarks.faults --answers 1000 --kills 100 --calls 40
    python -m benchmarks.faults --fast --target tags

Answers go over HTTP to `nodecopy label` in a process of its own, forked from this one so that it
starts in a second. Every answer that got the reply 200 must be a row of answers.sqlite and a line
of labels.csv after the next start, and one that was refused as not kept must be neither. The first
broken promise ends the program with an error.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar

from nodecopy import cli
from nodecopy.annotate import Session, server  # noqa: F401 - before the fork
from nodecopy.read.synthetic import planted_partition

CLASSES = ("ash", "beech", "cedar")
ANSWERS = {"class": CLASSES, "tags": ("ash|beech", "cedar", "beech|cedar", "[]")}
NODES, GIVEN = 120, 12
WRITING = "write,pwrite64,fsync,fdatasync,rename,unlink,ftruncate,openat"
LIMIT = 120.0


class Server:
    """A process that serves a folder, or refuses to."""

    started: ClassVar[list[Server]] = []

    def __init__(self, *words: str, links: bool = True, obeys: bool = False) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            os.dup2(write, 1)
            os.dup2(write, 2)
            if not links:
                os.link = _refuse  # type: ignore[assignment]
            if obeys:
                _obey_permissions()
            os._exit(cli.main(["label", "--no-browser", *words]))
        os.close(write)
        self.started.append(self)
        self.code: int | None = None
        self.output = open(read, encoding="utf-8", errors="replace")  # noqa: SIM115
        self.url, self.said = "", ""
        for line in self.output:
            self.said += line
            if "http://" in line:
                self.url = line.split()[-1]
                break

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def post(
        self, path: str, body: dict, kill_after: float | None = None
    ) -> tuple[int, dict] | None:
        """Ask; with a time, kill the server so many seconds after the request was sent."""
        content = json.dumps(body)
        head = (
            f"POST /{self.url.split('/')[3]}/api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        )
        reply = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), LIMIT) as link:
                link.sendall((head + content).encode())
                if kill_after is not None:
                    time.sleep(kill_after)
                    self.kill()
                while part := link.recv(2**16):
                    reply += part
        except OSError:
            pass
        head, _, text = reply.partition(b"\r\n\r\n")
        try:
            return int(head.split()[1]), json.loads(text)
        except (IndexError, ValueError):
            return None

    def kill(self) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self.said += self.output.read()
            self.output.close()
        return self.code

    def stop(self) -> None:
        self.kill()
        self.wait()


class Campaign:
    """Answers, and what was promised about them."""

    def __init__(self, folder: Path, seed: int, target: str) -> None:
        self.target = target
        self.random, self.folder, self.run = random.Random(seed), folder, folder / "run"
        self.counts: Counter[str] = Counter()
        self.acknowledged: list[tuple[str, str]] = []
        self.last_error, self.last_problem = "no reply", ""
        self._write_tables()

    def _write_tables(self) -> None:
        data = planted_partition(NODES, 3, seed=0)
        edges = [f"p{u},p{v}" for u, v in data.graph.edges()]
        self.seen = {f"p{n}": ANSWERS[self.target][data.labels[n]] for n in range(GIVEN)}
        labels = [",".join(row) for row in self.seen.items()]
        for name, head, rows in [
            ("edges.csv", "source,target", edges),
            ("labels.csv", "id,label", labels),
        ]:
            (self.folder / name).write_text("\n".join([head, *rows]) + "\n")

    def begin(self) -> Server:
        words = [f"--edges={self.folder}/edges.csv", f"--labels={self.folder}/labels.csv"]
        classes = f"--classes={','.join(CLASSES)}"
        words += ["--method=fast", f"--target={self.target}"]
        served = Server(*words, classes, f"--out={self.run}")
        assert served.url, served.said
        return served

    def start(self, *, links: bool = True, obeys: bool = False) -> Server:
        """Check what the last server left, serve it again, and check labels.csv."""
        table = self.stored(self.run)
        served = Server(str(self.run), links=links, obeys=obeys)
        assert served.url, served.said
        self.check_export(self.run, table)
        return served

    def answer(self, served: Server, kill_after: float | None = None) -> str:
        """Label a node anew; return what became of it: "kept", "refused" or "no reply"."""
        node = f"p{self.random.randrange(NODES)}"
        seen = self.seen.get(node)
        label = self.random.choice([name for name in ANSWERS[self.target] if name != seen])
        body = {"do": "label", "id": node, "label": label, "seen": seen}
        reply = served.post("answer", body, kill_after)
        if reply is None:
            outcome = "no reply"
        elif reply[0] == 200:
            outcome = "kept"
            self.acknowledged.append((node, label))
            self.last_problem = reply[1]["state"]["problem"]
            self.seen[node] = label
        else:
            outcome = "refused"
            self.last_error = reply[1]["error"]
        self.counts[outcome] += 1
        return outcome

    def stored(self, run: Path) -> dict[str, str]:
        """Return the labels in the table, which must hold every acknowledged answer in order."""
        copy = shutil.copytree(run, tempfile.mkdtemp(dir=self.folder), dirs_exist_ok=True)
        with closing(sqlite3.connect(Path(copy, "answers.sqlite"))) as db:
            rows = db.execute(
                "SELECT node, label FROM answers WHERE action IN ('label', 'given') ORDER BY number"
            ).fetchall()
        shutil.rmtree(copy)
        remaining = iter(rows)
        missing = [one for one in self.acknowledged if one not in remaining]
        assert not missing, f"{len(missing)} acknowledged answers are lost, {missing[0]} for one"
        self.counts["rows without a reply"] = len(rows) - len(self.acknowledged) - GIVEN
        self.seen = dict(rows)
        return self.seen

    def check_export(self, run: Path, table: dict[str, str]) -> None:
        with (run / "labels.csv").open(newline="") as file:
            exported = {row["id"]: row["label"] for row in csv.DictReader(file)}
        assert exported == table, "labels.csv is not the table"
        self.counts["checks"] += 1

    def random_kills(self, answers: int, kills: int) -> None:
        """Kill the server at a random moment of an answer, about every so many answers."""
        served = self.begin()
        at = set(self.random.sample(range(answers), kills))
        for number in range(answers):
            if number in at:
                self.answer(served, kill_after=self.random.uniform(0, 0.05))
                served.stop()
                self.counts["random kills"] += 1
                served = self.start()
            else:
                assert self.answer(served) == "kept", self.last_error
        served.stop()

    def kills_at_calls(self, calls: int) -> None:
        """Kill the server at its first, second, … system call that writes."""
        for number in range(1, calls + 1):
            served = self.start()
            inject = f"inject={WRITING}:signal=KILL:when={number}"
            command = ["strace", "-f", "-q", "-o", "/dev/null", "-e", f"trace={WRITING}"]
            tracer = subprocess.Popen([*command, "-e", inject, "-p", str(served.pid)])
            _wait_until(lambda pid=served.pid: _traced(pid))
            for _ in range(20):
                if self.answer(served) == "no reply":
                    self.counts["kills at a system call"] += 1
                    break
            served.stop()
            tracer.wait(LIMIT)

    def two_servers(self, times: int) -> None:
        served = self.start()
        for _ in range(times):
            second = Server(str(self.run))
            assert not second.url, "two servers serve one folder"
            assert second.wait() == 2, second.said
            assert self.answer(served) == "kept"
            self.counts["second servers refused"] += 1
        served.stop()

    def fit_while_labelling(self, *, links: bool) -> None:
        served = self.start(links=links)
        words = ["fit", f"--config={self.run}/config.toml", f"--out={self.run}"]
        read, write = os.pipe()
        if (pid := os.fork()) == 0:
            os.dup2(write, 1)
            os.dup2(write, 2)
            if not links:
                os.link = _refuse  # type: ignore[assignment]
            os._exit(cli.main(words))
        os.close(write)
        code = None
        while code is None:
            assert self.answer(served) == "kept", self.last_error
            self.counts["answers during a fit"] += 1
            done, status = os.waitpid(pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if done else None
        with open(read, encoding="utf-8") as output:
            said = output.read()
        assert code == 0, said
        assert "stay as they are" in said
        assert self.answer(served) == "kept", self.last_error
        served.post("finish", {})
        for _ in range(5):
            assert self.answer(served) == "kept", self.last_error
        served.stop()

    def full_disk(self, answers: int) -> None:
        """Let files grow no further, for a while: the server goes on, and says the truth."""
        served = self.start()
        for room in (0, 100, 4096, (self.run / "answers.sqlite").stat().st_size):
            resource.prlimit(served.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            for _ in range(answers):
                outcome = self.answer(served)
                assert outcome != "no reply", "the server died of a full disk"
                self.counts[f"full disk: {outcome}"] += 1
                if outcome == "refused":
                    assert "not kept" in self.last_error, self.last_error
            infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(served.pid, resource.RLIMIT_FSIZE, infinite)
            assert self.answer(served) == "kept", self.last_error
        served.stop()

    def read_only(self, answers: int) -> None:
        """Forbid to write to the folder, for a while, and to begin a server there."""
        served = self.start(obeys=True)
        assert self.answer(served) == "kept", self.last_error
        self.run.chmod(0o555)
        for _ in range(answers):
            outcome = self.answer(served)
            assert outcome == "kept", self.last_error
            assert "labels.csv" in self.last_problem, self.last_problem
            assert f"all answers so far are in {self.run}/answers.sqlite" in self.last_problem
            self.counts[f"read-only folder: {outcome}"] += 1
        served.stop()
        self.stored(self.run)
        refused = Server(str(self.run), obeys=True)
        assert not refused.url
        assert refused.wait() in (1, 2), refused.said
        assert refused.said.count("\n") == 1, refused.said
        self.counts["read-only folder: refused in one line"] += 1
        self.run.chmod(0o755)
        served = self.start(obeys=True)
        self.run.chmod(0o555)
        assert self.answer(served) == "kept", self.last_error
        self.run.chmod(0o755)
        assert self.answer(served) == "kept", self.last_error
        assert self.last_problem == "", self.last_problem
        served.stop()

    def small_disk(self) -> None:
        """The same on a small disk that is really full, and then read-only."""
        disk, home = self.folder / "disk", self.run
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]).returncode:
            self.counts["small disk: mount is not permitted"] += 1
            return
        try:
            for name in ("edges.csv", "labels.csv"):  # the settings name them as seen from the run
                shutil.copy(self.folder / name, disk)
            self.run = shutil.copytree(home, disk / "run")
            served = self.start()
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"x" * 512):
                    pass
            for _ in range(100):
                outcome = self.answer(served)
                assert outcome != "no reply"
                self.counts[f"small disk: {outcome}"] += 1
            filler.unlink()
            assert self.answer(served) == "kept", self.last_error
            served.stop()
            self.start().stop()
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            refused = Server(str(self.run))
            assert not refused.url
            assert refused.wait() in (1, 2), refused.said
            assert refused.said.count("\n") == 1, refused.said
            self.counts["read-only disk: refused in one line"] += 1
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
            shutil.rmtree(home)
            shutil.copytree(self.run, home)
        finally:
            self.run = home
            subprocess.run(["umount", disk], check=False)

    def folder_goes(self, *harms: str) -> None:
        """Harm the folder, and look for what was rescued."""
        os.environ["HOME"] = str(self.folder / "home")
        for harm in harms:
            shutil.rmtree(self.folder / "home", ignore_errors=True)
            (self.folder / "home").mkdir()
            backup = shutil.copytree(self.run, self.folder / "backup")
            served = self.start()
            assert self.answer(served) == "kept"
            table = self.run / "answers.sqlite"
            if harm == "moved":
                self.run.rename(self.folder / "moved")
            elif harm == "removed":
                shutil.rmtree(self.run)
            elif harm == "table removed":
                table.unlink()
            else:
                shutil.copy(backup / "answers.sqlite", self.run / "other")
                (self.run / "other").replace(table)
            for _ in range(3):
                assert self.answer(served) == "refused"
                (rescue,) = (self.folder / "home").iterdir()
                assert str(rescue) in self.last_error, self.last_error
            served.stop()
            self.check_export(rescue, self.stored(rescue))
            self.counts["rescued answers"] += len(self.acknowledged)
            shutil.rmtree(self.folder / "moved", ignore_errors=True)
            shutil.rmtree(self.run, ignore_errors=True)
            backup.rename(self.run)
            for name in ("answers.sqlite", "labels.csv"):
                shutil.copy(rescue / name, self.run / name)


def _refuse(*_: object, **__: object) -> None:
    raise OSError(1, "this disk gives a file one name")


def _obey_permissions() -> None:
    """Give up what lets root write where permissions forbid it (capabilities 1 and 2 of Linux)."""
    libc, sets = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert libc.capget(header, sets) == 0
    for at in range(3):
        sets[at] &= ~0b110
    assert libc.capset(header, sets) == 0


def _traced(pid: int) -> bool:
    """Whether all threads of a process are traced."""
    tasks = Path(f"/proc/{pid}/task").glob("*/status")
    try:
        return all("TracerPid:\t0\n" not in task.read_text() for task in tasks)
    except (FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile: look again
        return False


def _wait_until(condition) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--target", choices=ANSWERS, default="class")
    given = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory(prefix="nodecopy-faults-") as folder:
        campaign = Campaign(Path(folder), given.seed, given.target)
        fast, harms = given.fast, ("table replaced", "moved", "removed", "table removed")
        answers, kills, calls = (8, 1, 1) if fast else (given.answers, given.kills, given.calls)
        parts = {
            "random kills": lambda: campaign.random_kills(answers, kills),
            "two servers": lambda: campaign.two_servers(1 if fast else 3),
            "a fit while labelling": lambda: campaign.fit_while_labelling(links=True),
            "full disk": lambda: campaign.full_disk(2 if fast else 20),
            "read-only folder": lambda: campaign.read_only(1 if fast else 20),
            "the folder goes": lambda: campaign.folder_goes(*harms[: 1 if fast else 4]),
        }
        if shutil.which("strace"):
            parts["kills at system calls"] = lambda: campaign.kills_at_calls(calls)
        if not fast:
            parts["without hard links"] = lambda: campaign.fit_while_labelling(links=False)
            parts["small disk"] = campaign.small_disk
        parts["the last start"] = lambda: campaign.start().stop()
        try:
            for name, part in parts.items():
                begun = time.monotonic()
                part()
                print(f"{name}: fine, {time.monotonic() - begun:.0f} s")
        finally:
            for served in Server.started:
                served.stop()
            campaign.counts["acknowledged answers"] = len(campaign.acknowledged)
            for name, count in campaign.counts.items():
                print(f"{count:7,} {name}")


if __name__ == "__main__":
    main()
