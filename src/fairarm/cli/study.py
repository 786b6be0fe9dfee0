"""``fairarm study``: live studies in a database, from creating one to its end. Those about people: `study_people`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fairarm.cli import study_people
from fairarm.cli.shared import AsJson, RequireAnswer, check_answer, load, note
from fairarm.cli.study_options import Actor, Db, Now, Reason, StudyName, actor_of, done, one_study, opened, shown
from fairarm.errors import OptionError

study = typer.Typer(
    help="Run a live study, kept in a database.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


def create(
    db: Db,
    config: Annotated[
        Path, typer.Option(help="A study file: problem, people, arrivals, window and more (docs/live.md).")
    ],
    name: Annotated[str | None, typer.Option(help="The name of the study; that of the file if not given.")] = None,
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Begin a study as a file describes it."""
    from fairarm.readers.study_file import read_study

    read = read_study(config)
    called = name if name is not None else read.name
    if not called:
        raise OptionError(f'{config}: the study has no name. Add name = "…" to the file, or give --name.')
    scenario = load(read.problem, read.tolerance)
    with opened(db) as studies:
        from fairarm.cli import study_documents

        made = studies.create(called, scenario.problem, **read.options, actor=actor_of(actor))
        if as_json:
            return done(True, study_documents.created(made))
        from fairarm.cli import show_study

        return show_study.created(made)


def list_studies(db: Db, as_json: AsJson = False) -> None:
    """All studies of the database."""
    with opened(db) as studies:
        from fairarm.cli import study_documents

        found = studies.summaries()

    def show() -> None:
        from fairarm.cli import show_study

        show_study.summaries(found)

    shown(as_json, lambda: study_documents.plain(found), show)


def show(
    db: Db,
    name: StudyName,
    events: Annotated[bool, typer.Option("--events", help="Also everything that happened.")] = False,
    as_json: AsJson = False,
    require_answer: RequireAnswer = False,
) -> None:
    """What is known, and what comes next."""
    with opened(db) as studies:
        from fairarm.cli import study_documents

        found = studies.open(name)

        def tables() -> None:
            from datetime import UTC, datetime

            from fairarm.cli import show_study

            held = any(each.held for each in studies.summaries() if each.name == name)
            show_study.study(found, datetime.now(UTC), held, events)

        shown(as_json, lambda: study_documents.study(found), tables)
        if require_answer:
            check_answer(found.verdict().status)


def pause(
    db: Db, name: StudyName, reason: Reason, now: Now = False, actor: Actor = None, as_json: AsJson = False
) -> None:
    """Open no cohort after this one."""
    with one_study(db, name) as found:
        found.pause(reason, actor_of(actor), now=now)
        _changed(found, as_json)


def resume(db: Db, name: StudyName, reason: Reason, actor: Actor = None, as_json: AsJson = False) -> None:
    """Cohorts open again, from the next one."""
    with one_study(db, name) as found:
        found.resume(reason, actor_of(actor))
        _changed(found, as_json)


def close(
    db: Db, name: StudyName, reason: Reason, now: Now = False, actor: Actor = None, as_json: AsJson = False
) -> None:
    """End it for good.

    After the open cohort; those that are out still settle.
    """
    with one_study(db, name) as found:
        found.close(reason, actor_of(actor), now=now)
        _changed(found, as_json)


