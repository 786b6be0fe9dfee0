"""The statements of the paper's section 5 and of its ablation study."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairarm.experiments.paper.plan import DEFAULT_READING, FOUR, READINGS
from fairarm.reports.paper import rules
from fairarm.reports.paper.judging import Judged, Material, Statement
from fairarm.reports.paper.rules import NAMES, Curve, count_text, curve_text, duel_text
from fairarm.reports.words import pulls_text

NONE, LOOSE, TIGHT = "section 5.1, figure 3a", "section 5.2, figure 3b", "section 5.3, figure 3c"
ABLATION = "appendix, ablation study, figure 6"
LEVELS = {"high-m-high-d": 0.85, "low-m-high-d": 0.75, "high-m-low-d": 0.75}
"""Where the paper says that the error of each setting of the ablation ends, at a number of pulls it does not state."""


def none(m: Material) -> list[Statement]:
    """What the paper says of the setting without a constraint."""

    def pays(_: str) -> Judged:
        curves = {n: m.results.curve("synthetic", "none", n) for n in ("csr-v1", "csr-v2", "sris-v1", "sris-v2")}
        pairs = (("sris-v1", "csr-v1"), ("sris-v2", "csr-v2"))
        holds = all(rules.better(curves[a], curves[b]) for a, b in pairs)
        return Judged(holds, joined([*(duel_text(a, b, curves) for a, b in pairs), *ends(curves)]))

    def baseline(_: str) -> Judged:
        curves = m.four("synthetic", "none")
        pairs = (("two-stage-v1", "csr-v1"), ("two-stage-v2", "csr-v2"))
        holds = all(rules.better(curves[a], curves[b]) for a, b in pairs)
        return Judged(holds, joined(duel_text(a, b, curves) for a, b in pairs))

    def perfect(_: str) -> Judged:
        curves = {n: m.results.curve("synthetic", "none", n) for n in ("csr-v2", "two-stage-v2")}
        return Judged(all(rules.last(c).share <= rules.PERFECT for c in curves.values()), joined(ends(curves)))

    def low(_: str) -> Judged:
        curve = m.results.curve("synthetic", "none", "two-stage-v1")
        return Judged(rules.last(curve).share <= rules.LOW_ERROR, curve_text(NAMES["two-stage-v1"], curve) + ".")

    return [
        Statement(NONE, "With tolerance 2 the constraint is always met, by every arm.", _fair_arms(m, "none", 30)),
        Statement(
            NONE, "CSR does worse than plain best-arm identification, as it spends pulls on fairness as well.", pays
        ),
        Statement(NONE, "In the same figure CSR does worse than the two-stage baselines.", baseline),
        Statement(NONE, "CSR-V2 and two-stage V2 reach perfect answers easily.", perfect),
        Statement(NONE, "Two-stage V1 has a low error, as half of its pulls go to finding the best arm.", low),
    ]


def loose(m: Material) -> list[Statement]:
    """What the paper says of the setting with a loose tolerance."""

    def best(_: str) -> Judged:
        return best_of(m.four("synthetic", "loose"), "csr-v2")

    def like(_: str) -> Judged:
        return _similar(m.four("synthetic", "loose"), "csr-v1", "two-stage-v1")

    return [
        Statement(LOOSE, "Eight of the thirty arms are not feasible.", _fair_arms(m, "loose", 22)),
        Statement(LOOSE, "The problem gets harder than without a constraint.", _harder(m, "loose", "none")),
        Statement(LOOSE, "CSR-V2 has the lowest error of the four.", best),
        Statement(LOOSE, "CSR-V1 performs like two-stage V1.", like),
    ]


def tight(m: Material) -> list[Statement]:
    """What the paper says of the setting with a tight tolerance."""

    def size(_: str) -> Judged:
        gaps = [i.outcome_gap or 0.0 for i in m.of("tight")]
        found = _fair_arms(m, "tight", 9)(DEFAULT_READING)
        near = all(abs(gap - 0.06) <= 0.01 for gap in gaps) and all(i.tolerance == 0.03 for i in m.of("tight"))
        return Judged(found.holds and near, f"{found.measured} Outcome gaps {min(gaps):.3f}–{max(gaps):.3f}.")

    def similar(other: str) -> Callable[[str], Judged]:
        return lambda reading: _similar(m.four("synthetic", "tight", reading), "csr-v1", other)

    def much(reading: str) -> Judged:
        curves = m.four("synthetic", "tight", reading)
        rivals = [name for name in FOUR if name != "csr-v2"]
        holds = all(rules.much_better(curves["csr-v2"], curves[name]) for name in rivals)
        return Judged(holds, joined([*means(curves), *(duel_text("csr-v2", name, curves) for name in rivals)]))

    def trend(reading: str) -> Judged:
        curve = m.results.under(reading, "synthetic", "tight", "csr-v2")
        errors = ", ".join(f"{count.share:.3f}" for count in curve.values())
        pulls = ", ".join(map(pulls_text, curve))
        until = f"the last significant fall is the one to T = {pulls_text(rules.falls_until(curve))}."
        return Judged(rules.falls(curve), f"CSR-V2 at T = {pulls}: {errors}; {until}")

    return [
        Statement(TIGHT, "With E = 0.03 nine arms are feasible; the outcome gap is about 0.06.", size),
        Statement(TIGHT, "This setting is harder than no constraint.", _harder(m, "tight", "none")),
        Statement(TIGHT, "This setting is harder than the loose one.", _harder(m, "tight", "loose")),
        Statement(TIGHT, "Two-stage V1 performs very much like CSR-V1.", similar("two-stage-v1"), READINGS),
        Statement(TIGHT, "Two-stage V2 performs very much like CSR-V1.", similar("two-stage-v2"), READINGS),
        Statement(TIGHT, "CSR-V2 does much better than the other three.", much, READINGS),
        Statement(TIGHT, "CSR-V2's error clearly falls as the pulls grow.", trend, READINGS),
    ]


def ablation(m: Material) -> list[Statement]:
    """What the paper says of the settings that differ in M and D."""
    both, low_m, low_d = LEVELS

    def high(_: str) -> Judged:
        curves, T = m.four("ablation", both), _matched_pulls(m)
        holds = all(curve[T].share >= rules.HIGH_ERROR for curve in curves.values())
        return Judged(holds, joined([*ends(curves, T), *ends(curves)]), _fitted(T))

    def wins(_: str) -> Judged:
        return best_of(m.four("ablation", both), "csr-v2")

    def alike(_: str) -> Judged:
        one, two = (m.results.curve("ablation", s, "csr-v2") for s in (low_m, low_d))
        overlap = f"limits of CSR-V2 overlap at {len(rules.overlapping(one, two))} of {len(rules.shared(one, two))} T"
        text = joined([overlap, curve_text("low M", one), curve_text("low D", two)])
        return Judged(rules.similar(one, two), text)

    return [
        Statement(ABLATION, "Larger M makes it harder: high M and D against low M.", _harder(m, both, low_m)),
        Statement(ABLATION, "Larger D makes it harder: high M and D against low D.", _harder(m, both, low_d)),
        Statement(ABLATION, "With both high, all four algorithms err often.", high),
        Statement(ABLATION, "With both high, CSR-V2 beats the others.", wins),
        Statement(ABLATION, "With both high, CSR-V2's error comes down to about 0.85.", _about(m, both)),
        Statement(ABLATION, "With low M the error ends at about 0.75.", _about(m, low_m)),
        Statement(ABLATION, "With low D the error ends at about 0.75.", _about(m, low_d)),
        Statement(ABLATION, "D has an effect similar to that of M.", alike),
    ]


# ---- shared rules ----


def joined(parts: Iterable[str]) -> str:
    """Parts as one sentence."""
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def ends(curves: dict[str, Curve], pulls: int | None = None) -> list[str]:
    """Errors with limits at the largest number of pulls, or at the one given."""
    T = pulls or max(next(iter(curves.values())))
    return [f"{NAMES[name]} {count_text(curve[T])} at T = {pulls_text(T)}" for name, curve in curves.items()]


def means(curves: dict[str, Curve]) -> list[str]:
    """Each algorithm's error, averaged over the numbers of pulls."""
    return ["averaged over T: " + ", ".join(f"{NAMES[name]} {rules.mean(c):.3f}" for name, c in curves.items())]


