"""Requests of a client: connections that are kept, errors by their kind, and patience where a repeated call is safe."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairarm.errors import OptionError
from fairarm.optional import require
from fairarm.studies.errors import Busy, Conflict, Invalid, NotAllowed, NotFound, StudyError

if TYPE_CHECKING:
    import httpx

FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
"""Seconds between two tries, doubled each time."""
KINDS: dict[int, type[StudyError]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 503: Busy}


class Unreachable(StudyError):  # noqa: N818
    """The service did not answer, or not as a service does. Whether the call was carried out is not known: repeat it, nothing
    is done twice."""


class Wire:
    """One service, one token, many threads."""

    def __init__(self, url: str, token: str, patience: float, calls: int) -> None:
        self._httpx = require("httpx", "studies")
        self.url = checked_url(url)
        self.patience = patience
        limits = self._httpx.Limits(max_connections=calls + 2, max_keepalive_connections=calls + 2, keepalive_expiry=30)
        headers = {"authorization": f"Bearer {checked_token(token)}"}
        times = self._httpx.Timeout(patience, connect=min(patience, 5.0))
        self._http: httpx.Client = self._httpx.Client(
            base_url=self.url, headers=headers, limits=limits, timeout=times, trust_env=False
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def once(self, method: str, path: str, body: Any = None, tries: int = 1) -> httpx.Response:
        """An answer below 400; the kind of error that the service names; or `Unreachable`."""
        try:
            answer = self._http.request(method, path, json=body)
        except self._httpx.TransportError as error:
            if tries > 1:  # a kept connection may have been closed by the other side in between
                return self.once(method, path, body, tries - 1)
            text = f"{self.url} did not answer ({type(error).__name__}). The call may have been carried out; repeating it is safe."
            raise Unreachable(text) from None
        if answer.status_code >= 400:
            raise refusal(answer)
        return answer

    def patiently(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """The same, tried again while the service is busy or away, for ``patience`` seconds."""
        ends = time.monotonic() + self.patience
        wait = FIRST_WAIT
        while True:
            try:
                return self.once(method, path, body)
            except (Unreachable, Busy):
                if time.monotonic() + wait > ends:
                    raise
            time.sleep(wait * random.uniform(0.5, 1.0))  # many clients must not come back at the same moment
            wait = min(2 * wait, LONGEST_WAIT)


def refusal(answer: httpx.Response) -> StudyError:
    """The error that an answer names, with its message."""
    status = answer.status_code
    try:
        message = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return Unreachable(f"Status {status} from something that is not a service of fairarm. Check the address.")
    if status in KINDS:
        return KINDS[status](message)
    return Invalid(message) if status < 500 else Unreachable(message)


def checked_url(url: str) -> str:
    """The address of a service, without what comes after it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise OptionError(f"url must be the address of a service, e.g. http://127.0.0.1:8000; got '{url}'.")
    return url.rstrip("/")


def checked_token(token: str) -> str:
    """A token fit for a header; it is never shown."""
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable() or " " in token:
        raise OptionError("token must be as `fairarm study token` has printed it: letters, digits, - and _ only.")
    return token
