"""The routes of studies. A handler is a line over `Study`; what waits for a commit waits without holding a thread."""

from __future__ import annotations

import asyncio
import tempfile
from asyncio import wrap_future
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from fairarm.beliefs.findings import Finding
from fairarm.readers.problem_file import parse_problem
from fairarm.service import described as example
from fairarm.service import models
from fairarm.service.answers import BODY_READ, CODES, json_answer
from fairarm.service.described import STORED, said
from fairarm.service.models import Name, example_of
from fairarm.service.problems import Unsaid, status_of
from fairarm.service.roles import TOKEN, access
from fairarm.service.settings import BATCH
from fairarm.studies import (
    ArmStanding,
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Invalid,
    Monitor,
    NotAllowed,
    Outcome,
    Studies,
    Study,
    StudyAnswer,
    StudyError,
    Summary,
    Token,
    Told,
)

T = TypeVar("T")
STUDY = "/v1/studies/{name}"


class Opened:
    """Studies by name, each looked up once."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._found: dict[str, Study] = {}

    def __call__(self, name: str) -> Study:
        if name not in self._found:
            self._found[name] = self._studies.open(name)
        return self._found[name]

    async def soon(self, name: str) -> Study:
        """The same where nothing may wait for the database."""
        return self._found[name] if name in self._found else await asyncio.to_thread(self, name)

    async def call(self, name: str, what: Callable[[Study], Future[T]]) -> T:
        """What a study answers once it is committed."""
        return await wrap_future(what(await self.soon(name)))


def token_of(request: Request) -> Token:
    """Whose request it is."""
    token: Token = request.scope[TOKEN]
    return token


def actor_of(request: Request) -> str:
    """Who stands in the record: the token's label, else the first digits of its digest."""
    token = token_of(request)
    return token.label or f"token {token.digest[:8]}"


def add_studies(app: FastAPI, studies: Studies) -> None:
    """All routes under /v1."""
    opened = Opened(studies)
    add_people(app, opened)
    add_acts(app, opened)
    add_views(app, studies, opened)
    add_admin(app, studies, opened)


def add_people(app: FastAPI, opened: Opened) -> None:
    """Who gets what, and what came of it."""
    errors = (*STORED, 409)

    @app.post(
        f"{STUDY}/assignments",
        **said("What a person gets", models.Assigned, example_of(models.Assigned), *errors, status=201, also=200),
    )
    @access("caller")
    async def assign(name: Name, body: models.AssignBody) -> Response:
        return assigned(await opened.call(name, lambda study: study.assigning(body.unit, body.group, body.known)))

    @app.post(f"{STUDY}/outcomes", **said("What became of an outcome", Told, {"status": "new"}, *errors))
    @access("caller")
    async def tell(name: Name, body: models.OutcomeBody) -> Response:
        return json_answer(await opened.call(name, lambda study: telling(study, body)))

    @app.post(
        f"{STUDY}/outcomes:batch",
        **said("What became of each outcome", models.BatchAnswer, example_of(models.BatchAnswer), *STORED),
    )
    @access("caller", body=BATCH)
    def tell_many(name: Name, body: models.BatchBody, request: Request) -> Response:
        return batch_answer(request, opened(name).tell_many([outcome_of(item) for item in body.outcomes]))


def assigned(found: Assignment) -> Response:
    """201 for a person who has just entered; 200 for one who was known, or is outside."""
    document = {"assignment": found.id, **{key: value for key, value in asdict(found).items() if key != "id"}}
    return json_answer(document, 200 if found.outside or found.repeated else 201)


def telling(study: Study, body: models.OutcomeBody) -> Future[Told]:
    """An outcome, or that there is none."""
    if isinstance(body, models.TellBody):
        return study.telling(body.assignment, body.row)
    return study.unserving(body.assignment)


def outcome_of(body: models.OutcomeBody) -> Outcome:
    """An item of a batch."""
    return Outcome(body.assignment, getattr(body, "row", None), isinstance(body, models.UnservedBody))


