"""What must hold of the groups' means: one question of fairness, as it is declared.

A question compares groups (`pairs`, `reference`, `mean`), sets each of them a floor (`floor`), or bounds a weighted sum of
their means (`weights`). `fairarm.problem.fairness` turns the questions of a problem into rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Literal

from fairarm.errors import ProblemError
from fairarm.problem.names import check_name
from fairarm.problem.variables import LARGEST, first_repeated

Compare = Literal["pairs", "reference", "mean", "floor", "weights"]
Direction = Literal["both", "not_below", "not_above"]

COMPARES: tuple[Compare, ...] = ("pairs", "reference", "mean", "floor", "weights")
DIRECTIONS: tuple[Direction, ...] = ("both", "not_below", "not_above")
GAPS = ("pairs", "reference", "mean")
"""Questions that compare groups: a tolerance bounds the difference of the means, a ratio their quotient."""

_ENDS = {"tolerance": "within", "ratio": "ratio", "at_least": "at least", "at_most": "at most"}
_RANGES = {
    "tolerance": " above 0, in the outcome's units",
    "at_least": ", in the outcome's units",
    "at_most": ", in the outcome's units",
}
_MOST_TERMS = 4


@dataclass(frozen=True)
class Constraint:
    """A question about the groups' mean outcomes, in the outcome's own units.

    >>> pairs = Constraint(compare="pairs", tolerance=0.05)  # no two groups differ by 0.05 or more
    >>> rule = Constraint(compare="reference", reference="a", ratio=0.8, direction="not_below")  # the 80 % rule against a
    >>> floor = Constraint(compare="floor", at_least=0.3)  # every group's mean is above 0.3
    >>> pairs.label, rule.label, floor.label
    ('pairs within 0.05', 'against a ratio 0.8, not below', 'floor 0.3')
    """

    weights: tuple[tuple[str, float], ...] = ()
    """Of ``weights``: what each group's mean is multiplied by; groups that are not named do not count."""
    tolerance: float | None = None
    """Largest difference, not reached."""
    compare: Compare | None = None
    """``weights`` where weights are given, else ``pairs``."""
    ratio: float | None = None
    """In place of a tolerance: the smaller mean is more than this share of the larger one."""
    at_least: float | None = None
    at_most: float | None = None
    """Of ``floor`` and ``weights``: ends, not reached."""
    reference: str | None = None
    """Of ``reference``: the group that the others are compared with."""
    groups: tuple[str, ...] = ()
    """Only these are looked at; all if not given."""
    direction: Direction = "both"
    """Of ``reference`` and ``mean``: the other group (each group) must not be below, or not above, or neither."""
    name: str = ""
    """Made from the rest where it is not given."""
    attribute: str | None = None
    attributes: tuple[str, ...] = ()
    min_share: float = 0.0
    others: str = "follow"
    keep: tuple[str, ...] | str = ()
    effect: str = "total"

    @classmethod
    def gap(cls, first: str, second: str, tolerance: float) -> Constraint:
        """μ_k(first) − μ_k(second), the gap between two groups."""
        return cls(((first, 1.0), (second, -1.0)), tolerance)

    def __post_init__(self) -> None:
        if self.name != "":
            check_name(self.name, "The name of a constraint")
        object.__setattr__(self, "weights", _checked_weights(self.weights))
        object.__setattr__(self, "groups", _checked_groups(self.groups))
        if self.compare is None:
            object.__setattr__(self, "compare", "weights" if self.weights else "pairs")
        _check_words(self)
        _check_numbers(self)

    @property
    def label(self) -> str:
        """Its name, or what stands for one."""
        return self.name or _made_name(self)

    @property
    def named(self) -> tuple[str, ...]:
        """Every group that it names."""
        return (*self.groups, *dict(self.weights), *(() if self.reference is None else (self.reference,)))

    @property
    def is_gap(self) -> bool:
        """The weights and the tolerance of a gap between two groups: what pairs of the two would ask."""
        weights = sorted(weight for _, weight in self.weights if weight)
        return self.tolerance is not None and weights == [-1.0, 1.0]

    def __repr__(self) -> str:
        # a gap's is that of earlier versions: saved runs know their problem by it
        kept = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if self.compare == "weights":
            del kept["compare"]  # the weights say so
        return f"Constraint({', '.join(f'{key}={value!r}' for key, value in kept.items())})"


