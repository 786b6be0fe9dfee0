"""A real browser for tests of pages: the system's chromium, headless, driven by playwright; what it asks for is written down."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "These tests need the browser chromium, which is not installed here: `make browser` as root, or `apt-get install chromium`."
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE, DESKTOP = {"width": 400, "height": 850}, {"width": 1280, "height": 900}
SLOW = 60_000
"""Milliseconds that anything may take, on a slow machine."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, until the end of the block."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found is not None, MISSING
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, headless=True, args=FLAGS, timeout=SLOW)
        yield browser
        browser.close()


@dataclass
class Seen:
    """What happened in a window besides what it shows."""

    dialogs: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Addresses that anything was asked of."""
    errors: list[str] = field(default_factory=list)
    """Of scripts, and of what the policy forbids."""

    def elsewhere(self, home: str) -> list[str]:
        """Requests to other places than the service."""
        return [url for url in self.asked if not url.startswith(f"{home}/")]


@contextmanager
def window(
    browser: Browser, *, dark: bool = False, size: dict[str, int] = DESKTOP, script: bool = True
) -> Iterator[tuple[Page, Seen]]:
    """A window of its own, with nothing remembered."""
    context: BrowserContext = browser.new_context(
        viewport=size,  # type: ignore[arg-type]
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
    )
    context.set_default_timeout(SLOW)
    page, seen = context.new_page(), Seen()

    def dialog(opened: Dialog) -> None:
        seen.dialogs.append(opened.message)
        opened.dismiss()

    def request(asked: Request) -> None:
        seen.asked.append(asked.url)

    page.on("dialog", dialog)
    context.on("request", request)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda line: seen.errors.append(line.text) if line.type == "error" else None)
    yield page, seen
    context.close()