def batch_answer(request: Request, told: list[Told | StudyError]) -> Response:
    """Each item's status or error, in order."""
    unsaid = Unsaid(request.scope.get(BODY_READ, b"")) if any(isinstance(t, StudyError) for t in told) else None
    return json_answer({"results": [_item(each, unsaid) for each in told]})


def _item(told: Told | StudyError, unsaid: Unsaid | None) -> dict[str, str | None]:
    if isinstance(told, Told):
        return {"status": told.status, "error": None, "message": None}
    message = unsaid(str(told)) if unsaid else ""
    return {"status": None, "error": CODES[status_of(told)], "message": message}


def add_acts(app: FastAPI, opened: Opened) -> None:
    """The hand on the button."""

    def act(what: str, summary: str) -> dict[str, Any]:
        options = said(summary, models.StateAnswer, {"state": "running"}, *STORED, 409)
        return {"path": f"{STUDY}:{what}", **options}

    def done(study: Study, body: models.ActBody, do: Callable[[Study], None]) -> Response:
        confirmed(study, body.confirm)
        do(study)
        return json_answer({"state": study.state})

    @app.post(**act("pause", "The status, after no further cohort opens"))
    @access("admin")
    def pause(name: Name, body: models.StopBody, request: Request) -> Response:
        return done(opened(name), body, lambda study: study.pause(body.reason, actor_of(request), body.now))

    @app.post(**act("resume", "The status, after cohorts open again"))
    @access("admin")
    def resume(name: Name, body: models.ActBody, request: Request) -> Response:
        return done(opened(name), body, lambda study: study.resume(body.reason, actor_of(request)))

    @app.post(**act("close", "The status, after the study is closed for good"))
    @access("admin")
    def close(name: Name, body: models.StopBody, request: Request) -> Response:
        return done(opened(name), body, lambda study: study.close(body.reason, actor_of(request), body.now))

    @app.post(**act("drop", "The status, after a cohort is left out"))
    @access("admin")
    def drop(name: Name, body: models.DropBody, request: Request) -> Response:
        return done(opened(name), body, lambda study: study.drop(body.cohort, body.reason, actor_of(request)))


def confirmed(study: Study, name: str) -> None:
    """What cannot be undone asks for the study's name twice."""
    if name != study.name:
        raise Invalid(f"confirm must be the study's name again, '{study.name}'.")


def add_views(app: FastAPI, studies: Studies, opened: Opened) -> None:
    """What is known. Of cohorts that are not settled, counts only."""

    @app.get("/v1/studies", **said("All studies that the token may see", list[Summary], [example.SUMMARY], 503))
    @access("viewer")
    def summaries(request: Request) -> Response:
        only = token_of(request).study
        return json_answer([found for found in studies.summaries() if only in (None, found.name)])

    @app.get(STUDY, **said("What a study is about", models.StudyAbout, example_of(models.StudyAbout), *STORED))
    @access("viewer")
    def about(name: Name) -> Response:
        return json_answer(about_study(opened(name)))

    def view(what: str, summary: str, kind: Any, shown: Any, look: Callable[[Study], Any]) -> None:
        @app.get(f"{STUDY}/{what}", name=what, **said(summary, kind, shown, *STORED))
        @access("viewer")
        def show(name: Name) -> Response:
            return json_answer(look(opened(name)))

    view("verdict", "The answer, or how far it is", StudyAnswer, example.ANSWER, answer_of)
    view("cohorts", "All cohorts, in order", list[CohortReport], [example.COHORT], Study.cohorts)
    view("findings", "What was noticed", list[Finding], [example.FINDING], Study.findings)
    view("exposure", "Who was served with what", ExposureReport, example.EXPOSURE, Study.exposure)
    view("arms", "What is known of each arm", list[ArmStanding], [example.ARM], Study.arms)
    view("history", "What was known, by settled cohort", list[HistoryPoint], [example.HISTORY], Study.history)
    view("monitors", "Tests of what is assumed", list[Monitor], [example.MONITOR], Study.monitors)
    view("events", "What happened, who did it and why", list[Event], [example.EVENT], Study.events)


