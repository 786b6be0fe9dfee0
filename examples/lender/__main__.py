"""Credit scores as candidate rules: scikit-learn models beside the rules of the bundled lender, by the lender's four questions.

    python -m examples.lender

The models are fitted on 20 000 loans of today's rule, to say who repays. Their scores are cut into refusals, small loans and full ones. They are
arms like any other: their inputs are finite, so each is asked once for every combination of them. The bundled problem itself holds
tables alone, so that it needs no scikit-learn.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairarm import Arm, NetworkWorld, Problem, Request, Verdict, identify, load_problem
from fairarm.core.types import FloatArray, IntArray

ROWS = 20_000
TIERS = (0.45, 0.7)
"""Refused below the first chance of repaying, in full from the second."""
CASES = {"score": ("history", "income", "rent"), "score with product": ("history", "income", "rent", "product")}


def loans(problem: Problem, world: NetworkWorld) -> tuple[dict[str, IntArray], IntArray]:
    """What was recorded of people who got a loan by today's rule, and whether they repaid."""
    counts = np.zeros((len(problem.regimes), len(problem.arms)), dtype=np.int64)
    counts[0, problem.arm_index(str(problem.deployed))] = ROWS
    pulled = world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(1))
    columns = {name: np.repeat(column, pulled.count) for name, column in pulled.columns.items()}
    lent = columns["loan"] > 0
    states = np.array(problem.variables["result"].states)
    repaid = np.char.startswith(states[columns["result"][lent]], "repaid").astype(np.int64)
    return {name: column[lent] for name, column in columns.items()}, repaid


def models(problem: Problem, world: NetworkWorld) -> list[Arm]:
    """Two kinds of scores, each with and without the product."""
    columns, repaid = loans(problem, world)
    made = []
    for case, inputs in CASES.items():
        seen: FloatArray = np.stack([columns[name] for name in inputs], axis=1).astype(np.float64)
        for kind, model in (
            ("linear", LogisticRegression()),
            ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ):
            model.fit(seen, repaid)
            made.append(
                Arm.from_classifier(
                    f"{kind} {case}",
                    model,
                    decision="loan",
                    inputs=inputs,
                    variables=problem.variables,
                    tiers=TIERS,
                    learned_from=None,  # from rows of their own, drawn before the run
                    explore=0.1,
                )
            )
    return made


def main() -> tuple[NetworkWorld, Verdict]:
    """The lender's rules and the models: what is true of the models, and what 20 000 pulls find."""
    lender = load_problem("lender")
    if not isinstance(lender.world, NetworkWorld):
        raise TypeError("the bundled lender has a network")
    costs = {"natural": 1, "forced": 2}
    added = models(lender.problem, lender.world)
    problem = lender.problem.with_arms([*lender.problem.arms, *added], costs={arm.name: costs for arm in added})
    world = NetworkWorld(problem, lender.world.network)
    truth = world.truth()
    for k in range(len(lender.problem.arms), len(problem.arms)):
        worst = int(truth.asked.beyond(truth.rows[k]).argmax())  # type: ignore[union-attr]
        row = problem.rows[worst]
        print(
            f"{problem.arm_names[k]:26} earns {truth.outcomes[k]:.2f}, {'fair' if truth.fair[k] else 'unfair'}; closest: {row.name} {truth.rows[k, worst]:+.2f}"
        )
    found = identify(problem, world, pulls=20_000, seed=1).verdict
    print(f"Found: {found.arm}. In truth: {problem.arm_names[truth.answer]}.")
    return world, found


if __name__ == "__main__":
    main()
