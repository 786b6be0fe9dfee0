"""Pages to watch live studies, and forms for admins: complete without script, nothing from elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import FastAPI, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairarm.errors import one_line
from fairarm.reports.page.parts import HINTS, Page
from fairarm.reports.page.study import SeenStudy, study_page
from fairarm.reports.page.study_arm import arm_page
from fairarm.reports.page.study_list import list_page
from fairarm.reports.rendering import render
from fairarm.reports.words.studies import STATES, known_now
from fairarm.service.problems import status_of
from fairarm.service.roles import TOKEN, access
from fairarm.service.session import add_session, form_of
from fairarm.studies import Invalid, NotFound, Studies, StudyError, StudyState, Token

if TYPE_CHECKING:
    from fairarm.studies import Study

STATIC = {"dashboard.js": "text/javascript", "icon.svg": "image/svg+xml"}
LONGEST_REASON = 500
PRICE = "At once: stop the open cohort too. That costs 3 nats of evidence; without it the open cohort goes on to its end, which is free."


@dataclass(frozen=True)
class Act:
    """Something an admin can do to a study, as a form."""

    name: str
    title: str
    words: str
    button: str
    action: str = ""
    now: str = ""
    """What it means to do it at once; empty where that cannot be chosen."""
    cohorts: Sequence[int] = ()
    open: bool = False


@dataclass(frozen=True)
class View:
    """What stands around a page: who looks at it, and what they can do."""

    who: str
    trail: Sequence[tuple[str, str]] = ()
    state: str = ""
    acts: Sequence[Act] = ()
    confirm: str = ""
    refused: str = ""
    spoken: str = ""
    """What is read aloud when it changes: not every second that goes by."""
    version: str = version("fairarm")


PAUSE = Act("pause", "Pause the study", "No cohort opens after the one that is open.", "Pause", now=PRICE)
RESUME = Act("resume", "Resume the study", "Cohorts open again, from the next one.", "Resume")
CLOSE = Act(
    "close",
    "Close the study",
    "For good: no cohort opens any more. Cohorts that are out are still settled, and the answer stands.",
    "Close for good",
    now=PRICE,
)
DROP = Act(
    "drop",
    "Leave out a cohort",
    "Only for an outage that has nothing to do with outcomes. You state that it has not, and the verdict names the cohort.",
    "Leave it out",
)


# ---- addresses ----


def study_address(name: str) -> str:
    """Of a study's page."""
    return f"/studies/{quote(name, safe='')}"


def arm_addresses(study: Study) -> dict[str, str]:
    """Of the pages of its arms."""
    return {arm: f"{study_address(study.name)}/arms/{k}" for k, arm in enumerate(study.problem.arm_names)}


# ---- pages as text ----


def login_page(wrong: bool) -> str:
    """The page that asks for a token."""
    return render("login.html.j2", wrong=wrong)


def shown(page: Page, view: View) -> str:
    """A page with what stands around it."""
    return render("dashboard.html.j2", page=page, view=view, drawn=Markup)


@cache
def style_sheet() -> str:
    """Of all pages: that of reports, and what only these need."""
    return render("dashboard.css.j2", hints=list(HINTS))


def acts_of(study: str, status: StudyState, unsettled: Sequence[int], chosen: str = "") -> list[Act]:
    """What an admin can do now; the form that was refused is open."""
    acts = {
        StudyState.RUNNING: [PAUSE, CLOSE],
        StudyState.PAUSED: [RESUME, CLOSE],
    }.get(status, [])
    every = [*acts, *([DROP] if unsettled else [])]
    made = []
    for act in every:
        action = f"{study_address(study)}/{act.name}"
        cohorts = unsettled if act is DROP else ()
        made.append(Act(act.name, act.title, act.words, act.button, action, act.now, cohorts, act.name == chosen))
    return made


# ---- routes ----


