"""One offline page of a result, for the people who decide."""

from fairarm.reports.page.write import check_report_path, report

__all__ = ["check_report_path", "report"]
