"""What `identify` and `simulate` are told of an algorithm: its options, how sure it is to be, how many pulls."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairarm.errors import OptionError

Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        help="An option of the algorithm, e.g. law=estimated for pool, clip_base=e for csr (docs/algorithms.md).",
    ),
]

Confidence = Annotated[
    float | None, typer.Option(help="pool: stop when this sure, e.g. 0.95; without it all pulls are used.")
]
Stop = Annotated[
    str | None,
    typer.Option(help="pool with --confidence: certified (proved; the default) or bayes-stop (by the posterior)."),
]


def algorithm_options(given: list[str] | None, algorithms: list[str], **named: Any) -> dict[str, Any]:
    """The options of --option, each of which some of the algorithms must have, and of the flags that were given."""
    from fairarm.algorithms import options_of

    known = dict.fromkeys(key for name in algorithms for key in options_of(name))
    found: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    for item in given or []:
        key, equals, value = item.partition("=")
        if not equals:
            raise OptionError(f"An option is KEY=VALUE; got '{item}'.")
        key = key.replace("-", "_")
        if key not in known:
            has = f"'{algorithms[0]}' has no" if len(algorithms) == 1 else f"None of {', '.join(algorithms)} has an"
            raise OptionError(f"{has} option '{key}'. Options: {', '.join(known) or 'none'}.")
        found[key] = value
    return found


def asks_for_proof(options: dict[str, Any]) -> bool:
    """Whether an answer is to be proved, however that was asked for."""
    return "confidence" in options and options.get("stop") != "bayes-stop"


def pull_counts(text: str) -> list[int]:
    """The numbers of pulls of a list with commas; each may be written as 1e4."""
    return [whole_number(part, "--pulls") for part in text.split(",")]


def whole_number(text: str, what: str) -> int:
    """A whole number, also written 1e6."""
    try:
        value = float(text if text.isascii() else "")
    except ValueError:
        value = -1.0
    if not (1 <= value <= 1e15) or value != int(value):
        raise OptionError(f"{what} must be whole numbers from 1 to 1e15; got '{text.strip()}'.")
    return int(value)
