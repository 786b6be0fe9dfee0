"""Pictures of the dashboard for the docs: the demo's study with simulated people, on a clock that does not wait, in a real browser.

PYTHONPATH=.:tests python docs/figures/dashboard.py
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.service.demo import MOST, live
from playwright.sync_api import Browser, Page

from fairarm import load_problem
from fairarm.service.demo import COHORT, NAME, WINDOW, create, crowd_of
from service.browser import PHONE, chromium, window
from service.served import Service, served

FOLDER = Path(__file__).parent
SEED = 7
EARLY = 2 * COHORT + WINDOW + 5
"""Seconds after which some cohorts are settled, and nothing is certified yet."""


def taken(page: Page, service: Service, path: str, name: str, height: int | None = None) -> None:
    """A picture of a page from its top."""
    page.goto(service.address + path)
    page.locator(".updates").evaluate_all("found => found.forEach(one => one.remove())")
    size = page.viewport_size or {"width": 0, "height": 0}
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"]}
    page.screenshot(path=FOLDER / f"{name}.png", full_page=True, clip=clip)  # type: ignore[arg-type]


@contextmanager
def signed_in(
    browser: Browser, service: Service, token: str, size: dict[str, int], dark: bool = False
) -> Iterator[Page]:
    """A window of somebody who has used the link."""
    with window(browser, dark=dark, size=size) as (page, _):
        page.goto(f"{service.address}/login#token={token}")
        page.wait_for_url(f"{service.address}/")
        yield page


def main() -> None:
    """All pictures."""
    scenario = load_problem("ad-marketplace")
    with TemporaryDirectory() as folder, served(f"sqlite:///{folder}/studies.db") as service, chromium() as browser:
        crowd = crowd_of(create(service.studies, scenario, SEED), scenario, SEED)
        token = service.token("viewer", label="ann")
        live(service.studies, crowd, service.clock, EARLY)
        with signed_in(browser, service, token, {"width": 1000, "height": 900}) as page:
            taken(page, service, f"/studies/{NAME}", "dashboard-early", 1150)
            with signed_in(browser, service, token, PHONE, dark=True) as phone:
                taken(phone, service, f"/studies/{NAME}", "dashboard-phone", 1500)
            live(service.studies, crowd, service.clock, MOST)
            taken(page, service, f"/studies/{NAME}", "dashboard", 1150)
            arm = scenario.problem.arm_index("by-sex")
            taken(page, service, f"/studies/{NAME}/arms/{arm}", "dashboard-arm", 900)


if __name__ == "__main__":
    main()
