"""Pages in a real browser: the same facts without script, accessible in light and dark and on a phone, nothing from elsewhere,
names that mean harm are text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from service.browser import DESKTOP, PHONE, SLOW, chromium, window
from service.served import Service, served

from fairarm import load_problem
from fairarm.service.demo import NAME, Crowd, create, crowd_of

pytestmark = pytest.mark.xdist_group("browser")

STUDY = f"/studies/{NAME}"
SCREENS = [(dark, size) for dark in (False, True) for size in (DESKTOP, PHONE)]
SCREEN_NAMES = [f"{'dark' if dark else 'light'}-{size['width']}" for dark, size in SCREENS]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(f"sqlite:///{tmp_path_factory.mktemp('browser') / 'studies.db'}") as made:
        yield made


@pytest.fixture(scope="module")
def crowd(service: Service) -> Crowd:
    """Half a minute and more of simulated people: some cohorts are settled, some are out."""
    scenario = load_problem("ad-marketplace")
    made = crowd_of(create(service.studies, scenario, 7), scenario, 7)
    live(service, made, 52)
    return made


def live(service: Service, crowd: Crowd, seconds: int) -> None:
    """Let time pass, second by second."""
    began = crowd.seconds
    for second in range(1, seconds + 1):
        service.clock.move(1)
        crowd.until(began + second)
        service.studies.tick()


def sign_in(page: Page, service: Service, role: str = "viewer", label: str = "ann") -> None:
    page.goto(f"{service.address}/login")
    page.get_by_label("Your token").fill(service.token(role, label=label))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Live studies")).to_be_visible()


def facts(page: Page) -> list[str]:
    """What a page says, word by word, but for what only scripts or their absence add."""
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    return page.locator("main").inner_text().replace("Updated every 5 seconds.", "").replace("Hold updates", "").split()


@pytest.mark.parametrize(("dark", "size"), SCREENS, ids=SCREEN_NAMES)
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
        sign_in(page, service)
        page.goto(service.address + STUDY)
        page.evaluate("window.same = true")
        summary = page.locator("summary", has_text="Cohorts, the latest first")
        summary.click()
        summary.focus()
        before = page.locator("#lines-1").inner_text()
        live(service, crowd, 10)
        page.wait_for_function("t => document.getElementById('lines-1').innerText !== t", arg=before, timeout=SLOW)
        assert page.evaluate("window.same") is True
        assert page.locator("details[open] > summary", has_text="Cohorts, the latest first").count() == 1
        assert "Cohorts, the latest first" in page.evaluate("document.activeElement.textContent")
        page.get_by_role("button", name="Hold updates").click()
        held = page.locator("#lines-1").inner_text()
        live(service, crowd, 10)
        asked = len(seen.asked)
        page.wait_for_timeout(6_000)
        assert page.locator("#lines-1").inner_text() == held and len(seen.asked) == asked
        assert seen.errors == []


def test_a_link_signs_in_and_its_token_goes_nowhere_else(browser: Browser, service: Service) -> None:
    token = service.token("viewer", label="link")
    with window(browser) as (page, seen):
        page.goto(f"{service.address}/login#token={token}")
        expect(page.get_by_role("heading", name="Live studies")).to_be_visible()
        page.go_back()
        assert token not in page.url
        assert [url for url in seen.asked if token in url.partition("#")[0]] == []
        assert page.evaluate("document.cookie") == ""
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
    study = service.studies.open(NAME)
    with window(browser, script=False) as (page, _):
        sign_in(page, service)
        page.goto(service.address + STUDY)
        assert page.locator("#acts").count() == 0  # a viewer
        sign_in(page, service, "admin", "eve <b>of ops</b>")
        page.goto(service.address + STUDY)
        pause(page, "Pause the study", "Pause", "a holiday", "another name")
        expect(page.get_by_role("alert")).to_contain_text("the study's name must be given exactly")
        assert study.status == "running"
        pause(page, "Pause the study", "Pause", "a <i>holiday</i>", NAME, opened=True)
        assert page.url == service.address + STUDY and study.status == "paused"
        event = study.events()[-1]
        assert event.actor == "eve <b>of ops</b>" and event.body["reason"] == "a <i>holiday</i>"
        row = page.locator("tr", has_text="a <i>holiday</i>")
        expect(row).to_contain_text("eve <b>of ops</b>")
        pause(page, "Resume the study", "Resume", "back again", NAME)
        assert study.status == "running"


def pause(page: Page, title: str, button: str, reason: str, confirm: str, opened: bool = False) -> None:
    if not opened:
        page.locator("summary", has_text=title).click()
    form = page.get_by_role("form", name=title)
    form.get_by_label("Reason").fill(reason)
    form.get_by_label("The study's name").fill(confirm)
    form.get_by_role("button", name=button).click()


def test_a_form_of_another_site_changes_nothing(browser: Browser, service: Service, crowd: Crowd, tmp_path: Path) -> None:
    study = service.studies.open(NAME)
    with window(browser) as (page, _):
        sign_in(page, service, "admin")
        other = tmp_path / "evil.html"
        other.write_text(
            f'<form method="post" action="{service.address}{STUDY}/close"><input name="reason" value="x">'
            f'<input name="confirm" value="{NAME}"></form><script>document.forms[0].submit()</script>'
        )
        page.goto(other.as_uri())
        page.wait_for_url(f"{service.address}/**")
        assert study.status == "running"
