"""Names under which a service answers."""

from __future__ import annotations

import pytest

from fairarm.errors import OptionError
from fairarm.service.settings import Settings, public_address


def test_on_loopback_only_its_names_with_the_port() -> None:
    origins = Settings.of("127.0.0.1", 8000).origins
    assert origins == {
        "127.0.0.1:8000": "http://127.0.0.1:8000",
        "localhost:8000": "http://localhost:8000",
        "[::1]:8000": "http://[::1]:8000",
    }


def test_a_public_address_is_answered_too() -> None:
    origins = Settings.of("0.0.0.0", 8000, "https://studies.example.org").origins
    assert origins["studies.example.org"] == "https://studies.example.org"
    assert "0.0.0.0:8000" not in origins


def test_where_others_can_reach_it_the_address_must_be_said() -> None:
    for host in ("0.0.0.0", "192.168.1.2", "::"):
        with pytest.raises(OptionError, match="--public-url"):
            Settings.of(host, 8000)
    Settings.of("::1", 8000)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://Studies.example.org/", "https://studies.example.org"),
        ("https://studies.example.org:443", "https://studies.example.org"),
        ("http://studies.example.org:8080", "http://studies.example.org:8080"),
        ("http://[::2]:80", "http://[::2]"),
    ],
)
def test_an_address_as_browsers_write_it(url: str, address: str) -> None:
    assert public_address(url) == address


@pytest.mark.parametrize(
    "url", ["studies.example.org", "ftp://a", "https://", "https://a/path", "https://u:p@a", "https://a:99999", "*", ""]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(OptionError, match="--public-url"):
        public_address(url)
