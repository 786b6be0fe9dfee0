"""Command lines: every number that an option takes, at its ends and beyond; names, places to write to."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.case import Case, command

KIND = "command lines"
ANY = ""


def command_lines() -> Iterator[Case]:
    yield from _numbers()
    yield from _catalogue()
    yield from _places()
    yield from _words()
    yield from _options()


def typed(*arguments: str, refused: str | None) -> Case:
    name = " ".join(argument if len(argument) <= 40 else f"{argument[:37]}..." for argument in arguments)
    return command(KIND, name or "(nothing)", *arguments, refused=refused)


def _numbers() -> Iterator[Case]:
    wrong = ("nan", "inf", "-1", "1e400", "", "abc", "9" * 500)
    for value in (*wrong, "0", "1e16", "1.5", "0x10", "٣", "1_0 0"):
        yield typed("inspect", "coin", "--pulls", value, "--json", refused="--pulls")
    for value in (*wrong, "0", "1", "2", "1e-320"):
        refused = None if value in ("1e-320",) else ANY
        yield typed(
            "identify",
            "coin",
            "--pulls",
            "100",
            "--confidence",
            value,
            "--json",
            refused=ANY if refused is None else refused,
        )
    for value in (*wrong, "1.0000001", "2"):
        yield typed("identify", "coin", "--pulls", "100", "--min-fair-probability", value, "--json", refused=ANY)
    for value in ("-1", "nan", "", "abc", "1.5", "9" * 500):
        yield typed("identify", "coin", "--pulls", "100", "--seed", value, "--json", refused=ANY)
    for value in (str(2**63), str(2**64), str(2**64 + 1), str(10**30)):
        yield typed(
            "identify", "coin", "--pulls", "100", "--seed", value, "--json", refused=None if int(value) < 2**64 else ANY
        )
    for value in ("0", "-1", "1e9", "99999999999", "abc", ""):
        yield typed("simulate", "coin", "--runs", value, "--pulls", "64", "--json", refused="--runs")
        yield typed("simulate", "coin", "--jobs", value, "--runs", "2", "--pulls", "64", "--json", refused="--jobs")
    for option in ("--target-error", "--outcome-margin", "--gap-margin", "--prior-mean", "--prior-strength"):
        for value in ("nan", "inf", "-1", "abc", "1e400"):
            yield typed("plan", "coin", option, value, "--truths", "2", "--most-pulls", "32", "--json", refused=ANY)
    for value in ("nan", "inf", "-1", "0", "1", "1e400", ""):
        yield typed("evaluate", "coin", "log.csv", "--confidence", value, "--json", refused=ANY)
    for value in ("nan", "inf", "-1", "0", "1e-320", "1e308", "abc", ""):
        yield typed("inspect", "coin", "--tolerance", value, "--json", refused=ANY)
    for value in ("0", "31", "-5", "1e3", "99999999999", ""):
        yield typed("plan", "coin", "--most-pulls", value, "--json", refused="--most-pulls")
    for value in ("0", "-1", "10000000", "x"):
        yield typed("plan", "coin", "--truths", value, "--json", refused="--truths")
    yield typed("simulate", "coin", "--pulls", "64,,64", "--runs", "2", "--json", refused="--pulls")
    yield typed(
        "simulate",
        "coin",
        "--pulls",
        ",".join(["64"] * 5000),
        "--runs",
        "2",
        "--algorithms",
        "uniform",
        "--json",
        refused=None,
    )


def _catalogue() -> Iterator[Case]:
    for name in (
        "hepar2:K=999999999", "hepar2:K=1001", "hepar2:K=0", "hepar2:K=-1", "hepar2:K=1.5", "hepar2:K=", "hepar2:K", "hepar2:=3", "hepar2:K=1,K=2",
        "hepar2:k=3", "hepar2:seed=-1", "hepar2:seed=18446744073709551616", "hepar2:seed=" + "9" * 500, "hepar2:K=٣", "hepar2:K=1e3",
        "hepar2-binding:K=1", "hepar2-binding:K=999999999", "synthetic-tight:K=999999999", "synthetic-tight:m=999999999", "synthetic-tight:K=1",
        "synthetic-tight:K=30,m=1", "synthetic-tight:noisy=1", "synthetic-tight-noisy:noisy=1", "synthetic-none:setting=tight", "sris:K=2", "sris:K=999999999", "sris:m=999999999",
        "beta-mixtures:K=999999999", "beta-mixtures:tolerance=3", "gaussian-arms:K=999999999", "gaussian-arms:reach=3", "coin:K=2", "coin:seed=1", "coyn", "", " ", ":", "coin:x",
        "x" * 5000, "coin\x1b[31m", "coin\u202e", "-", "--", "http://example.org/x.toml", "sqlite:///x",
    ):  # fmt: skip
        yield typed("inspect", name, "--json", refused=ANY)
    yield typed("inspect", "hepar2:K=2,seed=999999999", "--json", refused=None)
    yield typed("inspect", "coin", "--json", refused=None)


def _places() -> Iterator[Case]:
    quick = ("simulate", "coin", "--pulls", "64", "--runs", "2", "--algorithms", "uniform", "--json")
    for place in (
        ".",
        "x",
        "x.exe",
        "x.svg.exe",
        "no/such/x.svg",
        "/x/y/z.png",
        "/dev/full",
        "/dev/null/x.svg",
        "x" * 300 + ".svg",
        "",
        "/proc/x.svg",
    ):
        yield typed(*quick, "--plot", place, refused=ANY)
        yield typed(*quick, "--report", place.replace("svg", "html"), refused=ANY)
    for place in ("/dev/full", "/proc/x.toml", "no/such/x.toml", ".", "", "x" * 300):
        yield typed("problems", "--save", "coin", "--out", place, "--json", refused=ANY)
    yield typed("problems", "--save", "nothing", "--json", refused=ANY)
    yield typed("problems", "--save", "beta-mixtures", "--json", refused="made of code")
    yield typed("problems", "--save", "coin", "--json", refused=None)
    yield typed(*quick, "--plot", "x.svg", refused=None)
    yield typed("inspect", "coin", "--json", "--report", "x.html", refused=None)
    yield typed("paper", "--quick", "--backend", "nothing", refused="backend")
    yield typed("paper", "--quick", "--out", "/proc/x", refused=ANY)
    yield typed("paper", "--quick", "--out", "/dev/null", refused=ANY)


def _words() -> Iterator[Case]:
    yield typed("nothing", refused=ANY)
    yield typed("identify", refused=ANY)
    yield typed("identify", "coin", "extra", refused=ANY)
    yield typed("identify", "coin", "--nothing", refused=ANY)
    yield typed("identify", "coin", "--pulls", refused=ANY)
    yield typed("--nothing", refused=ANY)
    yield typed("identify", "coin", "--algorithm", "nothing", "--json", refused="no algorithm")
    yield typed("identify", "coin", "--algorithm", "", "--json", refused="no algorithm")
    yield typed("identify", "coin", "--algorithm", "pool\x1b[31m", "--json", refused="no algorithm")
    yield typed("identify", "coin", "--algorithm", "x" * 5000, "--json", refused="no algorithm")
    yield typed("identify", "coin", "--stop", "never", "--confidence", "0.9", "--json", refused=ANY)
    yield typed("identify", "coin", "--engine", "duckdb", "--json", refused="--log")
    yield typed("simulate", "coin", "--algorithms", ",,", "--json", refused="no algorithm")
    yield typed("simulate", "coin", "--algorithms", "pool," * 2000, "--json", refused="no algorithm")
    yield typed("evaluate", "coin", "log.csv", "--law", "nothing", "--json", refused="--law")
    yield typed("problems", "--out", "x.toml", "--json", refused="--save")
    yield typed("schema", refused=None)
    yield typed("problems", "--json", refused=None)


def _options() -> Iterator[Case]:
    """``-o``: names that are the command's own, and values that are not what they should be."""
    for option in (
        "pulls=3", "seed=3", "log=3", "problem=3", "world=3", "algorithm=x", "on_phase=x", "name=x", "self=1", "rng=1", "state=1", "colour=red",
        "x", "=", "=1", "", "a=b=c", "law=", "law=x", "confidence=2", "confidence=nan", "__class__=1", "x" * 5000 + "=1", "law=\x1b[31m",
    ):  # fmt: skip
        yield typed("identify", "coin", "--pulls", "100", "-o", option, "--json", refused=ANY)
    for option in ("jobs=3", "runs=3", "limit=1", "on_done=x", "pulls=3"):
        yield typed("simulate", "coin", "--pulls", "64", "--runs", "2", "-o", option, "--json", refused=ANY)
    yield typed("identify", "coin", "--pulls", "100", "-o", "law=estimated", "--json", refused=None)
