"""Under which names a service may be reached, and how much it takes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from fairarm.errors import OptionError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BODY, BATCH = 1_000_000, 8_000_000
"""Bytes of a body at most: of one request, and of a batch of outcomes."""
BATCH_ITEMS = 10_000
KEEPS_TOKEN = 5.0
"""Seconds for which a token that was found, or not found, need not be looked up again: a revoked one works as long."""


@dataclass(frozen=True)
class Settings:
    """What the guards let pass.

    ``origins``: the origin of pages under every Host that is answered. Any other Host is refused, so that a page of
    somebody else whose name leads here cannot read anything.
    """

    origins: Mapping[str, str]

    @classmethod
    def of(cls, host: str, port: int, public_url: str | None = None) -> Settings:
        """Loopback names of the port, and the public address; one is needed where others can reach the host."""
        named = f"[{host}]" if ":" in host else host
        if named not in LOOPBACK and public_url is None:
            raise OptionError(
                f"--host {host} can be reached by others, so --public-url is needed: the address that callers and browsers use, "
                "e.g. --public-url https://studies.example.org; or use --host 127.0.0.1 behind a proxy."
            )
        origins = {f"{name}:{port}": f"http://{name}:{port}" for name in LOOPBACK}
        if public_url is not None:
            address = public_address(public_url)
            origins[urlsplit(address).netloc] = address
        return cls(origins)


def public_address(url: str) -> str:
    """Scheme and host of a URL, as browsers write an origin."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.path not in ("", "/")
        or "@" in parts.netloc
    ):
        raise OptionError(
            f"--public-url must be http or https, a host and no path, e.g. https://studies.example.org; got '{url}'."
        )
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{name}" + ("" if port in (None, usual) else f":{port}")