def _fair_arms(m: Material, setting: str, number: int) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        found = sorted({(i.fair_arms, i.arms) for i in m.of(setting)})
        texts = ", ".join(f"{fair} of {arms}" for fair, arms in found)
        count = len(m.of(setting))
        return Judged(
            found == [(number, 30)], f"Fair arms: {texts}, in {count} instances made to this count (exact truth)."
        )

    return rule


def best_of(curves: dict[str, Curve], name: str) -> Judged:
    """Best by the rule, told with the strongest rival."""
    rival = rules.lowest({other: curve for other, curve in curves.items() if other != name})
    return Judged(rules.best(curves, name), joined([*means(curves), duel_text(name, rival, curves), *ends(curves)]))


def _similar(curves: dict[str, Curve], a: str, b: str) -> Judged:
    total, both = len(rules.shared(curves[a], curves[b])), len(rules.overlapping(curves[a], curves[b]))
    text = f"limits of {NAMES[a]} and {NAMES[b]} overlap at {both} of {total} T"
    two = {name: curves[name] for name in (a, b)}
    return Judged(rules.similar(curves[a], curves[b]), joined([text, duel_text(a, b, curves), *means(two)]))


def _harder(m: Material, hard: str, easy: str) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        experiment = "ablation" if "-m-" in hard else "synthetic"
        one, two = (rules.pooled(m.four(experiment, s).values()) for s in (hard, easy))
        text = [
            f"four algorithms together, averaged over T: {hard} {rules.mean(one):.3f}, {easy} {rules.mean(two):.3f}",
            f"{easy} is significantly lower at {_listed(rules.wins(two, one), one)}",
            f"{hard} at {_listed(rules.wins(one, two), one)}",
            f"instance by instance: {hard} {_spread(m, experiment, hard)}, {easy} {_spread(m, experiment, easy)}",
        ]
        return Judged(rules.better(two, one), joined(text))

    return rule


