"""Problem files: broken TOML, wrong types, numbers at the ends of what a float holds, names, sizes, files that are none."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

from corpus.case import Case, Content, command
from readers.test_problem_file import BASE, MALFORMED

KIND = "problem files"
COIN = (Path(__file__).parents[2] / "src" / "fairarm" / "data" / "coin.toml").read_text(encoding="utf-8")
ANY = ""


def problem_files() -> Iterator[Case]:
    for name, (content, said) in MALFORMED.items():
        yield looked_at(name, content, said)
    yield from _toml()
    yield from _types()
    yield from _numbers()
    yield from _names()
    yield from _sizes()
    yield from _places()
    yield from _beside()


def looked_at(name: str, content: Content, refused: str | None) -> Case:
    return command(KIND, name, "inspect", "p.toml", "--json", files={"p.toml": content}, refused=refused)


def swapped(old: str, new: str, text: str = COIN) -> str:
    if old not in text:
        raise ValueError(f"the file has no {old!r}")
    return text.replace(old, new, 1)


def _toml() -> Iterator[Case]:
    """What the parser sees before anything else."""
    cases: dict[str, tuple[Content, str | None]] = {
        "as it is": (COIN, None),
        "an arm called no fair arm": (COIN.replace('"tilted"', '"No fair  arm"'), "That is how the answer is called"),
        "byte-order mark and Windows lines": (b"\xef\xbb\xbf" + COIN.replace("\n", "\r\n").encode(), None),
        "old Mac lines": (COIN.replace("\n", "\r"), None),
        "dotted key of 40 000 parts": (".".join(["a"] * 40_000) + " = 1\n" + COIN, "40000 parts"),
        "dotted header": (COIN + "[" + ".".join(["a"] * 40_000) + "]\n", "40000 parts"),
        "quoted dotted key": (".".join(['"a"'] * 40_000) + " = 1\n" + COIN, "40000 parts"),
        "integer of 5 000 digits": (swapped("tolerance = 0.1", "tolerance = " + "9" * 5000), "5000 characters"),
        "integer of 400 digits": (swapped("tolerance = 0.1", "tolerance = " + "9" * 400), "problem.tolerance"),
        "float of 390 digits": (swapped("tolerance = 0.1", "tolerance = 0." + "1" * 390), None),
        "hexadecimal": (swapped("tolerance = 0.1", "tolerance = 0x" + "f" * 395), "problem.tolerance"),
        "lists 5 000 deep": (swapped("[[0.5, 0.5], [0.5, 0.5]]", "[" * 5000 + "]" * 5000), "levels of lists"),
        "lists 90 deep": (swapped("[[0.5, 0.5], [0.5, 0.5]]", "[" * 90 + "]" * 90), "needs a list of 2"),
        "tables 5 000 deep": ("a = " + "{a=" * 5000 + "1" + "}" * 5000, "levels of lists"),
        "five million values": ("a = [" + "0," * 5_000_000 + "]", "values and names"),
        "sixty thousand keys": ("".join(f"k{i} = 1\n" for i in range(60_000)), "keys and tables"),
        "sixty thousand tables": (COIN + "[[problem.arms]]\n" * 60_000, "keys and tables"),
        "text of 6 MB": (swapped('"Two', '"' + "\\u00e4" * 1_000_000 + "Two"), "a text of"),
        "UTF-16": (COIN.encode("utf-16"), "not UTF-8"),
        "UTF-16 without mark": (COIN.encode("utf-16-le"), "NUL"),
        "UTF-32": (COIN.encode("utf-32"), "not UTF-8"),
        "Latin-1": (swapped("coin", "cöin").encode("latin-1"), "0xf6 is not UTF-8"),
        "surrogate in UTF-8": (COIN.encode().replace(b"coin", b"co\xed\xa0\x80in", 1), "not UTF-8"),
        "NUL": (COIN.encode().replace(b"coin", b"co\0in", 1), "NUL"),
        "only spaces": (" \n\t\n", "is empty"),
        "only a comment": ("# nothing\n", "problem: not given"),
        "JSON": ('{"problem": {"name": "x"}}', "not valid TOML"),
        "YAML": ("problem:\n  name: x\n", "not valid TOML"),
        "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not UTF-8"),
        "packed": (gzip.compress(COIN.encode()), "not UTF-8"),
        "control characters": (swapped('"coin"', '"co\x07in"'), "not valid TOML"),
        "open text": (COIN + 'x = "abc', "not valid TOML"),
        "open long text": (COIN + 'x = """abc', "not valid TOML"),
        "key twice": (COIN.replace("tolerance = 0.1", "tolerance = 0.1\ntolerance = 0.1"), "not valid TOML"),
        "table twice": (COIN + "\n[problem.states]\n", "not valid TOML"),
        "impossible date": (swapped("tolerance = 0.1", "tolerance = 2024-13-45"), "not valid TOML"),
        "2 000 open brackets in a comment": ("# " + "[" * 2000 + "\n" + COIN, None),
        "dots in a text": (swapped("Two ways", "x." * 400 + " Two ways"), None),
        "half a file": (COIN[: len(COIN) // 2], ANY),
    }
    for name, (content, refused) in cases.items():
        yield looked_at(f"toml: {name}", content, refused)


def _types() -> Iterator[Case]:
    """A value of another type in each place."""
    places = {
        "tolerance = 0.1": "tolerance",
        'sensitive = "group"': "sensitive",
        'groups = ["a", "b"]': "groups",
        'edges = [["group", "side"], ["side", "result"]]': "edges",
        'deployed = "even"': "deployed",
        "shares = { a = 0.5, b = 0.5 }": "shares",
    }
    values = {"true": "true", "a date": "1979-05-27", "a table": "{ x = 1 }", "lists": "[[[]]]"}
    for old, key in places.items():
        for what, value in values.items():
            text = swapped(old, f"{key} = {value}")
            said = "Group shares" if (key, what) == ("shares", "a table") else f"problem.{key}"
            yield looked_at(f"type: {key} is {what}", text, said)
    more = {
        "format 2": (swapped("format = 1", "format = 2"), "format"),
        "format is text": (swapped("format = 1", 'format = "1"'), "format"),
        "arms is a table": (COIN.split("[[problem.arms]]")[0] + "[problem.arms]\nname = 1\n", "problem.arms"),
        "problem is a list": ("[[problem]]\nname = 1\n", "problem"),
        "world is text": ("world = 1\n" + COIN.split("[[world")[0], "world"),
        "unknown table": (COIN + "\n[extra]\nx = 1\n", "extra: there is no such key"),
        "from_world without one": (
            swapped("tolerance", "from_world = true\ntolerance", COIN.split("[[world")[0]),
            "there is no [world]",
        ),
        "outcome is text": (
            swapped('outcome = { node = "result", values = { lose = 0, win = 1 } }', 'outcome = "result"'),
            "problem.outcome",
        ),
        "log is a list": (COIN + "\n[[log]]\ncount = 1\n", "log"),
        "log count is a number": (COIN + "\n[log]\ncount = 1\n", "log.count"),
    }
    for name, (text, refused) in more.items():
        yield looked_at(f"type: {name}", text, refused)


NUMBERS = {
    "tolerance": ("tolerance = 0.1", "tolerance = {}", {"5e-324", "1e-320", "1e-13", "1e308", "-0.0", "0", "inf", "nan", "-1", "1e400"}, {"1e-12", "1e11"}),
    "outcome": ("win = 1", "win = {}", {"1e308", "inf", "nan", "1e-320", "0", "1e101"}, {"-1", "1e99", "7e-11"}),
    "share": ("a = 0.5, b = 0.5", "a = {}, b = 0.5", {"nan", "inf", "-1", "1e308", "0", "1e-320"}, {"0.5000001"}),
    "cost": ('name = "tilted"', 'name = "tilted"\ncost = {}', {"nan", "inf", "-1", "1e308", "1e10"}, {"0", "1e-320", "1e9", "1e-300"}),
    "budget": ('deployed = "even"', 'deployed = "even"\nbudget = {}', {"nan", "inf", "-1", "0", "1e-320"}, {"1", "1e300"}),
    "entry": ("[[0.75, 0.25]", "[[{}, 0.25]", {"nan", "inf", "-1", "1e308", "1e-320", "0.8"}, {"0.75000001"}),
}  # fmt: skip
"""Where, how, what must be refused, what is fine."""


def _numbers() -> Iterator[Case]:
    """Numbers at the ends of what a float holds, through a whole run."""
    for key, (old, new, refused, fine) in NUMBERS.items():
        for value in sorted(refused | fine):
            text = swapped(old, new.format(value))
            if key == "outcome":  # the tolerance stays a tenth of the range, where there is one
                text = swapped("tolerance = 0.1", f"tolerance = {_tenth(value)}", text)
            said = ANY if value in refused else None
            yield command(KIND, f"number: {key} = {value}", "identify", "p.toml", "--pulls", "200", "--json", files={"p.toml": text}, refused=said)  # fmt: skip
    ranges = {"[0, 1e308]": ANY, "[-1e308, 1e308]": ANY, "[1, 1]": ANY, "[2, 1]": ANY, "[0, nan]": ANY, "[0]": ANY, "[0, 1, 2]": ANY, "[]": ANY,
              "[0, 5e-324]": ANY, "[1e15, 1000000000000001]": ANY, "[-1e99, 1e99]": None, '["0", "1"]': ANY, "[true, false]": ANY}  # fmt: skip
    real = COIN.replace("values = { lose = 0, win = 1 }", "range = RANGE").split("[[world")[0]
    real = real.replace('result = ["lose", "win"]\n', "")
    for value, said in ranges.items():
        tolerance = "1e98" if "1e99" in value else "0.1"
        text = real.replace("RANGE", value).replace("tolerance = 0.1", f"tolerance = {tolerance}")
        yield looked_at(f"number: range {value}", text, said)


def _tenth(value: str) -> str:
    number = abs(float(value))
    return f"{number / 10:.17g}" if 0 < number < 1e300 else "0.1"


NAMES = {
    "empty": ("", "is empty"),
    "spaces": ("   ", "is empty"),
    "201 characters": ("x" * 201, "201 characters"),
    "not NFC": ("e\\u0301", "NFC"),
    "bidi": ("a\\u202eb", "U+202E"),
    "C1": ("a\\u009bb", "U+009B"),
    "escape": ("a\\u001b[31mb", "U+001B"),
    "line separator": ("a\\u2028b", "U+2028"),
    "newline": ("a\\nb", "U+000A"),
    "zero width": ("a\\u200bb", "U+200B"),
    "200 characters": ("x" * 200, None),
    "markup": ("[/x]", None),
    "markup in words": ("[bold red]x[/]", None),
    "quotes": ("a'b\\\"c", None),
    "HTML": ("<script>alert(1)</script>", None),
    "braces": ("{x} {{y}} %s", None),
    "Arabic": ("عمر", None),
    "emoji": ("🙂", None),
    "path": ("../../etc/passwd", None),
}


def _names() -> Iterator[Case]:
    places = {"arm": ("tilted", COIN), "group": ("b", COIN), "problem": ("coin", COIN), "state": ("tails", COIN)}
    for what, (name, refused) in NAMES.items():
        for place, (old, text) in places.items():
            renamed = text.replace(f'"{old}"', f'"{name}"').replace(
                ", b = 0.5", f', "{name}" = 0.5' if old == "b" else ", b = 0.5"
            )
            run = (
                ("evaluate", "p.toml", "log.csv")
                if place == "group" and refused is None and "C" not in what
                else ("inspect", "p.toml")
            )
            if run[0] == "evaluate":
                plain = name.replace('\\"', '""')
                log = (
                    "group,side,result\n"
                    + f'"{plain}",heads,win\na,tails,lose\n"{plain}",tails,win\na,heads,win\n' * 40
                )
                yield command(
                    KIND,
                    f"name: {place}, {what}",
                    *run,
                    "--json",
                    files={"p.toml": renamed, "log.csv": log},
                    refused=refused,
                )
            else:
                yield command(
                    KIND, f"name: {place}, {what}", *run, "--json", files={"p.toml": renamed}, refused=refused
                )
    yield looked_at(
        "name: a group called natural", COIN.replace('"b"', '"natural"').replace("b = 0.5", "natural = 0.5"), "natural"
    )
    for what, text, refused in (
        ("bidi and escapes", "a\\u202eb\\u001b[31m\\u009b", None),
        ("5 079 characters", "x" * 5001, "5079 characters"),
        ("lines", "one\\ntwo", None),
    ):
        yield looked_at(f"description: {what}", swapped("Two ways", text + " Two ways"), refused)
        yield command(KIND, f"description on the terminal: {what}", "problems", "--save", "p.toml", "--out", "q.toml", "--json", files={"p.toml": swapped("Two ways", text + " Two ways")}, refused=refused)  # fmt: skip


def _sizes() -> Iterator[Case]:
    """More of everything than memory or patience holds."""
    arms = "".join(f'[[problem.arms]]\nname = "n{i}"\ntable = [0.5, 0.5]\n' for i in range(11_000))
    head, world = COIN.split("[[world")[0], "[[world" + COIN.split("[[world", 1)[1]
    states = ", ".join(f'"s{i}"' for i in range(11_000))
    edges = ", ".join(f'["n{i}", "n{i + 1}"]' for i in range(20_000))
    parents = ", ".join(f'"P{i}"' for i in range(40))
    two = "\n".join(f'P{i} = ["0", "1"]' for i in range(40))
    yield looked_at("size: 11 000 arms", head + arms + world, "11002 arms")
    yield looked_at(
        "size: 11 000 states", swapped('side = ["heads", "tails"]', f'side = ["heads", "tails", {states}]'), ANY
    )
    yield looked_at("size: a chain of 20 000 nodes", swapped("edges = [", f"edges = [{edges}, ", head), None)
    yield looked_at(
        "size: a cycle of 20 000 nodes", swapped("edges = [", f'edges = [{edges}, ["n20000", "n0"], '), "cycle"
    )
    yield looked_at(
        "size: an arm of 40 inputs",
        swapped(
            "[problem.states]", f"[problem.states]\n{two}", swapped('parents = ["group"]', f"parents = [{parents}]")
        ),
        ANY,
    )
    yield looked_at(
        "size: 2^24 cells",
        swapped("[problem.states]", "[problem.states]\n" + "\n".join(f'P{i} = ["0", "1"]' for i in range(24)), swapped('name = "tilted"\nparents = ["group"]\ntable = [[0.75, 0.25], [0.5, 0.5]]', 'name = "tilted"\nparents = [' + ", ".join(f'"P{i}"' for i in range(24)) + "]")).replace("edges = [", "edges = [" + ", ".join(f'["P{i}", "side"]' for i in range(24)) + ", "),
        ANY,
    )  # fmt: skip
    yield looked_at("size: a file of 17 MB", COIN + "# " + "x" * 17_000_000, "the largest file read")
    yield looked_at("size: 300 constraints", swapped("tolerance = 0.1", "constraints = [" + "{ weights = { a = 1, b = -1 }, tolerance = 0.1 }," * 300 + "]"), "Two constraints are called")  # fmt: skip
    yield looked_at(
        "size: groups named 5 000 times",
        swapped('groups = ["a", "b"]', "groups = [" + '"a",' * 5000 + "]"),
        "problem.groups",
    )


def _places() -> Iterator[Case]:
    """A name where no problem file is."""
    looks = {
        "a folder": (lambda path: path.mkdir(), "is a directory"),
        "a pipe": (os.mkfifo, "not a regular file"),
        "a link to itself": (lambda path: path.symlink_to(path), ANY),
        "a link to nothing": (lambda path: path.symlink_to("nothing.toml"), "no such file"),
        "an endless device": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    }
    for name, (content, refused) in looks.items():
        yield looked_at(f"place: {name}", content, refused)
    for name in (
        "missing.toml",
        "no/such/folder/p.toml",
        "x" * 300 + ".toml",
        "/dev/null",
        "/dev/zero",
        "/proc/self/mem",
        "/",
        ".",
        "..",
        "~/p.toml",
    ):
        yield command(KIND, f"place: {name[:20]}", "inspect", name, "--json", refused=ANY)


def _beside() -> Iterator[Case]:
    """Files that a problem file names."""
    network = "network x { }\nvariable group { type discrete [ 2 ] { a, b }; }\nvariable side { type discrete [ 2 ] { heads, tails }; }\nvariable result { type discrete [ 2 ] { lose, win }; }\nprobability ( group ) { table 0.5, 0.5; }\nprobability ( side | group ) { (a) 0.5, 0.5; (b) 0.5, 0.5; }\nprobability ( result | side ) { (heads) 0.25, 0.75; (tails) 0.75, 0.25; }\n"
    known = COIN.split("[[world")[0]

    def named(path: str) -> str:
        return known + f"[world]\nnetwork = {path!r}\n"

    def outside(path: Path) -> None:
        (path.parent.parent / "outside.bif").write_text(network)
        path.symlink_to(path.parent.parent / "outside.bif")

    def folder_outside(path: Path) -> None:
        (path.parent.parent / "outside").mkdir()
        (path.parent.parent / "outside" / "n.bif").write_text(network)
        path.symlink_to(path.parent.parent / "outside")

    for name, path, files, refused in (
        ("a file beside it", "n.bif", {"n.bif": network}, None),
        ("a file below it", "a/b/n.bif", {"a/b/n.bif": network}, None),
        ("a link to a file beside it", "m.bif", {"n.bif": network, "m.bif": lambda p: p.symlink_to("n.bif")}, None),
        ("a link out of the folder", "n.bif", {"n.bif": outside}, "beside the problem file"),
        ("a linked folder", "far/n.bif", {"far": folder_outside}, "beside the problem file"),
        (
            "a link to a password file",
            "n.bif",
            {"n.bif": lambda p: p.symlink_to("/etc/passwd")},
            "beside the problem file",
        ),
        ("an absolute path", "/etc/passwd", {}, "beside the problem file"),
        ("a path upwards", "../n.bif", {}, "beside the problem file"),
        ("a path down and up", "a/../../n.bif", {}, "beside the problem file"),
        ("nothing", "", {}, ANY),
        ("a folder", "d.bif", {"d.bif": lambda p: p.mkdir()}, "is a directory"),
        ("a pipe", "n.bif", {"n.bif": os.mkfifo}, "not a regular file"),
        ("a link to itself", "n.bif", {"n.bif": lambda p: p.symlink_to(p)}, ANY),
        ("a name too long", "n" * 300 + ".bif", {}, ANY),
        ("a pickle", "n.pkl", {"n.pkl": b"\x80\x04K\x01."}, "not that of a network format"),
        ("a URL", "https://example.org/n.bif", {}, ANY),
    ):
        yield command(KIND, f"beside: {name}", "inspect", "p.toml", "--json", files={"p.toml": named(path), **files}, refused=refused)  # fmt: skip
    yield looked_at("beside: a file and tables", named("n.bif") + COIN[COIN.index("[[world") :], ANY)
    yield looked_at("world: a node without a table", COIN.rpartition("[[world")[0], "has no table")
    yield looked_at("as the tests have it", BASE, None)
