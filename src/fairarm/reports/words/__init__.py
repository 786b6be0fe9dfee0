"""All sentences and numbers in plain words, made here once for terminal, page and docs; results hold codes and numbers."""

from typing import TYPE_CHECKING

from fairarm.late import late_names
from fairarm.reports.words.numbers import (
    Marked,
    between,
    count,
    digits_of,
    gap_unit_of,
    interval_digits,
    limits,
    names,
    percent,
    plan_text,
    pulls_text,
    unit_of,
    unmarked,
    value,
    weight,
    whole,
)
from fairarm.reports.words.problems import limit_text, not_fair_means, paper_lines, question, wide_tolerance
from fairarm.reports.words.runs import (
    after_phase,
    answer_of,
    arm_reason,
    closing,
    guarantee_of,
    law_text,
    mixture_text,
    not_most_probable,
    posterior,
    started_from,
    sureness,
)

if TYPE_CHECKING:
    from fairarm.reports.words.evaluations import (
        METHODS,
        certified_labels,
        certified_text,
        chances,
        left_to_learn,
        looks_text,
        no_arm,
        not_named,
        plain_gap_text,
        why_gaps_differ,
    )
    from fairarm.reports.words.statements import bounds_text, sentence

__getattr__ = late_names(
    __name__,
    {
        "fairarm.reports.words.evaluations": (
            "METHODS",
            "certified_labels",
            "certified_text",
            "chances",
            "left_to_learn",
            "looks_text",
            "no_arm",
            "not_named",
            "plain_gap_text",
            "why_gaps_differ",
        ),
        "fairarm.reports.words.statements": ("bounds_text", "sentence"),
    },
)

__all__ = [
    "METHODS",
    "Marked",
    "after_phase",
    "answer_of",
    "arm_reason",
    "between",
    "bounds_text",
    "certified_labels",
    "certified_text",
    "chances",
    "closing",
    "count",
    "digits_of",
    "gap_unit_of",
    "guarantee_of",
    "interval_digits",
    "law_text",
    "left_to_learn",
    "limit_text",
    "limits",
    "looks_text",
    "mixture_text",
    "names",
    "no_arm",
    "not_fair_means",
    "not_most_probable",
    "not_named",
    "paper_lines",
    "percent",
    "plain_gap_text",
    "plan_text",
    "posterior",
    "pulls_text",
    "question",
    "sentence",
    "started_from",
    "sureness",
    "unit_of",
    "unmarked",
    "value",
    "weight",
    "whole",
    "why_gaps_differ",
    "wide_tolerance",
]
