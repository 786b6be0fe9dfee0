"""What must hold of the groups' means: one question of fairness, as it is declared.

A question compares groups (`pairs`, `reference`, `mean`), sets each of them a floor (`floor`), or bounds a weighted sum of
their means (`weights`). It is about one attribute, or about several jointly; people are compared with what they would get in another group, all of it
or with some nodes kept as they are. `fairarm.problem.fairness` turns the questions of a problem into rows.
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
Others = Literal["follow", "held"]
Effect = Literal["total", "direct", "indirect", "spurious"]

COMPARES: tuple[Compare, ...] = ("pairs", "reference", "mean", "floor", "weights")
DIRECTIONS: tuple[Direction, ...] = ("both", "not_below", "not_above")
OTHERS: tuple[Others, ...] = ("follow", "held")
EFFECTS: tuple[Effect, ...] = ("total", "direct", "indirect", "spurious")
MEDIATORS: Literal["mediators"] = "mediators"
GAPS = ("pairs", "reference", "mean")
"""Questions that compare groups: a tolerance bounds the difference of the means, a ratio their quotient."""

_ENDS = {"tolerance": "within", "ratio": "ratio", "at_least": "at least", "at_most": "at most"}
_RANGES = {
    "tolerance": " above 0, in the outcome's units",
    "at_least": ", in the outcome's units",
    "at_most": ", in the outcome's units",
}
_ONE = {"groups": "group", "attributes": "attribute", "keep": "node"}
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
    """The attribute whose groups these are. Not needed where there is one; pairs of every attribute where none is named."""
    attributes: tuple[str, ...] = ()
    """In place of one: groups are the combinations of these attributes' states, called "region=north,race=b"."""
    min_share: float = 0.0
    """Of ``attributes``: combinations that fewer people have are left out."""
    others: Others = "follow"
    """What other attributes do that this one acts on: ``follow`` it, or are ``held`` as they are."""
    keep: tuple[str, ...] | Literal["mediators"] = ()
    """Nodes that stay as they are; ``mediators``: all below the attribute that are there before the decision."""
    effect: Effect = "total"
    """Of ``pairs`` and ``reference``: which part of the difference between two groups is bounded."""

    @classmethod
    def gap(cls, first: str, second: str, tolerance: float) -> Constraint:
        """μ_k(first) − μ_k(second), the gap between two groups."""
        return cls(((first, 1.0), (second, -1.0)), tolerance)

    def __post_init__(self) -> None:
        if self.name != "":
            check_name(self.name, "The name of a constraint")
        object.__setattr__(self, "weights", _checked_weights(self.weights))
        object.__setattr__(self, "groups", _checked_names(self.groups, "groups", "names of groups"))
        object.__setattr__(self, "attributes", _checked_names(self.attributes, "attributes", "sensitive attributes"))
        if self.keep != MEDIATORS:
            kept = _checked_names(self.keep, "keep", f"nodes, or '{MEDIATORS}'")
            object.__setattr__(self, "keep", kept)
        if self.compare is None:
            object.__setattr__(self, "compare", "weights" if self.weights else "pairs")
        _check_words(self)
        _check_attributes(self)
        _check_paths(self)
        _check_numbers(self)

    @property
    def about(self) -> tuple[str, ...]:
        """The attributes that it names."""
        return self.attributes if self.attribute is None else (self.attribute,)

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
        # saved runs know their problem by it
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


def _checked_names(given: Iterable[str], key: str, what: str) -> tuple[str, ...]:
    """Names, each once."""
    names = given if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ProblemError(f"{key} is {given!r}. It is a list of {what}.")
    if repeated := first_repeated(names):
        raise ProblemError(f"{key} names '{repeated}' twice. Name each {_ONE[key]} once.")
    return names


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


