"""Times that are text: read in bulk where all are written alike, with the same result as value by value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from fairarm.logs import times
from fairarm.logs.by_time import batches_of
from fairarm.logs.sources import open_log
from fairarm.logs.table import Parts

START = datetime(2030, 1, 31, 22, 5, 7)
MOMENTS = [START + timedelta(minutes=977 * i % 4001, microseconds=1000 * (i % 7)) for i in range(300)]
FORMS = {
    "%Y-%m-%d": "",
    "%Y-%m-%dT%H:%M": "",
    "%Y-%m-%d %H:%M:%S": "Z",
    "%Y-%m-%dT%H:%M:%S.%f": "+01:00",
    "%Y-%m-%dT%H:%M:%S.%f000": "-0530",
    "%Y-%m-%d %H:%M:%S.%f": "+14",
}
ALIKE = {
    **{f"{form}{offset}": [f"{moment:{form}}{offset}" for moment in MOMENTS] for form, offset in FORMS.items()},
    "seconds": [str(1_900_000_000 + 977 * i % 4001) for i in range(300)],
    "numbers": [str(977 * i % 4001) for i in range(300)],
    "signs": [f"{977 * i % 4001 - 2000}.25" for i in range(300)],
    "digits": [repr(i / 7) for i in range(1, 301)],
}
OTHERS = {
    "another length": [f"{m:%Y-%m-%d %H:%M}{'' if i % 3 else ':30'}" for i, m in enumerate(MOMENTS)],
    "another sign": [f"{m:%Y-%m-%d}{'T' if i % 3 else ' '}{m:%H:%M}" for i, m in enumerate(MOMENTS)],
    "another offset": [f"{m:%Y-%m-%dT%H:%M}{'+01' if i % 3 else '+02'}" for i, m in enumerate(MOMENTS)],
    "a word": ["NA" if i == 200 else f"{m:%Y-%m-%d}" for i, m in enumerate(MOMENTS)],
    "a number and a word": ["x" if i == 200 else str(i) for i in range(300)],
    "no such day": ["2030-02-31" if i == 200 else f"{m:%Y-%m-%d}" for i, m in enumerate(MOMENTS)],
    "no such hour": ["2030-01-01 25:00" if i == 200 else f"{m:%Y-%m-%d %H:%M}" for i, m in enumerate(MOMENTS)],
    "spaces": [f" {i % 50}" for i in range(300)],
    "powers": [f"{i % 9 + 1}e{i % 5}" for i in range(300)],
    "hexadecimal": ["0x10" if i == 7 else str(i) for i in range(300)],
    "infinite": ["inf" if i == 7 else str(i) for i in range(300)],
}


def parts_of(texts: list[str | None], size: int = 64) -> Iterator[pa.ChunkedArray]:
    for start in range(0, len(texts), size):
        yield pa.chunked_array([pa.array(texts[start : start + size], pa.string())])


def in_parts(texts: list[str], plain: bool) -> list[int]:
    """Rows by batch, text compared as it is or taken apart."""
    table = open_log({"t": texts})
    found = batches_of(table, "t", None)
    parts = found.parts if plain else Parts("t", found.ends)
    counted = table.counts([], parts=parts)
    assert counted.part is not None
    out = [0] * (len(found.ends) + 2)
    for part, rows in zip(counted.part.tolist(), counted.rows.tolist(), strict=True):
        out[part + 1] += rows
    return out


@pytest.mark.parametrize("kind", ALIKE)
def test_text_of_one_form_is_read_as_value_by_value(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ALIKE[kind]
    read = times.read_texts(lambda: parts_of([*texts, None]))
    assert read.form is not None and len(read.values) == len(texts)
    table = open_log({"t": texts})
    found = {within: batches_of(table, "t", within) for within in (None, 3600.0)}
    assert found[None].parts.plain and len(found[None].ends) > 1
    assert in_parts(texts, plain=True) == in_parts(texts, plain=False)
    monkeypatch.setattr(times, "_in_bulk", lambda parts: (np.zeros(0), None))
    for within, batches in found.items():
        slow = batches_of(table, "t", within)
        assert slow.ends == batches.ends and list(map(type, slow.ends)) == list(map(type, batches.ends))
        assert not slow.parts.plain


@pytest.mark.parametrize("kind", OTHERS)
def test_text_of_several_forms_is_read_value_by_value(kind: str) -> None:
    read = times.read_texts(lambda: parts_of(list(OTHERS[kind])))
    assert read.form is None
    assert not batches_of(open_log({"t": OTHERS[kind]}), "t", None).parts.plain


def test_a_written_end_is_the_text_of_its_row() -> None:
    like = "2030-01-31T22:05:07.250-05:30"
    form = times.Moments(like, "-05:30")
    read = form.read(pa.array([like], pa.large_string()))
    assert read is not None and str(read[0]) == "2030-02-01T03:35:07.250000"
    assert form.bare(read[0]) == "2030-01-31 22:05:07.250" and form.written(form.bare(read[0])) == like


def test_a_column_without_a_time() -> None:
    assert len(times.read_texts(lambda: iter(())).values) == 0
    assert batches_of(open_log({"t": [None, None, ""]}), "t", None).ends == []
