"""What the house reads of a table's journal: a gaming day's or a shift's report, and a round told again.

Read-only, without the key, and beside the play: the books are read from the journal's files.
"""

from daemon.report.books import NoSuchDay, NoSuchRound
from daemon.report.day import Report, report
from daemon.report.page import page
from daemon.report.story import Story, story

__all__ = ["NoSuchDay", "NoSuchRound", "Report", "Story", "page", "report", "story"]
