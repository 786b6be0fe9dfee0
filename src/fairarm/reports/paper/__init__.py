"""The paper's evidence as files: tables, figures, claims with verdicts, and one page with all of it."""

from fairarm.reports.paper.write import write_report

__all__ = ["write_report"]