def _checked_weights(given: Mapping[str, float] | Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """By group, each once and a finite number."""
    try:
        weights = tuple((group, weight) for group, weight in (given.items() if isinstance(given, Mapping) else given))
    except (TypeError, ValueError):
        raise ProblemError(f"The weights are {given!r}. Give a number by group, e.g. {{'a': 1, 'b': -1}}.") from None
    if repeated := first_repeated(tuple(str(group) for group, _ in weights)):
        raise ProblemError(f"The weights name the group '{repeated}' twice. Give each group one number.")
    if not all(_is_number(weight) for _, weight in weights):
        raise ProblemError(f"The weights are {dict(weights)}. They must be finite numbers.")
    return tuple((group, float(weight)) for group, weight in weights)


def _checked_groups(given: Iterable[str]) -> tuple[str, ...]:
    """Names of groups, each once."""
    groups = given if isinstance(given, str) else tuple(given)
    if isinstance(groups, str) or not all(isinstance(group, str) for group in groups):
        raise ProblemError(f"groups is {given!r}. It is a list of names of groups.")
    if repeated := first_repeated(groups):
        raise ProblemError(f"groups names '{repeated}' twice. Name each group once.")
    return groups


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and abs(float(value)) <= LARGEST
    except OverflowError:  # a whole number of 400 digits
        return False


def _check_words(asked: Constraint) -> None:
    """The kind of question is known, and nothing is given that it has no use for."""
    if asked.compare not in COMPARES:
        raise ProblemError(f"compare is {asked.compare!r}. It is one of: {', '.join(COMPARES)}.")
    if asked.direction not in DIRECTIONS:
        raise ProblemError(f"direction is {asked.direction!r}. It is one of: {', '.join(DIRECTIONS)}.")
    if (asked.reference is not None) != (asked.compare == "reference"):
        raise ProblemError(
            f"compare = '{asked.compare}' with reference = {asked.reference!r}. A reference goes with compare = 'reference', "
            f"which needs one."
        )
    if bool(asked.weights) != (asked.compare == "weights"):
        raise ProblemError(
            f"compare = '{asked.compare}' with weights {dict(asked.weights)}. Weights go with compare = 'weights', which needs them."
        )
    if asked.groups and asked.weights:
        raise ProblemError(
            f"groups {list(asked.groups)} with weights: these name the groups that count. Leave groups out."
        )
    if asked.direction != "both" and asked.compare not in ("reference", "mean"):
        raise ProblemError(
            f"compare = '{asked.compare}' has no direction; got '{asked.direction}'. Use compare = 'reference' or 'mean'."
        )


def _check_numbers(asked: Constraint) -> None:
    """The ends that the kind of question has, each a number in its range."""
    given = [key for key in ("tolerance", "ratio", "at_least", "at_most") if getattr(asked, key) is not None]
    for key in given:
        if not _is_number(value := getattr(asked, key)):
            raise ProblemError(f"The {key} is {value!r}. It must be a finite number{_RANGES.get(key, '')}.")
    allowed: tuple[tuple[str, ...], ...]
    if asked.compare in GAPS:
        allowed = (("tolerance",), ("ratio",))
    elif asked.compare == "floor":
        allowed = (("at_least",),)
    else:
        allowed = (("tolerance",), ("at_least",), ("at_most",), ("at_least", "at_most"))
    if tuple(given) not in allowed:
        ways = ", or ".join(" and ".join(way) for way in allowed)
        raise ProblemError(f"compare = '{asked.compare}' needs {ways}; got {', '.join(given) or 'none of them'}.")
    if asked.tolerance is not None and not asked.tolerance > 0:
        raise ProblemError(
            f"The tolerance is {asked.tolerance}. It must be a finite number above 0, in the outcome's units."
        )
    if asked.ratio is not None and not 0 < asked.ratio < 1:
        raise ProblemError(f"The ratio is {asked.ratio}. It must be above 0 and below 1, e.g. 0.8.")
    if asked.at_least is not None and asked.at_most is not None and not asked.at_least < asked.at_most:
        raise ProblemError(f"at_least is {asked.at_least} and at_most {asked.at_most}: nothing lies between them.")


def _made_name(asked: Constraint) -> str:
    """E.g. "pairs within 0.05", "against a ratio 0.8, not below", "floor 0.3", "a - 0.5 b within 0.1"."""
    ends = (f"{word} {value:g}" for key, word in _ENDS.items() if (value := getattr(asked, key)) is not None)
    end = " ".join(ends)
    among = f" of {', '.join(asked.groups)}" if asked.groups else ""
    side = "" if asked.direction == "both" else f", {asked.direction.replace('_', ' ')}"
    if asked.compare == "floor":
        return f"floor {asked.at_least:g}{among}"
    of = {"pairs": "pairs", "reference": f"against {asked.reference}", "mean": "against the mean"}
    what = of.get(str(asked.compare)) or ("pairs" if asked.is_gap else weighted_sum(asked))
    return f"{what} {end}{among}{side}{' for ' + asked.attribute if asked.attribute else ''}"


def weighted_sum(asked: Constraint) -> str:
    """The weights as a sum that can be read: "a - 0.5 b"; only "weights" where that would be long."""
    counted = [(group, weight) for group, weight in asked.weights if weight]
    if not 0 < len(counted) <= _MOST_TERMS:
        return "weights"
    terms = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g} '}{group}"
        for group, weight in counted
    ]
    return " ".join(terms).removeprefix("+ ")
