"""The statements about HEPAR-II, the two theorems and SRIS, and what the other readings change."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairarm.experiments.paper.bounds import LEVEL
from fairarm.experiments.paper.plan import DEFAULT_READING, FOUR, READINGS, SYNTHETIC
from fairarm.reports.paper import rules
from fairarm.reports.paper.judging import ClaimTable, Judged, Material, Statement
from fairarm.reports.paper.numerical import best_of, ends, joined, means
from fairarm.reports.paper.rules import NAMES, Count, Curve, count_text, duel_text
from fairarm.reports.words import pulls_text

HEPAR = "section 6, figure 5"
THEOREM_1, THEOREM_2 = "section 4.2, theorem 1", "section 4.2, theorem 2"
SRIS = "Sen et al. 2017, whose algorithm the second stage is"


def hepar2(m: Material) -> list[Statement]:
    """What the paper says of HEPAR-II, to be judged by the runs."""

    def partial(_: str) -> Judged:
        found = {(i.observed, i.nodes, i.arcs) for i in m.of("hepar2")}
        observed, nodes, arcs = min(found)
        text = f"{observed} of {nodes} nodes ({observed / nodes:.1%}) must be observed; the network has {arcs} arcs."
        return Judged(found == {(6, 70, 123)}, text)

    def binds(_: str) -> Judged:
        instances = m.of("hepar2")
        fair = ", ".join(f"{i.fair_arms} of {i.arms}" for i in instances)
        nearest = min(i.fairness_gap for i in instances)
        text = f"Fair arms at E = 0.2: {fair}; no |gap| comes nearer to 0.2 than {nearest:.3f}."
        return Judged(all(i.fair_arms < i.arms for i in instances), text)

    def v2_best(reading: str) -> Judged:
        return best_of(m.four("hepar2", "hepar2", reading), "csr-v2")

    def v1_next(reading: str) -> Judged:
        curves = m.four("hepar2", "hepar2", reading)
        behind = [name for name in FOUR[2:] if not rules.better(curves["csr-v1"], curves[name])]
        return Judged(not behind, joined([*(duel_text("csr-v1", n, curves) for n in FOUR[2:]), *ends(curves)]))

    def poor(reading: str) -> Judged:
        curves = m.four("hepar2", "hepar2", reading)
        holds = all(rules.better(curves[name], curves["two-stage-v2"]) for name in FOUR[:2])
        return Judged(holds, joined(duel_text(name, "two-stage-v2", curves) for name in FOUR[:2]))

    def screened(reading: str) -> Judged:
        experiment = "hepar2" if reading == DEFAULT_READING else "readings"
        points = m.results.points(experiment, "hepar2", "two-stage-v2", reading)
        if not points:
            raise rules.NotMeasuredError(reading)
        errors, dropped = sum(e.errors for e in points), sum(e.dropped_as_unfair for e in points)
        runs = sum(e.runs for e in points)
        text = f"Its first stage rejects the best arm in {dropped} of {runs} runs; {errors} runs end in an error."
        return Judged(2 * dropped >= errors > 0, text)

    def consistent(reading: str) -> Judged:
        found = {"here": rules.lowest(m.four("hepar2", "hepar2", reading))}
        found |= {f"in {s}": rules.lowest(m.four("synthetic", s)) for s in ("loose", "tight")}
        text = "Lowest error averaged over T: " + ", ".join(f"{NAMES[name]} {where}" for where, name in found.items())
        return Judged(set(found.values()) == {"csr-v2"}, text + ".")

    return [
        Statement(HEPAR, "Six nodes of seventy, 8.6 %, have to be observed.", partial),
        Statement(HEPAR, "The fairness constraint E = 0.2 has to be met by the choice of an arm.", binds),
        Statement(HEPAR, "CSR-V2 is (with CSR-V1) the best of the four.", v2_best, READINGS),
        Statement(HEPAR, "CSR-V1 does better than both two-stage baselines.", v1_next, READINGS),
        Statement(HEPAR, "Two-stage V2 does badly: worse than CSR-V1 and CSR-V2.", poor, READINGS),
        Statement(HEPAR, "Presumably its first stage drops the best arm by mistake: half of its errors or more come from that.", screened, READINGS),
        Statement(HEPAR, "The conclusion is that of the numerical section: CSR-V2 is lowest here as in loose and tight.", consistent, READINGS),
    ]  # fmt: skip


def binding_note(m: Material) -> str:
    """HEPAR-II at a tolerance that splits the arms: which the paper did not run."""
    curves = m.four("hepar2", "hepar2-binding")
    reached = {name: rules.first_at_most(curve, LEVEL) for name, curve in curves.items()}
    texts = [
        f"{NAMES[name]} from T = {pulls_text(T)} on" if T else f"{NAMES[name]} at no T run"
        for name, T in reached.items()
    ]
    return f"At a tolerance half-way between the two middle gaps, an error of at most {LEVEL} is reached by: {'; '.join(texts)}."


def programme_note(m: Material) -> str:
    """Where CSR's pulls go on HEPAR-II."""
    instances = m.of("hepar2")
    shares, M = [i.share_s for i in instances], [i.M_high for i in instances]
    low, high = min(i.D_back_low for i in instances), max(i.D_back_high for i in instances)
    forward = max(i.D_high for i in instances)
    return (
        f"CSR's first programme gives {min(shares):.0%} to {max(shares):.0%} of the pulls to one regime, sex forced to male: PBC is "
        f"6.6 times as likely for women, and D is the logarithm of a mean of exp|weight|, so D of the direction learned from men "
        f"lies between {low:.0f} and {high:.0f}, against at most {forward:.0f} in the other direction and M of at most {max(M):.0f}. "
        "The programme equalises pulls divided by divergence. Natural pulls, the only ones that feed outcomes, get "
        f"{min(i.share_natural for i in instances):.1%} to {max(i.share_natural for i in instances):.1%}."
    )


