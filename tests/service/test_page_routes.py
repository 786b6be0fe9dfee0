"""Pages over HTTP: who sees what, what is refused and how, colours that can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from fairarm import load_problem
from fairarm.service.pages import acts_of, login_page, study_address, style_sheet
from fairarm.studies import StudyState
from service.served import Service, served

pytestmark = pytest.mark.xdist_group("browser")

FORM = {"reason": "a reason", "confirm": "ads"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(f"sqlite:///{tmp_path_factory.mktemp('pages') / 'studies.db'}") as made:
        problem = load_problem("ad-marketplace").problem
        for name in ("ads", "more-ads"):
            made.studies.create(
                name, problem, pulls=1_000, people=100, arrivals=1_000, window="1d", cohort="1d", seed=1, actor="ann"
            )
        yield made


def browser_of(service: Service, token: str | None) -> httpx.Client:
    """As a browser asks, with its cookie and its Origin."""
    cookies = {} if token is None else {"fairarm": token}
    headers = {"accept": "text/html", "origin": service.address}
    return httpx.Client(base_url=service.address, cookies=cookies, headers=headers, timeout=60)


def test_without_a_token_pages_lead_to_the_login(service: Service) -> None:
    with browser_of(service, None) as asks:
        for path in ("/", "/studies/ads", "/studies/ads/arms/0"):
            answer = asks.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert asks.get("/login").text == login_page(False)
        assert asks.post("/studies/ads/close", data=FORM).status_code == 401
        for file, kind in (
            ("dashboard.css", "text/css"),
            ("dashboard.js", "text/javascript"),
            ("icon.svg", "image/svg+xml"),
        ):
            answer = asks.get(f"/static/{file}")
            assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)


def test_a_token_for_one_study_sees_that_one(service: Service) -> None:
    with browser_of(service, service.token("viewer", "ads")) as asks:
        text = asks.get("/").text
        assert "/studies/ads" in text and "more-ads" not in text
        assert asks.get("/studies/ads").status_code == 200
        assert asks.get(study_address("more-ads")).status_code == 403
    with browser_of(service, service.token("caller")) as asks:
        assert asks.get("/").status_code == 403


def test_what_is_not_there_is_said_on_a_page(service: Service) -> None:
    with browser_of(service, service.token("viewer")) as asks:
        for path in ("/studies/nothing", "/studies/ads/arms/99", "/studies/ads/arms/-1", "/studies/ads/arms/x"):
            answer = asks.get(path)
            assert answer.status_code == 404 and "<h1>" in answer.text, path


@pytest.mark.parametrize(
    ("what", "form", "said"),
    [
        ("pause", {"reason": "a reason", "confirm": "Ads"}, "name must be given exactly"),
        ("pause", {"confirm": "ads"}, "A reason of 1 to 500 characters"),
        ("pause", {"reason": "  ", "confirm": "ads"}, "A reason of 1 to 500 characters"),
        ("close", {"reason": "x" * 501, "confirm": "ads"}, "A reason of 1 to 500 characters"),
        ("drop", {**FORM, "cohort": "1e3"}, "A cohort is given by its number"),
        ("drop", {**FORM, "cohort": "77"}, "77"),
        ("resume", FORM, "Nothing"),
    ],
)
def test_a_form_that_is_wrong_changes_nothing(service: Service, what: str, form: dict[str, str], said: str) -> None:
    study = service.studies.open("ads")
    before = study.events()
    with browser_of(service, service.token("admin", label="eve")) as asks:
        answer = asks.post(f"/studies/ads/{what}", data=form)
    assert answer.status_code in (404, 409, 422) and study.state == "running" and study.events() == before
    if what != "resume":
        assert said in answer.text


def test_only_admins_act_and_only_from_here(service: Service) -> None:
    study = service.studies.open("ads")
    with browser_of(service, service.token("viewer")) as asks:
        assert asks.post("/studies/ads/close", data=FORM).status_code == 403
    with browser_of(service, service.token("admin", "more-ads")) as asks:
        assert asks.post("/studies/ads/close", data=FORM).status_code == 403
    with browser_of(service, service.token("admin")) as asks:
        for origin in ("https://evil.example", "null"):
            assert asks.post("/studies/ads/close", data=FORM, headers={"origin": origin}).status_code == 403
        assert asks.post("/studies/ads/close", json=FORM).status_code == 415
    assert study.state == "running"


def test_what_an_admin_can_do_depends_on_the_state() -> None:
    names = {status: [act.name for act in acts_of("a/b", status, [3])] for status in StudyState}
    assert names[StudyState.RUNNING] == ["pause", "close", "drop"]
    assert names[StudyState.PAUSED] == ["resume", "close", "drop"]
    assert names[StudyState.DRAINING] == ["drop"]
    assert [act.name for act in acts_of("a", StudyState.FINISHED, [])] == []
    assert acts_of("a/b", StudyState.RUNNING, [])[0].action == "/studies/a%2Fb/pause"


# ---- colours ----


def variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_words_and_lines_can_be_read_in_light_and_dark() -> None:
    """Words 4.5 : 1, in figures too, where no checker of pages looks; lines and marks 3 : 1."""
    css = style_sheet()
    blocks = [variables(part.partition("}")[0]) for part in css.split(":root {")[1:]]
    light = {**blocks[0], **blocks[2]}
    dark = {**blocks[1], **blocks[3]}
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    for colours in (light, dark):
        for behind in ("paper", "card", "band"):
            for words in ("ink", "muted"):
                assert contrast(colours[words], colours[behind]) >= 4.5, (words, behind)
        for behind in ("paper", "card"):
            for words in ("mark", "good", "warn", "bad"):
                assert contrast(colours[words], colours[behind]) >= 4.5, (words, behind)
        for i in range(6):
            assert contrast(colours[f"arm-{i}"], colours["paper"]) >= 3
