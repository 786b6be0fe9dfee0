"""Documents with a check sum: what they say cannot change unnoticed, and no text is worse than one line."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from fairarm import sealed as module
from fairarm.errors import DataError
from fairarm.sealed import checksum, opened, sealed

CONTENT = {"whole": 3, "float": 0.1, "tiny": 5e-324, "minus": -0.0, "none": None, "yes": True, "é\ud83d": ["ü", {}, []]}


def test_what_was_sealed_is_opened_bit_for_bit() -> None:
    found = opened(sealed(CONTENT), "document")
    assert repr(found) == repr(CONTENT)
    assert opened(sealed(CONTENT).encode(), "document") == found


def test_the_check_sum_is_of_the_canonical_text() -> None:
    """Worked by hand: `printf '%s' '{"a":[1,0.5],"b":null}' | sha256sum`."""
    expected = "01b9c5a6e6f861c62aa1a87f8c3a4824df23bc344a041265f1bc65cc511b2537"
    assert checksum({"b": None, "a": [1, 0.5]}) == expected


def test_other_ways_to_write_the_same_content_are_taken() -> None:
    tree = json.loads(sealed(CONTENT))
    text = json.dumps(dict(reversed(tree.items())), indent=3).replace("0.1", "1.0e-01")
    assert repr(sorted(opened(text, "document").items())) == repr(sorted(CONTENT.items()))


CHANGES: list[tuple[str, Any]] = [
    ("whole", 4), ("whole", 3.0), ("whole", True), ("float", 0.1 + 2**-55), ("tiny", 0.0), ("minus", 0.0), ("none", 0),
    ("yes", 1), ("whole", "3"), ("new", None),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), CHANGES)
def test_other_content_is_refused(key: str, value: Any) -> None:
    text = json.dumps({**json.loads(sealed(CONTENT)), key: value})
    with pytest.raises(DataError, match="The document is damaged: its content is not what its check sum says"):
        opened(text, "document")


@pytest.mark.parametrize("said", [None, "", 0, [], "0" * 64])
def test_a_check_sum_that_is_there_is_looked_at_whatever_it_is(said: Any) -> None:
    with pytest.raises(DataError, match="check sum"):
        opened(json.dumps({"a": 1, "checksum": said}), "document")


def test_content_without_a_check_sum_is_refused() -> None:
    with pytest.raises(DataError, match="The document is damaged: its check sum is missing"):
        opened('{"a": 1}', "document")


@pytest.mark.parametrize("found", [1, 3, 2.0, "2", True, None])
def test_content_of_another_version_is_refused(found: Any) -> None:
    assert opened(sealed({"form": 2}), "document", form=2) == {"form": 2}
    with pytest.raises(
        DataError, match=f"The document has form {found!r}; this version of fairarm reads only form 2. Open it"
    ):
        opened(sealed({"form": found}), "document", form=2)


HOSTILE = {
    "nothing": "",
    "not JSON": "nonsense",
    "a list": "[1]",
    "null": "null",
    "a key twice": '{"a": 1, "a": 1}',
    "a key twice, deep down": '{"a": [{"b": 1, "b": 1}]}',
    "a key twice, escaped": '{"a": 1, "\\u0061": 1}',
    "NaN": '{"a": NaN}',
    "Infinity": '{"a": -Infinity}',
    "a number beyond floats": '{"a": 1e999}',
    "deep lists": '{"a":' + "[" * 200_000 + "]" * 200_000 + "}",
    "deep objects": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "an endless list": "[" * 1_000_000,
    "a million digits": '{"a": ' + "9" * 1_000_000 + "}",
    "bytes that are not UTF-8": b'{"a": "\xff\xfe"}',
    "half of a character": b'{"a": "\xc3"}',
    "a byte order mark": '\ufeff{"a": 1}',
    "control characters": '{"a": "\n"}',
}


@pytest.mark.parametrize("what", list(HOSTILE))
def test_hostile_documents_are_one_line(what: str) -> None:
    started = time.process_time()
    with pytest.raises(
        DataError, match=r"^The saved run is damaged: .*Start again, or use an earlier copy.$"
    ) as refused:
        opened(HOSTILE[what], "saved run")
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300
    assert time.process_time() - started < 10


def test_a_document_that_is_too_long_is_neither_read_nor_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 million characters are the limit: refused by length, so the test need not hold that many."""
    assert module.MOST_CHARACTERS < 1_000_000_000
    monkeypatch.setattr(module, "MOST_CHARACTERS", 200)
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(DataError, match="201 characters; at most 200 are opened"):
        opened(" " * 201, "saved run")
    with pytest.raises(DataError, match="too much to save"):
        sealed({"a": "x" * 200})
