"""Pages in a real browser: the same facts without script, accessible in light and dark and on a phone, nothing from elsewhere,
names that mean harm are text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w
from axe_playwright_python.sync_playwright import Axe
from benchmarks.service.demo import live as pass_time
from playwright.sync_api import Browser, Page, expect

from fairarm import load_problem
from fairarm.errors import ProblemError, printable
from fairarm.problem.names import check_name
from fairarm.problem.problem import Problem
from fairarm.readers.problem_file import parse_problem
from fairarm.reports.words.studies import known_now
from fairarm.service.demo import NAME, Crowd, create, crowd_of
from fairarm.service.pages import study_address
from fairarm.studies import StudyError
from service.browser import DESKTOP, PHONE, SLOW, chromium, window
from service.hostile import hostile_names
from service.served import Service, served

pytestmark = pytest.mark.xdist_group("browser")

STUDY, CALM = f"/studies/{NAME}", "calm"
"""The page of the demo's study, and the name of one in which little happens."""
SCREENS = [
    pytest.param(dark, size, marks=[pytest.mark.slow] * other, id=f"{'dark' if dark else 'light'}-{size['width']}")
    for dark, size, other in [(False, DESKTOP, 0), (True, PHONE, 0), (False, PHONE, 1), (True, DESKTOP, 1)]
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(f"sqlite:///{tmp_path_factory.mktemp('browser') / 'studies.db'}") as made:
        problem = load_problem("ad-marketplace").problem
        made.studies.create(CALM, problem, pulls=1_000, people=100, arrivals=1_000, window="7d", seed=1, actor="ann")
        yield made


@pytest.fixture(scope="module")
def crowd(service: Service) -> Crowd:
    """Half a minute and more of simulated people: some cohorts are settled, some are out."""
    scenario = load_problem("ad-marketplace")
    made = crowd_of(create(service.studies, scenario, 7), scenario, 7)
    live(service, made, 52)
    return made


def live(service: Service, crowd: Crowd, seconds: int) -> None:
    """Let time pass."""
    pass_time(service.studies, crowd, service.clock, round(crowd.seconds) + seconds)


def sign_in(page: Page, service: Service, role: str = "viewer", label: str = "ann") -> None:
    page.goto(f"{service.address}/login")
    page.get_by_label("Your token").fill(service.token(role, label=label))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Live studies")).to_be_visible()


@pytest.mark.parametrize(("dark", "size"), SCREENS)
def test_every_page_is_accessible_and_fits(
    browser: Browser, service: Service, crowd: Crowd, dark: bool, size: dict[str, int]
) -> None:
    with window(browser, dark=dark, size=size) as (page, seen):
        page.goto(f"{service.address}/login")
        checked(page, size)
        sign_in(page, service, "admin")
        for path in ("/", STUDY, f"{STUDY}/arms/2"):
            page.goto(service.address + path)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            checked(page, size)
        assert seen.elsewhere(service.address) == [] and seen.errors == [] and seen.dialogs == []


def checked(page: Page, size: dict[str, int]) -> None:
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_pages_say_the_same_without_script(browser: Browser, service: Service, crowd: Crowd) -> None:
    told: dict[bool, list[list[str]]] = {}
    for script in (True, False):
        with window(browser, script=script, size=PHONE) as (page, seen):
            sign_in(page, service)  # a form, without script too
            told[script] = []
            for path in ("/", STUDY, f"{STUDY}/arms/2"):
                page.goto(service.address + path)
                assert page.locator("noscript").count() == 1
                told[script].append(words_of(page))
            assert seen.errors == []
    assert told[True] == told[False] and len(told[True][1]) > 300


def words_of(page: Page) -> list[str]:
    """All words of the page's markup, shown or folded; not those that are only for pages with script, or without."""
    text = page.locator("main").text_content() or ""
    for only in ("Updated every 5 seconds.", "Hold updates", page.locator("noscript").text_content() or ""):
        text = text.replace(only, "")
    return text.split()


def test_the_first_screen_has_what_is_known_and_what_comes_next(
    browser: Browser, service: Service, crowd: Crowd
) -> None:
    with window(browser) as (page, _):
        sign_in(page, service)
        page.get_by_role("link", name=NAME).click()
        headline = page.locator("#headline-1").inner_text()
        assert headline.startswith("Not certified yet. Most likely ")
        assert "with probability" in headline and "is settled in" in headline and "UTC)" in headline
        for title in ("People", "Arms", "Cohort by cohort", "Who was served with what", "What is watched", "Events"):
            expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        box = page.locator("#headline-1").bounding_box()
        assert box is not None and box["y"] + box["height"] < DESKTOP["height"]


def test_what_changes_is_put_in_place_and_the_reader_is_left_alone(
    browser: Browser, service: Service, crowd: Crowd
) -> None:
    with window(browser) as (page, seen):
        page.clock.install()
        sign_in(page, service)
        page.goto(service.address + STUDY)
        page.evaluate("window.same = true")
        summary = page.locator("summary", has_text="Cohorts, the latest first")
        summary.click()
        summary.focus()
        before = page.locator("#lines-1").inner_text()
        assert page.locator("#spoken").text_content() == ""
        live(service, crowd, 10)
        page.clock.run_for(5_000)
        spoken = known_now(service.studies.open(NAME).verdict())
        assert "is settled in" not in spoken
        expect(page.locator("#spoken")).to_have_text(spoken, timeout=SLOW)  # a refresh may also come while time passes
        assert page.locator("#lines-1").inner_text() != before
        assert page.evaluate("window.same") is True
        assert page.locator("details[open] > summary", has_text="Cohorts, the latest first").count() == 1
        assert "Cohorts, the latest first" in page.evaluate("document.activeElement.textContent")
        page.get_by_role("button", name="Hold updates").click()
        held = page.locator("#lines-1").inner_text()
        live(service, crowd, 10)
        asked = len(seen.asked)
        page.clock.run_for(60_000)
        assert page.locator("#lines-1").inner_text() == held and len(seen.asked) == asked
        assert seen.errors == []


def test_a_link_signs_in_and_its_token_goes_nowhere_else(browser: Browser, service: Service) -> None:
    token = service.token("viewer", label="link")
    with window(browser) as (page, seen):
        page.goto(f"{service.address}/login#token={token}")
        expect(page.get_by_role("heading", name="Live studies")).to_be_visible()
        assert page.evaluate("document.cookie") == ""
        page.go_back()
        assert token not in page.url
        assert [url for url in seen.asked if token in url.partition("#")[0]] == []
    assert token not in service.log.getvalue()


def test_a_wrong_token_and_signing_out(browser: Browser, service: Service) -> None:
    with window(browser) as (page, _):
        page.goto(f"{service.address}/login")
        page.get_by_label("Your token").fill("no such token")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("This token opens nothing here")
        sign_in(page, service)
        page.get_by_role("button", name="Sign out").click()
        page.goto(service.address)
        assert page.url == f"{service.address}/login"


def test_by_keyboard_alone(browser: Browser, service: Service, crowd: Crowd) -> None:
    with window(browser) as (page, _):
        sign_in(page, service)
        page.goto(service.address + STUDY)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "To the content"
        reached = set()
        for _ in range(80):
            page.keyboard.press("Tab")
            tag, text, outline = page.evaluate(
                "[document.activeElement.tagName, document.activeElement.textContent.slice(0, 40), "
                "getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth]"
            )
            if tag == "BODY":
                break
            assert outline == "solid3px", (tag, text, outline)
            reached.add((tag, text))
        assert {("A", "Studies"), ("BUTTON", "Sign out"), ("BUTTON", "Hold updates"), ("A", "by-query")} <= reached


def test_an_admin_pauses_and_resumes_with_a_reason(browser: Browser, service: Service, crowd: Crowd) -> None:
    study, address = service.studies.open(CALM), service.address + study_address(CALM)
    with window(browser, script=False) as (page, _):
        sign_in(page, service)
        page.goto(address)
        assert page.locator("#acts").count() == 0  # a viewer
        sign_in(page, service, "admin", "eve <b>of ops</b>")
        page.goto(address)
        pause(page, "Pause the study", "Pause", "a holiday", "another name")
        expect(page.get_by_role("alert")).to_contain_text("the study's name must be given exactly")
        assert study.state == "running"
        pause(page, "Pause the study", "Pause", "a <i>holiday</i>", CALM, opened=True)
        assert page.url == address and study.state == "paused"
        event = study.events()[-1]
        assert event.actor == "eve <b>of ops</b>" and event.body["reason"] == "a <i>holiday</i>"
        row = page.locator("tr", has_text="a <i>holiday</i>")
        expect(row).to_contain_text("eve <b>of ops</b>")
        pause(page, "Resume the study", "Resume", "back again", CALM)
        assert study.state == "running"


def pause(page: Page, title: str, button: str, reason: str, confirm: str, opened: bool = False) -> None:
    if not opened:
        page.locator("summary", has_text=title).click()
    form = page.get_by_role("form", name=title)
    form.get_by_label("Reason").fill(reason)
    form.get_by_label("The study's name").fill(confirm)
    form.get_by_role("button", name=button).click()


def test_a_form_of_another_site_changes_nothing(
    browser: Browser, service: Service, crowd: Crowd, tmp_path: Path
) -> None:
    study = service.studies.open(CALM)
    with window(browser) as (page, _):
        sign_in(page, service, "admin")
        other = tmp_path / "evil.html"
        other.write_text(
            f'<form method="post" action="{service.address}{study_address(CALM)}/close"><input name="reason" value="x">'
            f'<input name="confirm" value="{CALM}"></form><script>document.forms[0].submit()</script>'
        )
        page.goto(other.as_uri())
        page.wait_for_url(f"{service.address}/**")
        assert study.state == "running"


# ---- names that mean harm ----

PARTS = (
    "problem", "sensitive", "decision", "outcome", "group 0", "group 1", "low", "high", "lost", "won", "arm 0", "arm 1", "arm 2",
    "study", "label", "reason", "actor",
)  # fmt: skip
FREE = ("description", "unit")
"""Where letters that are not seen are taken too."""


def hostile_problem(names: dict[str, str]) -> Problem:
    """Three arms, two groups, and every name as given."""
    sensitive, decision, outcome = (names[part] for part in ("sensitive", "decision", "outcome"))
    document = {
        "format": 1,
        "problem": {
            "name": names["problem"],
            "description": names["description"],
            "sensitive": sensitive,
            "groups": [names["group 0"], names["group 1"]],
            "decision": decision,
            "outcome": {"node": outcome, "values": {names["lost"]: 0, names["won"]: 1}},
            "tolerance": 0.3,
            "edges": [[sensitive, decision], [decision, outcome]],
            "shares": {names["group 0"]: 0.5, names["group 1"]: 0.5},
            "deployed": names["arm 0"],
            "states": {
                sensitive: [names["group 0"], names["group 1"]],
                decision: [names["low"], names["high"]],
                outcome: [names["lost"], names["won"]],
            },
            "arms": [
                {"name": names[f"arm {k}"], "parents": [sensitive], "table": [[p, 1 - p], [1 - p, p]]}
                for k, p in enumerate((0.5, 0.6, 0.9))
            ],
        },
    }
    return parse_problem(tomli_w.dumps(document), "hostile", Path()).problem


def hostile_studies(service: Service) -> dict[str, dict[str, str]]:
    """Studies whose every name is hostile, by their names, each with a settled cohort and a few events."""
    plain = [name for name in hostile_names() if is_a_name(name)]
    free = [name for name in hostile_names() if not is_a_name(name)]
    made: dict[str, dict[str, str]] = {}
    while plain or free:
        names = {part: plain.pop() if plain else f"plain {part}" for part in PARTS}
        for part in FREE:
            names[part] = free.pop() if free else plain.pop() if plain else f"plain {part}"
        made[hostile_study(service, names)] = names
    return made


def is_a_name(text: str) -> bool:
    try:
        check_name(text, "It")
    except ProblemError:
        return False
    return True


def hostile_study(service: Service, names: dict[str, str]) -> str:
    problem = hostile_problem(names)
    options = {"pulls": 400, "people": 40, "arrivals": 40 * 8_640, "window": "10s", "cohort": "10s", "cycle": "10s"}
    try:
        study = service.studies.create(names["study"], problem, **options, seed=1, actor=names["actor"])
    except StudyError:  # a name that cannot stand in an address
        study = service.studies.create(f"study-{len(service.studies.names())}", problem, **options, seed=1, actor=names["actor"])  # fmt: skip
    for i in range(20):
        given = study.assign(f"{names['unit']} {i}", group=problem.groups[i % 2])
        if given.id is not None:
            row = {names["decision"]: names["low"], names["outcome"]: names["won" if i % 3 else "lost"]}
            study.tell(given.id, row)
    study.pause(names["reason"], names["actor"])
    return study.name


@pytest.fixture(scope="module")
def hostile(service: Service) -> dict[str, dict[str, str]]:
    made = hostile_studies(service)
    for _ in range(6):
        service.clock.move(5)
        service.studies.tick()
    return made


def test_names_that_mean_harm_are_text(browser: Browser, service: Service, hostile: dict[str, dict[str, str]]) -> None:
    with window(browser) as (page, seen):
        for name, names in hostile.items():
            sign_in(page, service, "admin", names["label"])
            expect(page.get_by_role("link", name=printable(name), exact=True)).to_have_count(1)
            page.goto(f"{service.address}{study_address(name)}")
            assert page.locator("h1").text_content() == printable(name)
            text = page.locator("body").text_content() or ""
            shown = [
                names[part] for part in ("arm 0", "arm 1", "arm 2", "group 0", "group 1", "reason", "actor", "label")
            ]
            assert [one for one in shown if printable(one) not in text] == []
            page.locator("summary").first.click()
            page.locator(f"tbody a[href='{study_address(name)}/arms/2']").click()
            assert printable(names["arm 2"]) in (page.locator("h1").text_content() or "")
            page.mouse.move(300, 300)
        page.wait_for_load_state("networkidle")
        assert seen.dialogs == [] and seen.elsewhere(service.address) == [] and seen.errors == []
        assert page.locator("script").count() == 1 and page.locator("iframe, object, embed, base").count() == 0
