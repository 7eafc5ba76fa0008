"""How far a fit is: lines without a terminal, if asked for."""

from __future__ import annotations

import re

from nodecopy.core.progress import progress_bar, progress_steps


def test_elsewhere_than_on_a_terminal_there_are_lines_if_asked_for(capsys):
    with progress_bar("fitting", True, pause=0.0) as report:
        for done in range(5):
            report(done, 4)
    lines = capsys.readouterr().err.splitlines()
    shares = [re.fullmatch(r"fitting: (\d+)% in 0:00:00, about 0:00:00 left", x)[1] for x in lines]
    assert shares == ["25", "50", "75", "100"]


def test_elsewhere_than_on_a_terminal_there_is_nothing_by_default(capsys):
    for show in (None, False):
        with progress_bar("fitting", show, pause=0.0) as report:
            assert report is None
    assert capsys.readouterr().err == ""


def test_steps_are_named_with_their_share_of_the_work(capsys):
    with progress_steps({"reading": 1, "encoding": 2, "writing": 1}, True, pause=0.0) as begin:
        for name in ("reading", "encoding", "writing"):
            begin(name)
    lines = capsys.readouterr().err.splitlines()
    assert [line[: line.index(" in")] for line in lines] == ["encoding: 25%", "writing: 75%"]
    with progress_steps({"reading": 1}, False) as begin:
        begin("reading")
    assert capsys.readouterr().err == ""


def test_a_function_is_told_instead(capsys):
    told = []
    with progress_bar("fitting", lambda *at: told.append(at)) as report:
        report(1, 4)
    assert told == [("fitting", 1, 4)]
    assert capsys.readouterr().err == ""
