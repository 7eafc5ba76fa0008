"""The report of a fit: a page to look at, and tables for other programs."""

from nodecopy.report.labelled.folder import check_folder, tidy_folder, write_folder

__all__ = ["check_folder", "tidy_folder", "write_folder"]
