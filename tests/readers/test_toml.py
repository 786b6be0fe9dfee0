"""TOML that would take the parser minutes or gigabytes is refused at once; what is TOML is read as it is."""

from __future__ import annotations

import resource
import time
import tomllib

import pytest

from fairarm.errors import ReadError
from fairarm.readers.toml import parse_toml

TOO_MUCH = {
    "dotted": (".".join(["a"] * 40_000) + " = 1", "40000 parts in one dotted key"),
    "dotted with spaces": (" . ".join(["a"] * 40_000) + " = 1", "40000 parts"),
    "dotted quoted": (".".join(['"a"'] * 40_000) + " = 1", "40000 parts"),
    "dotted header": ("[" + ".".join(["a"] * 40_000) + "]", "40000 parts"),
    "dotted inline": ("a = { " + ".".join(["a"] * 40_000) + " = 1 }", "40000 parts"),
    "digits": ("a = " + "9" * 5_000, "5000 characters in one number"),
    "long key": ("a" * 5_000_000 + " = 1", "5000000 characters"),
    "deep lists": ("a = " + "[" * 5_000, "5000 levels"),
    "deep tables": ("a = " + "{a=" * 5_000, "5000 levels"),
    "many values": ("a = [" + "0," * 5_000_000 + "]", "values and names"),
    "many keys": ("".join(f"k{i}=1\n" for i in range(60_000)), "60000 keys"),
    "many tables": ("\n" + "[[a]]\n" * 60_000, "60000 keys and tables"),
    "long text": ('a = "' + "\\u00e4" * 1_000_000 + '"', "1: a text of 6000002 characters"),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_refused_before_it_is_parsed(case: str) -> None:
    text, said = TOO_MUCH[case]
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(ReadError, match=said) as caught:
        parse_toml(text, "p.toml")
    assert str(caught.value).startswith("p.toml")
    assert time.process_time() - started < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512_000


@pytest.mark.parametrize(
    "text",
    [
        'a = "x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x"',
        'a = """one "" two\n.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x [[[[ """"\nb = 1',
        "a = '''it's ''\n'''\nb = '\\'",
        'a = "\\" # no comment"\nb = 2 # [[[[ " \' comment',
        "# " + "." * 1000 + "\na.b.c.d = 1",
        "a = " + "[" * 60 + "]" * 60,
        '"a.b" = { "c d" = 1, e.f = 2 }',
        "a = [0.1, 0.25, 1e3]\nd = 1979-05-27T07:32:00Z",
    ],
)
def test_what_is_fine_is_read_as_it_is(text: str) -> None:
    assert parse_toml(text, "p.toml") == tomllib.loads(text)


def test_a_date_that_is_none_is_one_line() -> None:
    with pytest.raises(ReadError, match=r"^p\.toml.*not valid TOML"):
        parse_toml("a = 2024-13-45", "p.toml")
