"""``fairarm init``: a problem file drafted from a log."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairarm.cli.shared import AsJson, Engine, LogName, print_json
from fairarm.errors import OptionError
from fairarm.files import check_path, write_whole

if TYPE_CHECKING:
    from fairarm.logs.draft import Described, Draft


def init(
    log: LogName,
    out: Annotated[Path, typer.Option(help="Where to write the draft.")] = Path("problem.toml"),
    tolerance: Annotated[
        float | None,
        typer.Option(help="The largest gap that counts as fair, in the outcome's units; left open if not given."),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="The column of the sensitive attribute, if you know it; once for each of several."),
    ] = None,
    decision: Annotated[str | None, typer.Option(help="The column of the decision.")] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of the outcome.")] = None,
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """Draft a problem file from a log.

    What was guessed from the columns is marked to be confirmed.
    """
    from fairarm.logs.draft import draft_problem
    from fairarm.logs.sources import open_log

    _check_new(out)
    draft = draft_problem(
        open_log(log, engine=engine), sensitive=sensitive, decision=decision, outcome=outcome, tolerance=tolerance
    )
    write_whole(out, draft.text, "draft")
    if as_json:
        print_json({"saved": str(out), **_document(draft)})
    else:
        _show(draft, log, out)


def _check_new(out: Path) -> None:
    """A file can be made there, and nothing is there yet; said before the log is read, which may take long."""
    check_path(out, "draft")
    if out.exists() or out.is_symlink():
        what = "exists" if out.exists() else "is a link to a file that is not there"
        raise OptionError(f"{out} {what}. Choose another name with --out; nothing was written.")


def _document(draft: Draft) -> dict[str, Any]:
    return {
        "log": draft.log,
        "lines": draft.lines,
        "rows": draft.rows,
        "used": draft.used,
        "to_confirm": list(draft.to_confirm),
        "columns": [_column(column) for column in draft.columns],
        "labels": [
            {"column": name, "value": value, "state": state}
            for name, labels in draft.labels.items()
            for value, state in labels.items()
        ],
        "drop": [
            {"column": name, "value": value, "rows": rows}
            for name, values in draft.drop.items()
            for value, rows in values.items()
        ],
        "outcome": draft.outcome,
        "unusable_outcomes": _unusable(draft, "outcome"),
        "unusable_decisions": _unusable(draft, "decision"),
        "groups": [{"group": group.group, "rows": group.rows, "mean": group.mean} for group in draft.groups],
        "mean": draft.mean,
        "plain_gap": draft.plain_gap,
        "tolerance": draft.tolerance,
    }


def _unusable(draft: Draft, role: str) -> list[dict[str, Any]]:
    return [{"value": value, "rows": rows} for value, rows in draft.unusable.get(role, {}).items()]


def _column(column: Described) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "role": column.role,
        "why": column.why,
        "values": [{"value": value, "rows": rows} for value, rows in column.values],
        "other_values": column.other_values,
        "other_rows": column.other_rows,
        "missing": column.missing,
        "low": column.low,
        "high": column.high,
    }


def _show(draft: Draft, log: str, out: Path) -> None:
    from fairarm.cli.terminal import say
    from fairarm.logs.draft.naming import shown
    from fairarm.logs.draft.text import by_group, described, left_out, unusable

    say(f"saved {out}")
    say(f"Columns of {shown(draft.log)}, with the number of lines of each value:")
    for column in draft.columns:
        for line in described(column):
            say(f"  {line}", hang=8)
    for name, labels in draft.labels.items():
        meant = ", ".join(f"{shown(value)} means {shown(state)}" for value, state in labels.items())
        say(f"Labels proposed for {shown(name)}: {meant}.")
    for name, values in draft.drop.items():
        say(f"Lines left out by {shown(name)}: {left_out(values)}.")
    for line in unusable(draft):
        say(line)
    say(f"{draft.used:,} of {draft.rows:,} rows can be used. Mean {shown(draft.outcome)} as it is: {by_group(draft)}.")
    for item in draft.to_confirm:
        say(f"  to confirm: {item}", hang=4)
    given = "" if draft.tolerance is not None else " --tolerance X"
    say(f"Then: fairarm evaluate {quote(str(out))} {quote(log)}{given}")
