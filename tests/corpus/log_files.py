"""Logs: CSV, Parquet, JSON lines and SQLite, whole and broken, and the ``[log]`` that says how to read them."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from corpus.case import Case, Content, command
from corpus.problem_files import ANY, COIN

KIND = "logs"
HEAD = "group,side,result\n"
ROWS = "a,heads,win\na,tails,lose\nb,heads,win\nb,tails,lose\na,heads,lose\nb,heads,win\n" * 40
GOOD = HEAD + ROWS
COLUMNS: dict[str, list[Any]] = {
    "group": ["a", "a", "b", "b"] * 60,
    "side": ["heads", "tails"] * 120,
    "result": ["win", "lose", "win", "win", "lose", "win"] * 40,
}


def log_files() -> Iterator[Case]:
    for name, (content, refused) in _csv().items():
        yield read(f"CSV: {name}", "log.csv", content, refused)
    for name, (content, refused) in _json().items():
        yield read(f"JSON lines: {name}", "log.jsonl", content, refused)
    for name, (content, refused) in _parquet().items():
        yield read(f"Parquet: {name}", "log.parquet", content, refused)
    yield from _sqlite()
    yield from _mapped()
    yield from _sources()
    yield from _several()
    yield from _drafts()


def read(name: str, file: str, content: Content, refused: str | None, log: str = "", source: str | None = None) -> Case:
    files = {"p.toml": COIN + log, file: content}
    return command(KIND, name, "evaluate", "p.toml", source or file, "--json", files=files, refused=refused)


def _csv() -> dict[str, tuple[Content, str | None]]:
    wide = ",".join(f"c{i}" for i in range(100_000))
    return {
        "as it is": (GOOD, None),
        "byte-order mark": (b"\xef\xbb\xbf" + GOOD.encode(), None),
        "Windows lines": (GOOD.replace("\n", "\r\n"), None),
        "no last newline": (GOOD.rstrip(), None),
        "semicolons": (GOOD.replace(",", ";"), None),
        "tabs": (GOOD.replace(",", "\t"), None),
        "quoted": (GOOD.replace("heads", '"heads"'), None),
        "an index without a name": ("," + HEAD + "".join(f"{i},{row}\n" for i, row in enumerate(ROWS.splitlines())), None),
        "columns in another order": ("result,group,side\n" + "win,a,heads\nlose,b,tails\nwin,b,heads\nlose,a,tails\n" * 50, None),
        "empty": ("", ANY),
        "only a head": (HEAD, ANY),
        "only spaces": ("   \n", ANY),
        "a column missing": (GOOD.replace("side", "sode", 1), "side"),
        "no head": (ROWS, ANY),
        "a column twice": (GOOD.replace(HEAD, "group,side,side\n"), ANY),
        "no state known": (GOOD.replace("win", "won").replace("lose", "lost"), ANY),
        "stray states": (GOOD + "z,heads,win\n", None),
        "missing values": (GOOD + ",heads,win\na,,win\na,heads,\n", None),
        "all missing": (HEAD + ",,\n" * 100, ANY),
        "a short line": (GOOD + "a,heads\n", ANY),
        "a long line": (GOOD + "a,heads,win,4\n", ANY),
        "an open quote": (GOOD + '"a,heads,win\n', ANY),
        "100 000 columns": (wide + "\n" + wide + "\n", ANY),
        "100 000 columns and ours": (HEAD.strip() + "," + wide + "\n" + "a,heads,win" + ",1" * 100_000 + "\n", ANY),
        "a line of 30 MB": (GOOD + "a" * 30_000_000 + ",heads,win\n", ANY),
        "a head of 5 MB": ("x" * 5_000_000 + "," + GOOD, ANY),
        "NULs": (GOOD.encode() + b"\0\0\0,\0,\0\n", None),
        "Latin-1": (GOOD.encode() + b"na\xefve,heads,win\n", ANY),
        "UTF-16": (GOOD.encode("utf-16"), ANY),
        "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10, ANY),
        "packed under another name": (gzip.compress(GOOD.encode()), ANY),
        "escapes in values": (GOOD + "\x1b[31m,heads,win\n", None),
        "bidi in values": (GOOD + "a\u202e,heads,win\n", None),
        "escapes in the head": (GOOD.replace("group", "gr\x1b[31moup", 1), ANY),
        "a newline in a value": (GOOD + '"a\nb",heads,win\n', None),
        "one row": (HEAD + "a,heads,win\n", None),
        "one group": (HEAD + "a,heads,win\na,tails,lose\n" * 50, None),
        "a folder": (lambda path: path.mkdir(), ANY),
        "a pipe": (os.mkfifo, ANY),
        "an endless device": (lambda path: path.symlink_to("/dev/zero"), ANY),
        "a link to nothing": (lambda path: path.symlink_to("nothing"), ANY),
    }  # fmt: skip


def _json() -> dict[str, tuple[Content, str | None]]:
    lines = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    good = "".join(json.dumps(line) + "\n" for line in lines)
    return {
        "as it is": (good, None),
        "empty": ("", ANY),
        "a list": (json.dumps(lines), None),
        "one number per line": ("1\n2\n", ANY),
        "cut": (good[:-20], ANY),
        "CSV": (GOOD, ANY),
        "deep": (good + '{"group": ' + "[" * 50_000 + "\n", ANY),
        "a nested group": (good + '{"group": {"x": 1}, "side": "heads", "result": "win"}\n', None),
        "a key missing in some": (good + '{"group": "a", "side": "heads"}\n', None),
        "a number for a state": (good + '{"group": 1, "side": "heads", "result": "win"}\n', None),
        "NaN": (good + '{"group": NaN, "side": "heads", "result": "win"}\n', None),
        "keys twice": ('{"group": "a", "group": "b", "side": "heads", "result": "win"}\n', ANY),
        "a lone surrogate": (good + '{"group": "\\ud800", "side": "heads", "result": "win"}\n', ANY),
        "100 000 keys": ("{" + ",".join(f'"k{i}": 1' for i in range(100_000)) + "}\n", ANY),
    }


def parquet(columns: Mapping[str, Any]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(dict(columns)), path)

    return write


def _parquet() -> dict[str, tuple[Content, str | None]]:
    def bytes_of(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            parquet(COLUMNS)(path)
            path.write_bytes(change(path.read_bytes()))

        return write

    def typed(path: Path) -> None:
        import pyarrow as pa

        parquet({**COLUMNS, "group": pa.array([["a"], ["b"]] * 120)})(path)

    def dictionary(path: Path) -> None:
        import pyarrow as pa

        parquet({**COLUMNS, "side": pa.array(COLUMNS["side"]).dictionary_encode()})(path)

    def binary(path: Path) -> None:
        parquet({**COLUMNS, "group": [b"a", b"\xff"] * 120})(path)

    return {
        "as it is": (parquet(COLUMNS), None),
        "a dictionary": (dictionary, None),
        "empty file": (b"", ANY),
        "rubbish": (b"PAR1" + bytes(1000) + b"PAR1", ANY),
        "CSV": (GOOD, ANY),
        "cut": (bytes_of(lambda data: data[: len(data) // 2]), ANY),
        "footer changed": (bytes_of(lambda data: data[:-20] + b"\xff" * 12 + data[-8:]), ANY),
        "footer of 4 GB": (bytes_of(lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1"), ANY),
        "data changed": (bytes_of(lambda data: data[:4] + b"\xff" * 60 + data[64:]), ANY),
        "no rows": (parquet({key: values[:0] for key, values in COLUMNS.items()}), ANY),
        "a column missing": (parquet({key: COLUMNS[key] for key in ("group", "side")}), ANY),
        "lists": (typed, ANY),
        "bytes": (binary, ANY),
        "numbers": (parquet({**COLUMNS, "group": [1, 2] * 120}), ANY),
        "4 000 columns": (parquet({**COLUMNS, **{f"c{i}": [1] * 240 for i in range(4000)}}), None),
        "6 000 columns": (parquet({**COLUMNS, **{f"c{i}": [1] * 240 for i in range(6000)}}), "columns"),
    }


def database(*statements: str, rows: bool = True) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            if rows:
                connection.execute('CREATE TABLE t ("group" TEXT, side TEXT, result TEXT)')
                connection.executemany("INSERT INTO t VALUES (?, ?, ?)", zip(*COLUMNS.values(), strict=True))
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return make


ENDLESS = """CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
SELECT 'a' AS "group", 'heads' AS side, 'win' AS result FROM n"""


def _sqlite() -> Iterator[Case]:
    for name, content, ending, refused in (
        ("as it is", database(), "?table=t", None),
        ("no table named, and one there", database(), "", None),
        ("no such table", database(), "?table=nothing", ANY),
        ("a table of another name", database(), "?table=t;drop table t", ANY),
        ("an odd option", database(), "?table=t&x=1", None),
        ("no tables", database(rows=False), "?table=t", ANY),
        ("empty", "", "?table=t", ANY),
        ("rubbish", b"SQLite format 3\0" + bytes(range(256)) * 20, "?table=t", ANY),
        ("a view", database('CREATE VIEW v AS SELECT "group", side, result FROM t'), "?table=v", None),
        ("an endless view", database(ENDLESS), "?table=v", ANY),
        ("a view that fails", database("CREATE VIEW v AS SELECT * FROM missing"), "?table=v", ANY),
        ("mixed types", database("INSERT INTO t VALUES (1, x'ff', 2.5)"), "?table=t", ANY),
        ("text that is not UTF-8", database("INSERT INTO t VALUES (CAST(x'ff' AS TEXT), 'heads', 'win')"), "?table=t", ANY),
    ):  # fmt: skip
        yield read(f"SQLite: {name}", "log.db", content, refused, source=f"sqlite:///log.db{ending}")


WEIGHED = 'count = "n"\npropensity = "p"'


def weighed(count: str) -> str:
    """A log with propensities, whose rows are read one by one; the first of each four stands for so many."""
    rows = f"a,heads,win,0.5,{count}\nb,tails,lose,0.5,2\na,tails,win,0.5,1\nb,heads,lose,0.5,5\n"
    return "group,side,result,p,n\n" + rows * 20


def _mapped() -> Iterator[Case]:
    """A [log] that does not fit, or that would make one column two things."""
    counted = "group,side,result,n\n" + "a,heads,win,3\nb,tails,lose,2\na,tails,win,1\nb,heads,lose,5\n" * 20
    for name, log, csv, refused in (
        ("count", 'count = "n"', counted, None),
        ("count names the outcome", 'count = "result"', counted, ANY),
        ("count missing", 'count = "m"', counted, ANY),
        ("count negative", 'count = "n"', counted.replace(",3\n", ",-3\n"), ANY),
        ("count a fraction", 'count = "n"', counted.replace(",3\n", ",2.5\n"), ANY),
        ("count text", 'count = "n"', counted.replace(",3\n", ",three\n"), ANY),
        ("count huge", 'count = "n"', counted.replace(",3\n", ",9223372036854775807\n"), ANY),
        ("count 10^30", 'count = "n"', counted.replace(",3\n", f",{10**30}\n"), ANY),
        ("counts of 10^19 beside propensities", WEIGHED, weighed(str(10**19)), ANY),
        ("counts of 1e19 beside propensities", WEIGHED, weighed("1e19"), ANY),
        ("counts of 2^61 beside propensities", WEIGHED, weighed(str(1 << 61)), ANY),
        ("counts beside propensities", WEIGHED, weighed("3"), None),
        ("column of nothing", 'columns = { side = "nothing" }', GOOD, "nothing"),
        ("column of no node", 'columns = { nothing = "side" }', GOOD, "nothing"),
        ("column with an escape", 'columns = { side = "a\\u001bb" }', GOOD, "U+001B"),
        ("labels of no state", 'labels = { side = { x = "nothing" } }', GOOD, "nothing"),
        ("arm column", 'arm = "n"', counted.replace(",3\n", ",even\n"), None),
        ("made by nobody", 'made_by = "nobody"', GOOD, "nobody"),
        ("arm and made by", 'arm = "n"\nmade_by = "even"', counted, ANY),
        ("propensity of 1e-160", 'propensity = "n"', counted.replace(",3\n", ",1e-160\n").replace(",2\n", ",0.5\n").replace(",1\n", ",0.5\n").replace(",5\n", ",0.5\n"), None),
        ("propensity 0", 'propensity = "n"', counted.replace(",3\n", ",0\n").replace(",2\n", ",0.5\n").replace(",1\n", ",0.5\n").replace(",5\n", ",0.5\n"), None),
        ("propensity above 1", 'propensity = "n"', counted, ANY),
        ("propensity nan", 'propensity = "n"', counted.replace(",3\n", ",nan\n").replace(",2\n", ",0.5\n").replace(",1\n", ",0.5\n").replace(",5\n", ",0.5\n"), None),
        ("row ids twice", 'row_id = "n"', counted, None),
        ("time", 'time = "n"\noutcome_within = 1.0', counted, None),
        ("time that is none", 'time = "n"\noutcome_within = 1.0', counted.replace(",3\n", ",yesterday\n"), None),
        ("outcome within for ever", 'time = "n"\noutcome_within = 1e300', counted, ANY),
        ("outcome within without time", "outcome_within = 1.0", GOOD, "log.time"),
        ("planned that sums to 2", "planned = { even = 1.0, tilted = 1.0 }", GOOD, "sum to 1"),
        ("drop of nothing", 'drop = { side = ["x"] }', GOOD, None),
    ):  # fmt: skip
        yield read(f"[log]: {name}", "log.csv", csv, refused, log=f"\n[log]\n{log}\n")


def _sources() -> Iterator[Case]:
    for name, source, refused in (
        ("missing", "missing.csv", "no such file"),
        ("a pattern of nothing", "*.parquet", "no file matches"),
        ("an unknown ending", "p.toml", "not that of a log"),
        ("empty", "", ANY),
        ("a folder of nothing", ".", ANY),
        ("the root", "/", ANY),
        ("null", "/dev/null", ANY),
        ("zero", "/dev/zero", ANY),
        ("a name of 5 000 characters", "x" * 5000 + ".csv", ANY),
        ("an unknown scheme", "ftp://host/file.csv", ANY),
        ("http", "http://localhost:1/log.csv", ANY),
        ("a database that is not there", "postgresql://user:secret@127.0.0.1:1/x?table=t", ANY),
        ("a bad URL", "postgresql://[::1/x?table=t", ANY),
        ("a bad port", "postgresql://host:99999999/x?table=t", ANY),
        ("sqlite of nothing", "sqlite:///nothing.db?table=t", ANY),
    ):
        yield command(
            KIND, f"source: {name}", "evaluate", "coin", source, "--json", files={"p.toml": COIN}, refused=refused
        )
    for name, engine, refused in (
        ("unknown", "nonsense", "no engine"),
        ("dask nowhere", "dask://127.0.0.1:1", ANY),
        ("dask of nothing", "dask://", ANY),
        ("empty", "", ANY),
    ):
        yield command(KIND, f"engine: {name}", "evaluate", "coin", "log.csv", "--engine", engine, "--json", files={"log.csv": GOOD}, refused=refused)  # fmt: skip
    yield read("engine: other endings", "log.csv.gz", gzip.compress(GOOD.encode()), None)
    yield read("engine: a packed file cut", "log.csv.gz", gzip.compress(GOOD.encode())[:-12], ANY)
    yield read("engine: a packed file that is none", "log.csv.gz", GOOD, ANY)


def _several() -> Iterator[Case]:
    """A log in two files."""
    numbers = {key: [1, 2] * 120 for key in COLUMNS}
    for name, files, refused in (
        ("alike", {"a.csv": GOOD, "b.csv": GOOD}, None),
        ("another separator", {"a.csv": GOOD, "b.csv": GOOD.replace(",", ";")}, None),
        ("two separators in the second", {"a.csv": GOOD, "b.csv": HEAD + ROWS.replace(",", ";")}, ANY),
        ("another order of columns", {"a.csv": GOOD, "b.csv": "result,group,side\n" + "win,a,heads\nlose,b,tails\n" * 50}, None),
        ("every column disputed", {"a.parquet": parquet(COLUMNS), "b.parquet": parquet(numbers)}, "columns can be used"),
        ("every column disputed, and lists", {"a.parquet": parquet(COLUMNS), "b.parquet": parquet({key: [["a"]] * 9 for key in COLUMNS})}, "columns can be used"),
    ):  # fmt: skip
        held = {f"log/{path}": content for path, content in files.items()}
        given = {"p.toml": COIN, **held}
        yield command(KIND, f"two files: {name}", "evaluate", "p.toml", "log", "--json", files=given, refused=refused)
        if "disputed" in name:
            yield command(KIND, f"init: two files: {name}", "init", "log", "--json", files=held, refused=refused)


def _drafts() -> Iterator[Case]:
    """``init``: a draft is made, or one line says why not."""
    many = (
        "".join(f"c{i}," for i in range(300))
        + "sex,treat,cured\n"
        + ("1," * 300 + "f,yes,1\n" + "2," * 300 + "m,no,0\n") * 30
    )
    for name, csv, refused in (
        ("as it is", GOOD, None),
        ("a newline in a name", 'sex,treat,"zz\nshares = {f = 0.9} #",cured\n' + "f,yes,a,1\nm,no,b,0\nf,no,a,0\nm,yes,b,1\n" * 30, ANY),
        ("escapes in a name", "sex,treat,a\x1b[31m,cured\n" + "f,yes,a,1\nm,no,b,0\n" * 30, None),
        ("NaN in a column", "sex,treat,cured\n" + "f,yes,1.5\nm,no,nan\nf,no,2.5\nm,yes,3.5\n" * 30, None),
        ("303 columns", many, "303 columns"),
        ("decisions that are none", "sex,treat,cured\n" + "f,yes,1\nm,no,0\nf,no,0\nm,yes,1\n" * 30 + "f,?,1\nm,,0\n", None),
        ("empty", "", ANY),
        ("one column", "sex\nf\nm\n", ANY),
        ("quotes in values", 'sex,treat,cured\n"f""",yes,1\nm\'\\,no,0\n' * 1 + '"f""",no,1\nm\'\\,yes,0\n' * 30, None),
        ("bidi in values", "sex,treat,cured\n" + "f\u202e,yes,1\nm,no,0\n" * 30, None),
    ):  # fmt: skip
        yield command(KIND, f"init: {name}", "init", "log.csv", "--json", files={"log.csv": csv}, refused=refused)
    unit = [0.5, 1.5, 2.5, 3.5] * 60
    for name, columns, refused in (
        ("infinite outcomes", {**COLUMNS, "result": [float("inf"), *unit[1:]]}, "infinite"),
        ("infinite numbers beside them", {**COLUMNS, "x": [float("inf"), float("-inf"), *unit[2:]]}, None),
    ):
        given = {"log.parquet": parquet(columns)}
        yield command(KIND, f"init: {name}", "init", "log.parquet", "--outcome", "result", "--json", files=given, refused=refused)  # fmt: skip
    for name, link in (("a link to nothing", "nothing.toml"), ("a folder that is not there", "no/nothing.toml")):
        linked: dict[str, Content] = {"log.csv": GOOD, "p.toml": lambda path, to=link: path.symlink_to(to)}
        yield command(KIND, f"init: over {name}", "init", "log.csv", "--out", "p.toml", "--json", files=linked, refused=ANY)  # fmt: skip
    yield command(
        KIND,
        "init: over a file",
        "init",
        "log.csv",
        "--out",
        "p.toml",
        "--json",
        files={"log.csv": GOOD, "p.toml": "x"},
        refused="exists",
    )
    yield command(
        KIND,
        "init: no such column",
        "init",
        "log.csv",
        "--sensitive",
        "nothing",
        "--json",
        files={"log.csv": GOOD},
        refused="nothing",
    )
