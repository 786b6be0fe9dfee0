"""Sentences about rows are true: each is read back from its words alone, and compared with structural models with explicit noise."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import worked_examples
import worlds_models
import worlds_truth
from fairarm import Constraint
from fairarm.errors import ProblemError
from fairarm.reports.known import true_arm
from fairarm.reports.words import row_limits, row_text
from fairarm.worlds.network import NetworkWorld
from oracle import state
from worlds_fairarm import as_fairarm, question
from worlds_truth import Model

KEPT = r"(?:, with (?P<kept>[^()]+?) unchanged)?"
MORE = r"(?P<amount>[\d.,]+) (?P<word>more|less)"
SHARE = r"(?P<share>-?[\d.]+)"
FORMS = {
    "gain": rf"people of group (?P<u>\S+) would get {MORE} as (?P<t>\S+?){KEPT}",
    "spurious": rf"people of group (?P<u>\S+), as (?P<t>\S+), would get {MORE} than people of group (?P=t) get",
    "indirect": rf"people of group (?P<u>\S+), as (?P<t>\S+), would get {MORE} with (?P<kept>.+) unchanged than if it followed",
    "mean": rf"(?:group (?P<plain>\S+) gets|everyone as (?P<t>\S+?){KEPT},? would get) {MORE} than the mean over everybody",
    "floor": r"group (?P<t>\S+) gets (?P<amount>-?[\d.,]+)",
    "own share": rf"people of group (?P<u>\S+) get {SHARE} of what they would as (?P<t>\S+?){KEPT}",
    "share": rf"people of group (?P<u>\S+) would get, as (?P<t>\S+?){KEPT}, {SHARE} of what they get",
    "share of mean": rf"(?:group (?P<plain>\S+) gets|everyone as (?P<t>\S+?){KEPT},? would get) {SHARE} of the mean over everybody",
    "mean as share": rf"the mean over everybody is {SHARE} of what (?:group (?P<plain>\S+) gets|everyone as (?P<t>\S+?){KEPT},? would get)",
    "weights": r"(?P<sum>.+) is [+-][\d.,]+",
}
ENDS = r" \((?:allowed: less than (?P<most>[\d.,]+)(?: (?P<side>more|less))?|asked: (?P<asked>.+))\)"


class Read:
    """A sentence taken apart, about an arm of a model."""

    def __init__(self, model: Model, arm: int, text: str) -> None:
        self.model, self.arm = model, arm
        found = [(form, m) for form, shape in FORMS.items() if (m := re.fullmatch(shape + ENDS, text))]
        assert found, text
        (self.form, match) = found[0]
        self.said = {key: part for key, part in match.groupdict().items() if part is not None}

    def codes(self, name: str) -> dict[str, int]:
        parts = [part.split("=") for part in name.split(",")] if "=" in name else [[self.model.attributes[0], name]]
        return {x: next(c for c in range(self.model.sizes[x]) if state(x, c) == value) for x, value in parts}

    def mean(self, read: str | None = None, people: str | None = None, kept: str | None = None) -> float:
        told = {} if people is None else self.codes(people)
        keep = kept.split(", ") if kept else []
        return worlds_truth.mean(self.model, self.arm, worlds_truth.world(None if read is None else self.codes(read), told, keep))

    def true(self) -> float:
        """What the sentence speaks of, from the model."""
        t, u, kept = self.said.get("t", self.said.get("plain")), self.said.get("u"), self.said.get("kept")
        match self.form:
            case "gain":
                return self.mean(t, u, kept) - self.mean(None, u)
            case "spurious":
                return self.mean(t, u) - self.mean(None, t)
            case "indirect":
                return self.mean(t, u, kept) - self.mean(t, u)
            case "mean":
                return self.mean(t, None, kept) - self.mean()
            case "floor":
                return self.mean(None, t)
            case "own share":
                return self.mean(None, u) / self.mean(t, u, kept)
            case "share":
                return self.mean(t, u, kept) / self.mean(None, u)
            case "share of mean":
                return self.mean(t, None, kept) / self.mean()
            case _:
                return self.mean() / self.mean(t, None, kept)

    def number(self) -> float:
        if "share" in self.said:
            return float(self.said["share"])
        return float(self.said["amount"].replace(",", "")) * (-1 if self.said.get("word") == "less" else 1)

    def holds(self, x: float) -> bool:
        """By what the sentence says is allowed."""
        if (most := self.said.get("most")) is None:
            return x > float(self.said["asked"].removeprefix("more than ").replace(",", ""))
        bound, side = float(most.replace(",", "")), self.said.get("side")
        return (side == "more" or x > -bound) and (side == "less" or x < bound)


@pytest.mark.parametrize("part", range(2))
def test_sentences_of_any_question_are_true(part: int) -> None:
    seen = Counter[str]()
    for seed in range(part * 100, (part + 1) * 100):
        model, rng = worlds_models.random_model(seed), np.random.default_rng([seed, 13])
        for _ in range(2):
            asked = worlds_models.random_question(model, rng)
            for key in {"tolerance", "ratio", "at_least"} & asked.keys():
                asked[key] = float(f"{asked[key]:.5g}")  # sentences have six digits
            try:
                problem, network = as_fairarm(model, tolerance=None, constraints=[Constraint(**question(asked))])
                truth = NetworkWorld(problem, network).truth()
            except ProblemError:
                continue
            for k in range(len(model.arms)):
                for known in true_arm(problem, truth, k).rows:
                    text = row_text(problem, known)
                    read = Read(model, k, text)
                    seen[read.form] += 1
                    if read.form == "weights":
                        continue
                    x = read.true()
                    assert read.number() == pytest.approx(x, abs=1e-3 if "share" in read.said else 2e-4 * model.width), (seed, text)
                    near = abs(known.value or 0.0) < 1e-9 * model.width
                    assert near or "share" in read.said or read.number() == 0 or (read.number() > 0) == (x > 0), (seed, text)
                    assert known.inside == read.holds(x) or near or _at_an_end(known.value or 0.0, known.row), (seed, text)
    assert set(FORMS) <= set(seen) and min(seen.values()) >= 3, seen


def _at_an_end(x: float, row: object) -> bool:
    return any(end is not None and abs(x - end) < 1e-9 for end in (row.above, row.below))  # type: ignore[attr-defined]


def w6_rows(**asked: object) -> dict[str, str]:
    problem, network = as_fairarm(worked_examples.w6(), tolerance=None, constraints=[Constraint(**asked)])  # type: ignore[arg-type]
    truth = NetworkWorld(problem, network).truth()
    return {known.row.name: row_text(problem, known) for known in true_arm(problem, truth, 0).rows}


def test_both_ratios_of_an_ordered_pair() -> None:
    """W6: people of 0 get .727 of what they would as 1; as 1 they would get 1.375 of what they get."""
    asked = "(asked: more than 0.8)"
    assert w6_rows(ratio=0.8) == {
        "s0 as s1 / s0": f"people of group s0 would get, as s1, 1.375 of what they get {asked}",
        "s0 / s0 as s1": f"people of group s0 get 0.727 of what they would as s1 {asked}",
        "s1 as s0 / s1": f"people of group s1 would get, as s0, 0.982 of what they get {asked}",
        "s1 / s1 as s0": f"people of group s1 get 1.018 of what they would as s0 {asked}",
    }


def test_one_sided_rows_of_an_ordered_pair() -> None:
    """s1 may not be below s0 by 0.1: at the evidence of both."""
    assert w6_rows(compare="reference", reference="s0", direction="not_below", tolerance=0.1) == {
        "s1 - s1 as s0": "people of group s1 would get 0.0150 less as s0 (allowed: less than 0.1 more)",
        "s0 as s1 - s0": "people of group s0 would get 0.1350 more as s1 (allowed: less than 0.1 less)",
    }


def test_a_share_that_is_not_known_is_on_one_side() -> None:
    problem, network = as_fairarm(worked_examples.w6(), tolerance=None, constraints=[Constraint(ratio=0.8)])
    known = true_arm(problem, NetworkWorld(problem, network).truth(), 0).rows[1]
    without = replace(known, base=None)
    assert row_text(problem, without).startswith("people of group s0 get not more than 0.8 of what they would as s1 (")
    assert row_limits(problem, without, without.shown_interval) == "? to ?"


def test_parts_of_a_gap_in_words() -> None:
    """W3: by the indirect part people of 0 would get .16 less as 1 with R unchanged than if it followed."""
    asked = [Constraint(tolerance=0.2, effect="indirect")]
    problem, network = as_fairarm(worked_examples.w3(), tolerance=None, constraints=asked)
    known = true_arm(problem, NetworkWorld(problem, network).truth(), 0).rows
    assert [row_text(problem, each) for each in known] == [
        "people of group s0, as s1, would get 0.1600 less with R unchanged than if it followed (allowed: less than 0.2)",
        "people of group s1, as s0, would get 0.1600 more with R unchanged than if it followed (allowed: less than 0.2)",
    ]
    assert row_limits(problem, known[0], (-0.2, -0.1)) == "0.1000 to 0.2000"