# ---- theorems ----


def theorems(m: Material) -> list[Statement]:
    """What the two theorems say, to be judged by the bounds and the runs."""
    return [
        Statement(THEOREM_1, "Where a fair arm exists, CSR-V1's error is at most the bound.", _bounded(m, SYNTHETIC)),
        Statement(THEOREM_1, "Its error falls to zero as the pulls grow.", _vanishes(m)),
        Statement(THEOREM_2, "Where no arm is fair, CSR declares that with at least the probability of the bound.", _bounded(m, ("no-fair-arm",))),
        Statement(THEOREM_2, "That probability rises to one, for CSR-V1 and CSR-V2.", _declares(m)),
    ]  # fmt: skip


def simulated(m: Material, setting: str) -> Curve:
    """CSR-V1 at the experiment's pulls and far beyond."""
    experiment = "no-fair-arm" if setting == "no-fair-arm" else "synthetic"
    near, far = (m.results.curve(e, setting, "csr-v1") for e in (experiment, "bounds"))
    return {**near, **far}


def _bounded(m: Material, settings: tuple[str, ...]) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        broken, checked, telling, reaches = 0, 0, 0, []
        for setting in settings:
            bound, curve = m.bound(setting), simulated(m, setting)
            allowed = {T: bound.at(T) for T in curve}
            broken += sum(count.limits[0] > allowed[T] for T, count in curve.items())
            checked, telling = checked + len(curve), telling + sum(value < 1 for value in allowed.values())
            reaches.append(f"{setting}: the bound {_reached(m, setting)}, the simulated error {_first(curve)}")
        text = (
            f"The lower limit of the simulated error exceeds the bound at {broken} of {checked} points "
            f"(the bound is below 1 at {telling}). Pulls needed for an error of {LEVEL}: {'; '.join(reaches)}."
        )
        return Judged(broken == 0, text)

    return rule


def _first(curve: Curve) -> str:
    T = rules.first_at_most(curve, LEVEL)
    return f"{pulls_text(T)}" if T else "beyond what was run"


def _reached(m: Material, setting: str) -> str:
    """Over the instances, from the luckiest to the unluckiest."""
    found = [i.reaches for i in m.bound(setting).instances]
    known = sorted(T for T in found if T is not None)
    if not known:
        return "more than 10¹⁸"
    top = pulls_text(known[-1]) if len(known) == len(found) else "more than 10¹⁸"
    return pulls_text(known[0]) if top == pulls_text(known[0]) else f"{pulls_text(known[0])} to {top}"


def _vanishes(m: Material) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        curves = {setting: simulated(m, setting) for setting in SYNTHETIC}
        ends_ = [f"{s}: {count_text(rules.last(c))} at T = {pulls_text(max(c))}" for s, c in curves.items()]
        holds = all(rules.last(c).share <= rules.PERFECT and rules.falls(c) for c in curves.values())
        return Judged(holds, f"CSR-V1: {'; '.join(ends_)}.")

    return rule


