"""Lines of the log, and what the HTTP server says of itself."""

from __future__ import annotations

import io
import json
import logging

from fairarm.service.logs import JsonLines, ServerLines

SECRET = "row of somebody"


def test_an_error_is_its_kind_and_place() -> None:
    stream = io.StringIO()
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        JsonLines(stream).error("defect", error, route="/x")
    line = json.loads(stream.getvalue())
    assert (line["event"], line["error"], line["route"]) == ("defect", "ValueError", "/x")
    assert line["where"] and "test_logs.py:" in line["where"][-1] and SECRET not in stream.getvalue()


def test_the_server_s_own_lines_hold_no_message_of_an_error() -> None:
    stream = io.StringIO()
    logger = logging.Logger("server")
    logger.addHandler(ServerLines(JsonLines(stream)))
    logger.warning("Invalid HTTP request received.")
    logger.info("not worth a line")
    try:
        raise RuntimeError(SECRET)
    except RuntimeError:
        logger.exception("Exception in the application %s", SECRET)
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first["message"] == "Invalid HTTP request received."
    assert second["error"] == "RuntimeError" and SECRET not in stream.getvalue()


class Full(io.StringIO):
    """A disk without room."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_log_that_cannot_be_written_stops_nobody() -> None:
    JsonLines(Full())("request")