def _listed(pulls: list[int], of: Curve) -> str:
    some = f" (T = {', '.join(map(pulls_text, pulls))})" if 0 < len(pulls) < len(of) else ""
    return f"{len(pulls)} of {len(of)} T{some}"


def _spread(m: Material, experiment: str, setting: str) -> str:
    """The error of single instances, all algorithms and T together, from the lowest to the highest."""
    points = [e for name in FOUR for e in m.results.points(experiment, setting, name)]
    each = sum(e.runs / len(e.errors_by_instance) for e in points)
    shares = [sum(errors) / each for errors in zip(*(e.errors_by_instance for e in points), strict=True)]
    return f"{min(shares):.3f}–{max(shares):.3f}"


def _matched_pulls(m: Material) -> int:
    """The T at which CSR-V2's three errors are nearest to the paper's three levels, taken together."""
    curves = {setting: m.results.curve("ablation", setting, "csr-v2") for setting in LEVELS}
    pulls = [T for T in curves["high-m-high-d"] if all(T in curve for curve in curves.values())]
    return min(pulls, key=lambda T: sum(abs(curves[s][T].share - level) for s, level in LEVELS.items()))


def _fitted(T: int) -> str:
    return f"at a fitted T = {pulls_text(T)} only"


def _about(m: Material, setting: str) -> Callable[[str], Judged]:
    def rule(_: str) -> Judged:
        curve, level, T = m.results.curve("ablation", setting, "csr-v2"), LEVELS[setting], _matched_pulls(m)
        fit = f"CSR-V2 {count_text(curve[T])} at T = {pulls_text(T)}, where the three settings fit best"
        end = f"at the largest T run, {pulls_text(max(curve))}, {count_text(rules.last(curve))}"
        return Judged(abs(curve[T].share - level) <= rules.ABOUT, joined([fit, end]), _fitted(T))

    return rule