def drop(
    db: Db,
    name: StudyName,
    cohort: Annotated[int, typer.Argument(min=0, help="The number of the cohort.")],
    reason: Reason,
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Leave a cohort out.

    For a reason that has nothing to do with outcomes, such as an outage. The verdict names it.
    """
    with one_study(db, name) as found:
        found.drop(cohort, reason, actor_of(actor))
        _changed(found, as_json)


def _changed(found: Any, as_json: bool) -> None:
    from fairarm.reports.words.studies import STATES

    state = found.state
    done(as_json, {"study": found.name, "state": str(state)}, f"{found.name} is {STATES[state]}.")


def export(
    db: Db,
    name: StudyName,
    path: Annotated[Path, typer.Argument(help="A .csv or .parquet file; the problem is written beside it.")],
    as_json: AsJson = False,
) -> None:
    """Write rows that count, for `evaluate`.

    They are about people.
    """
    with one_study(db, name) as found:
        rows = found.export(path)
    text = f"{rows} rows in {path}; the problem in {path}.toml. `fairarm evaluate {path}.toml {path}` reads them."
    done(as_json, {"study": name, "rows": rows, "path": str(path), "problem": f"{path}.toml"}, text)


def verify(
    db: Db,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDY]...", help="All studies if none is named.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check what is stored.

    Decks, budgets, counts, evidence, the chain of events. Exit code 1 where something is wrong.
    """
    with opened(db) as studies:
        from fairarm.cli import study_documents

        found = [studies.open(name).verify() for name in names or studies.names()]

    def show() -> None:
        from fairarm.cli import show_study

        show_study.verifications(found)

    shown(
        as_json, lambda: study_documents.plain([{**study_documents.plain(each), "ok": each.ok} for each in found]), show
    )
    if not all(each.ok for each in found):
        raise typer.Exit(1)


def backup(
    db: Db,
    path: Annotated[Path, typer.Argument(help="A new file.")],
    as_json: AsJson = False,
) -> None:
    """Copy an SQLite database in use.

    Of PostgreSQL use pg_dump.
    """
    with opened(db) as studies:
        studies.backup(path)
    done(as_json, {"path": str(path)}, f"A copy is in {path}. After putting it back: fairarm study restored.")


def restored(db: Db, reason: Reason, actor: Actor = None, as_json: AsJson = False) -> None:
    """To be said after a backup was put back.

    Cuts all cohorts that are not settled, since what was told since is gone.
    """
    with opened(db) as studies:
        cut = studies.restored(reason, actor_of(actor))
    done(as_json, {"cut": list(cut)}, *(cut or ("No cohort was open or out.",)))


def confirm_clock(db: Db, reason: Reason, actor: Actor = None, as_json: AsJson = False) -> None:
    """Say that the clock is right again."""
    with opened(db) as studies:
        freed = studies.confirm_clock(reason, actor_of(actor))
    done(
        as_json,
        {"studies": list(freed)},
        *(f"{name} goes on." for name in freed),
        *([] if freed else ["No study was held."]),
    )


def token(
    db: Db,
    role: Annotated[str | None, typer.Option(help="Make one: viewer, caller or admin.")] = None,
    name: Annotated[str | None, typer.Option("--study", help="For this study alone; for all if not given.")] = None,
    label: Annotated[str, typer.Option(help="A name to find it by.")] = "",
    revoke: Annotated[
        str | None, typer.Option(help="Refuse the tokens of this label, or of this digest, from now on.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tokens for `serve`: make, revoke, list.

    --role makes one, which is shown once; --revoke ends one; with neither, they are listed.
    """
    if role is not None and revoke is not None:
        raise OptionError("--role makes a token and --revoke ends one. Give one of them.")
    with opened(db) as studies:
        if role is not None:
            made = studies.tokens.make(role, name, label)  # type: ignore[arg-type]  # checked there
            return done(as_json, {"token": made, "role": role, "study": name, "label": label}, made)
        if revoke is not None:
            count = studies.tokens.revoke(revoke)
            return done(as_json, {"revoked": count}, f"{count} revoked.")
        found = studies.tokens.all()
    from fairarm.cli import study_documents

    def show() -> None:
        from fairarm.cli import show_study

        show_study.tokens(found)

    return shown(as_json, lambda: study_documents.plain(found), show)


def run(
    db: Db,
    once: Annotated[bool, typer.Option("--once", help="Once, and then stop.")] = False,
    until_over: Annotated[
        bool, typer.Option("--until-over", help="Stop when every study is finished or closed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Open and settle cohorts when due.

    Until interrupted. `fairarm serve` does this by itself.
    """
    import time

    from fairarm.cli.shared import print_json

    with opened(db) as studies:
        while True:
            happened = studies.tick()
            if as_json and (happened or once):
                print_json({"done": list(happened)})
            for line in happened:
                if not as_json:
                    done(False, None, line)
            if once or (until_over and all(each.state.over for each in studies.summaries())):
                if not happened and not as_json:
                    note("nothing was due")
                return
            time.sleep(studies.tick_every)


_COMMANDS: dict[str, Callable[..., None]] = {
    "create": create, "list": list_studies, "show": show, "why": study_people.why, "assign": study_people.assign,
    "tell": study_people.tell, "unserved": study_people.unserved, "correct": study_people.correct,
    "forget": study_people.forget, "pause": pause, "resume": resume, "close": close, "drop": drop, "export": export,
    "verify": verify, "backup": backup, "restored": restored, "confirm-clock": confirm_clock, "token": token, "run": run,
}  # fmt: skip

for _name, _command in _COMMANDS.items():
    study.command(_name)(_command)