def answer_of(study: Study) -> dict[str, Any]:
    """A study's verdict without the algorithm's own, which holds the whole problem."""
    found = study.verdict()
    return {each.name: getattr(found, each.name) for each in fields(StudyAnswer)}


def about_study(study: Study) -> dict[str, Any]:
    """Name, arms and options of a study."""
    options = study.options
    return {
        "name": study.name,
        "state": study.state,
        "arms": list(study.problem.arm_names),
        "deployed": options.get("deployed"),
        "options": options,
        "under_way_at_once": study.under_way_at_once,
    }


FORMATS = {
    "csv": ("rows.csv", "text/csv"),
    "parquet": ("rows.parquet", "application/vnd.apache.parquet"),
    "toml": ("rows.csv", "application/toml"),
}
Format = Literal["csv", "parquet", "toml"]


def add_admin(app: FastAPI, studies: Studies, opened: Opened) -> None:
    """Studies are made, outcomes corrected, people erased, rows taken away."""

    @app.post(
        "/v1/studies", **said("The new study", models.StudyAbout, example_of(models.StudyAbout), 409, 503, status=201)
    )
    @access("admin")
    def create(body: models.CreateBody, request: Request) -> Response:
        if token_of(request).study is not None:
            raise NotAllowed("A token of one study cannot make another. Use one for all studies.")
        return json_answer(about_study(studies.create(**created(body), actor=actor_of(request))), 201)

    @app.post(f"{STUDY}/corrections", **said("Whether it counts", models.Corrected, {"counts": True}, *STORED, 409))
    @access("admin")
    def correct(name: Name, body: models.CorrectionBody, request: Request) -> Response:
        study = opened(name)
        confirmed(study, body.confirm)
        return json_answer({"counts": study.correct(body.assignment, body.row, body.reason, actor_of(request))})

    @app.post(f"{STUDY}:forget", **said("Whether there was such a person", models.Forgotten, {"erased": True}, *STORED))
    @access("admin")
    def forget(name: Name, body: models.ForgetBody, request: Request) -> Response:
        study = opened(name)
        confirmed(study, body.confirm)
        return json_answer({"erased": study.forget(body.unit, actor_of(request))})

    @app.get(f"{STUDY}/export", **exported_options())
    @access("admin")
    def export(name: Name, format: Annotated[Format, Query(description="toml: the problem.")] = "csv") -> Response:
        return exported(opened(name), format)

    @app.get("/v1/token", **said("What the token is good for", models.Whose, example_of(models.Whose)))
    @access("any")
    async def whose(request: Request) -> Response:
        token = token_of(request)
        return json_answer({"role": token.role, "study": token.study, "label": token.label})


def created(body: models.CreateBody) -> dict[str, Any]:
    """Arguments of `Studies.create`; the problem is read where there are no other files."""
    with tempfile.TemporaryDirectory() as empty:
        problem = parse_problem(body.problem, "problem", Path(empty)).problem
    return {**body.model_dump(exclude={"problem"}), "problem": problem}


def exported_options() -> dict[str, Any]:
    """How the rows that are taken away are described."""
    kinds = {kind: {"schema": {"type": "string", "format": "binary"}} for _, kind in FORMATS.values()}
    options = said("The rows that count, a log for `fairarm evaluate`; or the problem", None, None, *STORED)
    options["responses"][200] = {"description": options["summary"], "content": kinds}
    return {**options, "response_class": Response}


def exported(study: Study, format: Format) -> Response:
    """A log and its problem, made in a folder that is gone afterwards."""
    file, kind = FORMATS[format]
    with tempfile.TemporaryDirectory() as folder:
        study.export(Path(folder) / file)
        content = (Path(folder) / (f"{file}.toml" if format == "toml" else file)).read_bytes()
    shown = f'attachment; filename="{study.name}.{format}"'
    return Response(content, headers={"content-disposition": shown}, media_type=kind)