def _declares(m: Material) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        curves = {
            "csr-v1": simulated(m, "no-fair-arm"),
            "csr-v2": m.results.curve("no-fair-arm", "no-fair-arm", "csr-v2"),
        }
        texts = []
        for name, curve in curves.items():
            T, top = rules.first_at_most(curve, rules.PERFECT), rules.last(curve)
            declared = Count(top.runs - top.errors, top.runs)
            half = max((t for t, count in curve.items() if count.share >= rules.HIGH_ERROR / 2), default=None)
            still = f" (at T = {pulls_text(half)} still {1 - curve[half].share:.3f})" if half else ""
            since = f"at least 0.95 from T = {pulls_text(T)} on" if T else "never 0.95"
            texts.append(f"{NAMES[name]}: {count_text(declared)} at T = {pulls_text(max(curve))}, {since}{still}")
        holds = all(rules.last(c).share <= rules.PERFECT for c in curves.values())
        return Judged(holds, f"Probability of declaring none: {'; '.join(texts)}.")

    return rule


def baseline_note(m: Material) -> str:
    """The two-stage baselines where no arm is fair."""
    curves = {name: m.results.curve("no-fair-arm", "no-fair-arm", name) for name in FOUR[2:]}
    return "The theorem is not about the baselines. Where no arm is fair they err so often: " + joined(ends(curves))


# ---- SRIS ----


def sris(m: Material) -> list[Statement]:
    """What SRIS's own paper says of its experiments, to be judged by runs in its setting."""
    return [
        Statement(SRIS, "SRIS-V2's error is below 0.05 at about 100 pulls.", _below(m, "sris-v2", 100, 0.05)),
        Statement(SRIS, "SRIS-V1's error is below 0.25 at about 225 pulls.", _below(m, "sris-v1", 225, 0.25)),
    ]


def _below(m: Material, name: str, pulls: int, level: float) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        curve = m.results.curve("sris", "sris", name, "final_arm=random")
        T = min(curve, key=lambda t: abs(math.log(t / pulls)))
        first = rules.first_at_most(curve, level)
        since = f"at or below {level} from T = {pulls_text(first)} on" if first else f"never at or below {level}"
        return Judged(curve[T].share < level, f"{NAMES[name]} {count_text(curve[T])} at T = {T}, {since}.")

    return rule


# ---- readings ----

DEFAULTS = {"tight": "synthetic", "hepar2": "hepar2"}


def reading_tables(m: Material) -> list[ClaimTable]:
    """Errors under every reading at the largest number of pulls that they were run with."""
    tables = []
    for setting in DEFAULTS:
        points = [e.point for e in m.results.evidence if (e.point.experiment, e.point.setting) == ("readings", setting)]
        if points:
            T = max(point.pulls for point in points)
            run = {point.reading for point in points}
            rows = [
                _reading_row(m, setting, r, T) for r in (DEFAULT_READING, *READINGS) if r in {*run, DEFAULT_READING}
            ]
            columns = ("reading", *(NAMES[name] for name in FOUR), "lowest")
            tables.append(ClaimTable(f"{setting}, T = {pulls_text(T)}", columns, tuple(rows)))
    return tables


def _reading_row(m: Material, setting: str, reading: str, T: int) -> tuple[str, ...]:
    at = {name: m.results.under(reading, DEFAULTS[setting], setting, name)[T] for name in FOUR}
    lowest = min(at, key=lambda name: at[name].share)
    return (reading, *(count_text(at[name]) for name in FOUR), NAMES[lowest])


def reading_note(m: Material) -> str:
    """Who is best on HEPAR-II when every pull informs outcomes, as the paper's text literally has it."""
    default, literal = (m.four("hepar2", "hepar2", r) for r in (DEFAULT_READING, "outcome_pulls=all"))
    return (
        f"On HEPAR-II {NAMES[rules.lowest(default)]} is lowest by default ({means(default)[0]}), "
        f"{NAMES[rules.lowest(literal)]} where forced pulls inform outcomes too, outcome_pulls=all ({means(literal)[0]}): "
        "CSR then gains the outcomes of its many forced pulls, biased toward the forced group as they are."
    )