class Pages:
    """The pages of a database of studies."""

    def __init__(self, studies: Studies) -> None:
        self.studies = studies

    def list(self, token: Token) -> str:
        """All studies that the token is for."""
        found = [one for one in self.studies.summaries() if token.study in (None, one.name)]
        page = list_page(found, {one.name: study_address(one.name) for one in found})
        return shown(page, View(who_of(token)))

    def seen(self, name: str) -> SeenStudy:
        """A study as it is now."""
        study = self.studies.open(name)
        held = any(one.held for one in self.studies.summaries() if one.name == name)
        return SeenStudy.of(study, self.studies.now(), held, arm_addresses(study))

    def study(self, name: str, token: Token, refused: str = "", chosen: str = "") -> str:
        """The page of a study."""
        seen = self.seen(name)
        unsettled = [one.number for one in seen.cohorts if one.state in ("open", "out")]
        acts = acts_of(name, seen.verdict.state, unsettled, chosen) if token.role == "admin" else []
        view = View(
            who_of(token),
            [(name, study_address(name))],
            STATES[seen.verdict.state],
            acts,
            confirm=name,
            refused=refused,
            spoken=known_now(seen.verdict),
        )
        return shown(study_page(seen), view)

    def arm(self, name: str, number: str, token: Token) -> str:
        """The page of one arm, by its number."""
        seen = self.seen(name)
        position = whole_number(number)
        if position is None or position >= len(seen.arms):
            raise NotFound(f"The study has {len(seen.arms)} arms, numbered from 0; there is none with this number.")
        arm = seen.arms[position]
        trail = [(name, study_address(name)), (arm.name, seen.addresses[arm.name])]
        return shown(arm_page(seen, arm), View(who_of(token), trail, STATES[seen.verdict.state]))

    def act(self, name: str, what: str, form: Mapping[str, str], actor: str) -> None:
        """Do what a form asks for; its reason and the study's name are needed."""
        study = self.studies.open(name)
        reason = form.get("reason", "").strip()
        if form.get("confirm") != name:
            raise Invalid("To confirm, the study's name must be given exactly. Nothing was changed.")
        if not reason or len(reason) > LONGEST_REASON:
            raise Invalid(f"A reason of 1 to {LONGEST_REASON} characters is needed. Nothing was changed.")
        at_once = form.get("now") == "yes"
        if what == "pause":
            study.pause(reason, actor, now=at_once)
        elif what == "resume":
            study.resume(reason, actor)
        elif what == "close":
            study.close(reason, actor, now=at_once)
        else:
            cohort = whole_number(form.get("cohort", ""))
            if cohort is None:
                raise Invalid("A cohort is given by its number. Nothing was changed.")
            study.drop(cohort, reason, actor)


def whole_number(text: str) -> int | None:
    """Of at most nine digits; None where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


def who_of(token: Token) -> str:
    """Who is signed in."""
    return f"{token.label or 'no name'} ({token.role})"


def actor_of(token: Token) -> str:
    """As events name who did something."""
    return token.label or f"token {token.digest[:8]}"


def add_pages(app: FastAPI, studies: Studies) -> None:
    """All pages, the forms, and the files that they need."""
    add_session(app, app.state.doors, login_page)
    pages = Pages(studies)
    _add_static(app)
    _add_views(app, pages)
    for act in (PAUSE, RESUME, CLOSE, DROP):
        _add_act(app, pages, act.name)


def _add_static(app: FastAPI) -> None:
    kept = {"cache-control": "max-age=300"}

    @app.get("/static/dashboard.css", include_in_schema=False)
    @access("none")
    def style() -> Response:
        return Response(style_sheet(), media_type="text/css", headers=kept)

    for name, kind in STATIC.items():
        text = (files("fairarm.service") / "static" / name).read_text(encoding="utf-8")
        response = Response(text, media_type=kind, headers=kept)
        app.get(f"/static/{name}", include_in_schema=False)(access("none")(_always(response)))


def _always(response: Response) -> Callable[[], Response]:
    def answer() -> Response:
        return response

    return answer


def _add_views(app: FastAPI, pages: Pages) -> None:
    @app.get("/", include_in_schema=False)
    @access("viewer", page=True)
    def studies(request: Request) -> Response:
        return HTMLResponse(pages.list(request.scope[TOKEN]))

    @app.get("/studies/{name}", include_in_schema=False)
    @access("viewer", page=True)
    def study(name: str, request: Request) -> Response:
        token = request.scope[TOKEN]
        return _found(lambda: pages.study(name, token), token)

    @app.get("/studies/{name}/arms/{number}", include_in_schema=False)
    @access("viewer", page=True)
    def arm(name: str, number: str, request: Request) -> Response:
        token = request.scope[TOKEN]
        return _found(lambda: pages.arm(name, number, token), token)


def _found(make: Callable[[], str], token: Token) -> Response:
    """A page, or one that says why there is none."""
    try:
        return HTMLResponse(make())
    except NotFound as error:
        return HTMLResponse(shown(Page("Not found", [one_line(str(error))], [], []), View(who_of(token))), 404)


def _add_act(app: FastAPI, pages: Pages, what: str) -> None:
    @app.post(f"/studies/{{name}}/{what}", include_in_schema=False)
    @access("admin", page=True, form=True)
    async def act(name: str, request: Request) -> Response:
        form, token = await form_of(request), request.scope[TOKEN]
        return await asyncio.to_thread(_acted, pages, name, what, form, token)


def _acted(pages: Pages, name: str, what: str, form: Mapping[str, str], token: Token) -> Response:
    try:
        pages.act(name, what, form, actor_of(token))
    except StudyError as error:
        refused, status = one_line(str(error)), status_of(error)
        answer = _found(lambda: pages.study(name, token, refused, what), token)
        answer.status_code = max(status, answer.status_code)
        return answer
    return RedirectResponse(study_address(name), 303)
