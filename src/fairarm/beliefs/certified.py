"""What is certified of every arm from rows that were made before: bounds that hold whatever the truth, and what they prove.

Two kinds of bound, each with a part of the error δ where both can be had: the joint region of the cell means, where the
law of the cells is declared, and bounds of weighted rows, where the arms that made them are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fairarm.beliefs.counted_bets import counted_bets, summed_bets
from fairarm.beliefs.evidence import CountedEvidence
from fairarm.beliefs.known_worlds import KnownWorlds, Lack, lacking
from fairarm.beliefs.logged_rows import LoggedBeliefs
from fairarm.beliefs.missing_rows import MissingRows, all_made
from fairarm.core.answer import Code
from fairarm.core.proof.log_bets import bet_intervals
from fairarm.core.proof.log_intervals import bound_delta, cut_sums, weighted_intervals
from fairarm.core.proof.region import Intervals, intervals, narrowed, needs_shares
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.answer import Answer
from fairarm.problem.likelihood import likelihood
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import missing_children
from fairarm.problem.space import CellSpace


class Bound(StrEnum):
    """What certified intervals are made of."""

    REGION = "joint-region"
    BETS = "weighted-bets"
    BERNSTEIN = "empirical-bernstein"


@dataclass(frozen=True, eq=False)
class Certificate:
    """Certified intervals of all arms together, by what, and which arms they do not cover."""

    bounds: Intervals | None
    by: tuple[Bound, ...]
    """Empty where nothing is certified."""
    fitted_logging_arms: tuple[str, ...] = ()
    """Why nothing is: arms whose mechanism was fitted made rows, and weights need it exactly."""
    uncertified_arms: tuple[int, ...] = ()
    """Arms whose own mechanism was fitted."""
    adaptive: bool = False
    """Why nothing is: outcomes decided who made later rows, and the law of what arms see is not declared."""
    without_shares: bool = False
    """Why nothing is: P(S) is not known, and what is asked cannot do without it."""
    lacks: tuple[Lack, ...] = ()
    """Why nothing is: more is asked than about the groups of one attribute without causes, and laws that it rests on are not known."""
    missing: bool = False
    """Why nothing is: outcomes are missing, and what would be certified does not allow for that."""

    @property
    def intervals(self) -> Intervals | None:
        """``bounds`` where they certify something."""
        return self.bounds if self.by else None

    def fairness(self, problem: Problem) -> tuple[BoolArray, BoolArray]:
        """Arms of which all rows are certified to lie inside their ends, and some row outside of its own, (K,) each."""
        if self.intervals is None:
            return np.zeros(len(problem.arms), dtype=bool), np.zeros(len(problem.arms), dtype=bool)
        low, high = np.moveaxis(self.intervals.rows[0], -1, 0)
        fair, unfair = problem.compiled.rows.of_intervals(low, high)
        fair[list(self.uncertified_arms)] = unfair[list(self.uncertified_arms)] = False
        return fair, unfair

    def answer(self, problem: Problem) -> Answer:
        """The arm that is fair and best at every point of all intervals together; or that none is fair; or undecided."""
        return Answer.of(self._code(problem), problem.arm_names)

    def _code(self, problem: Problem) -> int:
        if self.intervals is None:
            return Code.UNDECIDED
        fair, unfair = self.fairness(problem)
        low, high = self.intervals.outcomes[0].T
        for k in np.flatnonzero(fair):
            others = np.flatnonzero(~unfair & (np.arange(len(fair)) != k))
            if np.all(low[k] >= high[others]) and not set(others.tolist()) & set(self.uncertified_arms):
                return int(k)
        return Code.NONE if unfair.all() else Code.UNDECIDED


NOTHING_CERTIFIED = Certificate(None, ())


def fitted_arms(problem: Problem) -> tuple[int, ...]:
    """Positions of the arms whose table was fitted, from this log or before."""
    return tuple(k for k, name in enumerate(problem.arm_names) if name in problem.fitted)


def lacks_shares(problem: Problem, estimated: bool) -> bool:
    """Whether nothing can be certified, since P(S) is needed and not declared, or not to be used (``estimated``)."""
    return (estimated or problem.shares is None) and needs_shares(problem.compiled.rows)


def certify_counts(
    evidence: CountedEvidence,
    delta: float,
    estimated: bool,
    adaptive: bool = False,
    missing: MissingRows | None = None,
    at_random: bool = False,
) -> Certificate:
    """From counted rows, with error δ; ``estimated``: P(S) and the law of contexts from the rows, even where declared;
    ``adaptive``: outcomes decided who made later rows, which weighted rows do not allow and the region does.

    ``missing`` rows lack their outcome: in weighted rows each counts as the least it could be. ``at_random``: those that came are taken
    to be like them in every cell, which the region can use and weighted rows cannot.
    """
    problem = evidence.problem
    if not problem.plain:
        return _certify_worlds(evidence, delta, estimated, missing is not None and not at_random)
    shares = None if estimated or problem.shares is None else np.array(problem.shares)
    law = _declared_law(problem, estimated) if missing is None or at_random else None
    uncertified, logging = fitted_arms(problem), _fitted_logging_arms(problem, all_made(evidence, missing))
    weighable = not logging and not adaptive and (missing is None or not at_random)
    weighed = Bound.BERNSTEIN if evidence.summed and evidence.pilot_by_group() is None else Bound.BETS
    by = (Bound.REGION,) * (law is not None) + (weighed,) * weighable
    unshared = lacks_shares(problem, estimated)
    if not by:
        return Certificate(None, (), logging, uncertified, adaptive, unshared, missing=missing is not None)
    if unshared:
        return Certificate(None, (), (), uncertified, without_shares=True)
    # two ways hold at once where each has half of δ; what lies in both intervals is then the interval
    found, part = [], delta / len(by)
    if law is not None:
        apart = problem.compiled.shared_cells.apart()
        cells = evidence.summary(apart) if missing is None else missing.whole(evidence.summary(apart), apart)
        n, natural = cells.rows.astype(np.float64), cells.natural.astype(np.float64)
        found.append(intervals(n, cells.sums, law, part, shares, natural, problem.compiled.rows))
    if weighable:
        found.append(_weighed_counts(evidence, part, shares, missing))
    return Certificate(narrowed(found), by, (), uncertified)


def _certify_worlds(evidence: CountedEvidence, delta: float, estimated: bool, holes: bool) -> Certificate:
    """Of a problem that is not plain: by the region alone, where all laws are declared, which does not allow for ``holes``."""
    problem = evidence.problem
    if (lacks := lacking(problem, estimated, contexts=True)) or holes:
        return Certificate(None, (), uncertified_arms=fitted_arms(problem), lacks=lacks, missing=holes)
    known = KnownWorlds(problem)
    seen = evidence.summary(known.cells)
    n, asked = seen.rows.astype(np.float64), problem.compiled.rows
    bounds = intervals(n, seen.sums, known.law, delta, known.shares, None, asked, known.worlds)
    return Certificate(bounds, (Bound.REGION,), uncertified_arms=fitted_arms(problem))


def _weighed_counts(
    evidence: CountedEvidence, delta: float, shares: FloatArray | None, missing: MissingRows | None = None
) -> Intervals:
    """By bets on weighted rows; of a real outcome without ids, where no row can be put aside, by the sums of all of them."""
    problem, law = evidence.problem, decision_law(evidence.problem)
    rows, G = problem.compiled.rows, len(problem.groups)
    natural = evidence.group_sums((0,))[0][0].sum(axis=0).astype(np.float64)
    natural = natural if missing is None else natural + missing.natural
    each, by_group = (bound_delta(delta, len(problem.arms), shares is not None, of) for of in (1 + len(rows), G))
    if (counts := evidence.by_state()) is not None:
        return bet_intervals(counted_bets(problem, law, counts, each, missing), shares, natural, delta, rows)
    seen = evidence.by_group()
    if (pilot := evidence.pilot_by_group()) is not None:
        return bet_intervals(summed_bets(problem, law, seen, pilot, each, missing), shares, natural, delta, rows)
    ends = [seen] if missing is None else [missing.completed(seen, outcome) for outcome in (0.0, 1.0)]
    low, *high = (cut_sums(law, cells, by_group) for cells in ends)
    return weighted_intervals(replace(low, highest=high[0].sums) if high else low, delta, shares, natural, rows)


def certify_rows(beliefs: LoggedBeliefs, delta: float, adaptive: bool = False) -> Certificate:
    """From rows that were weighed one by one, with error δ."""
    problem, natural = beliefs.problem, beliefs.natural.astype(np.float64)
    logging, unshared = _fitted_logging_arms(problem, beliefs.made), lacks_shares(problem, estimated=False)
    if adaptive or unshared:
        return Certificate(None, (), logging, fitted_arms(problem), adaptive, unshared)
    rows = problem.compiled.rows
    shares = None if problem.shares is None else np.array(problem.shares)
    if beliefs.bets is None:
        by, bounds = Bound.BERNSTEIN, weighted_intervals(beliefs.cut, delta, shares, natural, rows)
    else:
        by, bounds = Bound.BETS, bet_intervals(beliefs.bets, shares, natural, delta, rows)
    return Certificate(bounds, (by,) * (not logging), logging, fitted_arms(problem))


def _fitted_logging_arms(problem: Problem, made: IntArray) -> tuple[str, ...]:
    """The arms with rows (K, G) whose mechanism was fitted: their weights are not exact."""
    return tuple(problem.arm_names[k] for k in fitted_arms(problem) if made[k].any())


def _declared_law(problem: Problem, estimated: bool) -> FloatArray | None:
    """p_{k,t}(c), (K, G, C), where all that it is made of is declared."""
    shared = problem.compiled.shared_cells.apart()
    declared = not missing_children(problem) and not {*problem.mechanisms} & {*problem.fitted}
    if shared.law is None or not declared or (estimated and shared.contexts > 1):
        return None
    return np.asarray(shared.law_of_cells(shared.law[None])[0])


def decision_law(problem: Problem) -> FloatArray:
    """P_k(v | x, t) at every cell, (K, G, X): the only part of a cell's law in which arms differ."""
    space = CellSpace.of(problem.cell_columns, problem.variables)
    return np.exp(likelihood(problem, space.codes(), space.count, without_outcome=True).arms)