def _check_attributes(asked: Constraint) -> None:
    """One attribute or several jointly, and what goes with several alone."""
    if asked.attribute is not None and not isinstance(asked.attribute, str):
        raise ProblemError(f"attribute is {asked.attribute!r}. It is the name of a sensitive attribute.")
    if asked.attribute is not None and asked.attributes:
        raise ProblemError(
            f"attribute = '{asked.attribute}' with attributes {list(asked.attributes)}. Give one of the two: attributes asks about the "
            f"combinations of their states."
        )
    if len(asked.attributes) == 1:
        raise ProblemError(f"attributes names '{asked.attributes[0]}' alone. Use attribute = '{asked.attributes[0]}'.")
    if asked.attributes and asked.weights:
        raise ProblemError(
            f"weights with attributes {list(asked.attributes)}: weights go by the groups of one attribute."
        )
    if not _is_number(asked.min_share) or not 0 <= asked.min_share < 1:
        raise ProblemError(f"min_share is {asked.min_share!r}. It must be a number from 0 to below 1.")
    if asked.min_share and not asked.attributes:
        raise ProblemError(
            f"min_share = {asked.min_share:g} without attributes: it leaves out rare combinations of several attributes. For one, "
            f"name the groups (groups = [...])."
        )


def _check_paths(asked: Constraint) -> None:
    """What is kept or followed goes with questions about people as if they were of another group."""
    for key, known in (("others", OTHERS), ("effect", EFFECTS)):
        if getattr(asked, key) not in known:
            raise ProblemError(f"{key} is {getattr(asked, key)!r}. It is one of: {', '.join(known)}.")
    given = {"others = 'held'": asked.others == "held", f"keep = {_shown(asked.keep)}": bool(asked.keep)}
    if asked.compare not in GAPS and (first := next((key for key, is_given in given.items() if is_given), None)):
        raise ProblemError(
            f"compare = '{asked.compare}' with {first}: it asks about nobody as if they were of another group. Use compare = 'pairs', "
            f"'reference' or 'mean', or leave it out."
        )
    if asked.effect == "total":
        return
    if asked.compare not in ("pairs", "reference") or asked.keep:
        other = f"keep = {_shown(asked.keep)}" if asked.keep else f"compare = '{asked.compare}'"
        raise ProblemError(
            f"effect = '{asked.effect}' with {other}. It goes with compare = 'pairs' or 'reference', without keep."
        )
    if asked.ratio is not None or asked.direction != "both":
        other = "a ratio" if asked.ratio is not None else f"direction = '{asked.direction}'"
        raise ProblemError(
            f"effect = '{asked.effect}' with {other}. It is bounded on both sides by a tolerance; keep = 'mediators' asks about the direct "
            f"effect and takes both."
        )


def _shown(keep: tuple[str, ...] | str) -> str:
    return f"'{keep}'" if isinstance(keep, str) else str(list(keep))


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
    """E.g. "pairs within 0.05", "against a ratio 0.8, not below", "floor 0.3", "race: pairs within 0.1, keep department"."""
    about = f"{', '.join(asked.about)}: " if asked.about else ""
    rare = f", share {asked.min_share:g} or more" if asked.min_share else ""
    others = ", others held" if asked.others == "held" else ""
    kept = asked.keep if isinstance(asked.keep, str) else ", ".join(asked.keep)
    effect = "" if asked.effect == "total" else f", {asked.effect} effect"
    return f"{about}{_comparison_name(asked)}{rare}{others}{f', keep {kept}' if kept else ''}{effect}"


def _comparison_name(asked: Constraint) -> str:
    """What of the groups is compared, and between which ends."""
    ends = (f"{word} {value:g}" for key, word in _ENDS.items() if (value := getattr(asked, key)) is not None)
    end = " ".join(ends)
    among = f" of {', '.join(asked.groups)}" if asked.groups else ""
    side = "" if asked.direction == "both" else f", {asked.direction.replace('_', ' ')}"
    if asked.compare == "floor":
        return f"floor {asked.at_least:g}{among}"
    of = {"pairs": "pairs", "reference": f"against {asked.reference}", "mean": "against the mean"}
    what = of.get(str(asked.compare)) or ("pairs" if asked.is_gap else weighted_sum(asked))
    return f"{what} {end}{among}{side}"


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
