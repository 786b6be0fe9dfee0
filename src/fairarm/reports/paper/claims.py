"""All statements with their verdicts, as sections and as a Markdown file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from fairarm.experiments.paper.plan import ABLATION, FOUR, SRIS, SYNTHETIC
from fairarm.reports.paper import beyond, numerical
from fairarm.reports.paper.judging import Claim, ClaimSection, ClaimTable, Material, Statement, judge
from fairarm.reports.paper.rules import HINDSIGHT, NAMES, RULES, NotMeasuredError, count_text
from fairarm.reports.words import pulls_text

QUICK_NOTE = (
    "This is a quick look: few runs of few instances at few numbers of pulls, to see that everything works. "
    "Its verdicts are not evidence; run the command without --quick for that."
)
INTRODUCTION = (
    "What the paper states, in our words, next to what was measured. Every verdict is computed from results.csv, "
    "instances.csv and the bounds by the rules below. Runs are spread over several instances that were made to the "
    "paper's description, since its own are not published; tests compare these instances, not all that could be made. "
    "Its figures are not in its source, so the numbers of pulls it used are known for HEPAR-II only. "
    "Where a statement fails under our default reading, the other readings of the text are tried (tight and HEPAR-II only)."
)


def claim_sections(m: Material) -> list[ClaimSection]:
    """Every section in the paper's order, claims numbered through."""
    numbers = count(1)

    def judged(statements: list[Statement]) -> tuple[Claim, ...]:
        return tuple(judge(next(numbers), statement) for statement in statements)

    return [
        ClaimSection("No fairness constraint", "synthetic", judged(numerical.none(m)), tables_of(m, "synthetic", SYNTHETIC[:1], (*FOUR, *SRIS))),
        ClaimSection("Loose constraint", None, judged(numerical.loose(m)), tables_of(m, "synthetic", SYNTHETIC[1:2])),
        ClaimSection("Tight constraint", None, judged(numerical.tight(m)), tables_of(m, "synthetic", SYNTHETIC[2:])),
        ClaimSection("Ablation: the effect of divergences", "ablation", judged(numerical.ablation(m)), tables_of(m, "ablation", ABLATION), _notes(
            lambda: "The paper's paragraph on the second setting (low M, high D) credits the smaller fairness divergence; "
            "by its own caption it is M that is small there.")),
        ClaimSection("HEPAR-II", "hepar2", judged(beyond.hepar2(m)), tables_of(m, "hepar2", ("hepar2", "hepar2-binding")),
                _notes(lambda: beyond.programme_note(m), lambda: beyond.binding_note(m))),
        ClaimSection("The theorems", "bounds", judged(beyond.theorems(m)), tables_of(m, "bounds", (*SYNTHETIC, "no-fair-arm"), FOUR[:1])),
        ClaimSection("No fair arm", "no-fair-arm", (), tables_of(m, "no-fair-arm", ("no-fair-arm",)), _notes(lambda: beyond.baseline_note(m))),
        ClaimSection("SRIS in its own setting", "sris", judged(beyond.sris(m)), tables_of(m, "sris", ("sris",), SRIS, "final_arm=random"), _notes(
            lambda: "The laws of the arms are not published, so only the shape of these curves can be compared.")),
        ClaimSection("What the readings change", "readings", (), tuple(beyond.reading_tables(m)), _notes(lambda: beyond.reading_note(m))),
    ]  # fmt: skip


def _notes(*makers: Callable[[], str]) -> tuple[str, ...]:
    """Those whose points were run."""

    def made() -> Iterator[str]:
        for make in makers:
            try:
                yield make()
            except NotMeasuredError:
                continue

    return tuple(made())


def tables_of(
    m: Material, experiment: str, settings: tuple[str, ...], names: tuple[str, ...] = FOUR, reading: str = "default"
) -> tuple[ClaimTable, ...]:
    """Errors with limits: a row for each number of pulls, a column for each algorithm."""
    tables = []
    for setting in settings:
        try:
            curves = {name: m.results.curve(experiment, setting, name, reading) for name in names}
        except NotMeasuredError:
            continue
        pulls = sorted({T for curve in curves.values() for T in curve})
        rows = tuple((pulls_text(T), *(count_text(curve[T]) for curve in curves.values())) for T in pulls)
        tables.append(ClaimTable(setting, ("T", *(NAMES[name] for name in names)), rows))
    return tuple(tables)


def claims_text(sections: list[ClaimSection], seed: int, version: str, quick: bool) -> str:
    """claims.md."""
    lines = ["# The paper's claims, measured", ""]
    if quick:
        lines += [f"**{QUICK_NOTE}**", ""]
    lines += [INTRODUCTION, "", f"fairarm {version}, seed {seed}{', --quick' if quick else ''}.", "", "## Rules", ""]
    lines += [f"- **{word}**: {meaning}" for word, meaning in RULES]
    lines += ["", HINDSIGHT]
    lines += ["", "## Summary", "", *summary_lines(sections)]
    for section in sections:
        lines += ["", f"## {section.title}", "", *_section_lines(section)]
    return "\n".join(lines).rstrip() + "\n"


def summary_lines(sections: list[ClaimSection]) -> list[str]:
    """Every claim with its place in the paper and the verdict, as lines of Markdown."""
    rows = [(str(c.number), c.says, c.place, f"**{c.verdict}**") for section in sections for c in section.claims]
    return _table_lines(("#", "the paper says", "where", "verdict"), rows)


def _section_lines(section: ClaimSection) -> list[str]:
    lines: list[str] = []
    for claim in section.claims:
        lines += [f"**{claim.number}. {claim.says}** ({claim.place})", "", f"Verdict: **{claim.verdict}**.", ""]
        lines += [f"Measured: {claim.measured}", ""]
    for note in section.notes:
        lines += [note, ""]
    for table in section.tables:
        lines += [f"Errors with limits, {table.title}:", "", *_table_lines(table.columns, table.rows), ""]
    return lines


def _table_lines(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    body = [columns, tuple("---" for _ in columns), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in body]
