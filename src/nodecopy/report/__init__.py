"""The report of a run: its page, and its lines for the terminal."""

from nodecopy.report.page import report_page

__all__ = ["report_page"]
