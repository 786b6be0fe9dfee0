"""L[k, t](row): the one object that carries every importance ratio, in log space, for rows and for cells alike.

    L[k, t](row) = P_k(v | pa(V) with S := t)  ×  Π_{relevant children X other than V} P(x | pa(X)∖S, S := t)

Everything else in the joint density is the same for every arm k and group t, so every weight is a ratio of two L's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.mechanism import Columns

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


@dataclass(frozen=True)
class Likelihood:
    """The two factors of log L of I observations: ``arms`` (K, G, I) and ``children`` (G, I).

    ``children`` is an error's text instead where a relevant child's mechanism is not declared: outcomes can then be
    compared (the children cancel), gaps cannot be reweighted.
    """

    arms: FloatArray
    children: FloatArray | str

    @cached_property
    def log_L(self) -> FloatArray:
        """(K, G, I)."""
        if isinstance(self.children, str):
            raise ProblemError(self.children)
        return self.arms + self.children  # (A3)

    @property
    def known_children(self) -> FloatArray | None:
        """``children``; None where a mechanism is not declared."""
        return None if isinstance(self.children, str) else self.children

    @property
    def as_declared(self) -> FloatArray:
        """log L as far as it is declared, (K, G, I): without the children where one of them is not."""
        return self.arms if self.known_children is None else self.log_L

    def own(self, arm: IntArray, group: IntArray, at: IntArray) -> FloatArray:
        """The log-likelihood of observations under the arm and group that made them, as far as it is declared."""
        children = 0.0 if isinstance(self.children, str) else self.children[group, at]
        return np.asarray(self.arms[arm, group, at] + children)

    def of(self, rows: IntArray) -> Likelihood:
        """The given observations only."""
        children = self.children if isinstance(self.children, str) else self.children[:, rows]
        return Likelihood(self.arms[:, :, rows], children)

    def joined(self, later: Likelihood) -> Likelihood:
        """These observations, then those of the same problem that came later."""
        arms = np.concatenate([self.arms, later.arms], axis=2)
        if isinstance(self.children, str) or isinstance(later.children, str):
            return Likelihood(arms, self.children)
        return Likelihood(arms, np.concatenate([self.children, later.children], axis=1))


def at_label(problem: Problem, label: int, columns: Columns, length: int) -> dict[str, NDArray[Any]]:
    """Observations with the sensitive attributes of one label, by its position."""
    codes = problem.compiled.profile_codes[label]
    of_label = {
        name: np.full(length, code, dtype=np.int64) for name, code in zip(problem.attributes, codes, strict=True)
    }
    return {**columns, **of_label}


def likelihood(problem: Problem, columns: Columns, length: int, without_outcome: bool = False) -> Likelihood:
    """log L of ``length`` observations given by their columns (codes for finite nodes; S itself is not needed).

    Where S → Y is an edge, Y is a relevant child: its factor is included and the columns must hold it, unless
    ``without_outcome`` leaves it out.
    """
    arms = np.empty((len(problem.arms), len(problem.groups), length))
    children = np.zeros((len(problem.groups), length))
    left_out = problem.outcome.node if without_outcome else None
    known = [problem.mechanisms[x] for x in problem.relevant_children if x in problem.mechanisms and x != left_out]
    missing = [x for x in problem.missing_mechanisms if x != left_out]
    for t in range(len(problem.groups)):
        given = at_label(problem, t, columns, length)
        for k, arm in enumerate(problem.arms):
            arms[k, t] = arm.mechanism.log_prob(given)
        for mechanism in known:
            children[t] += mechanism.log_prob(given)
    if missing:
        return Likelihood(
            arms,
            f"The mechanisms of {', '.join(missing)} are not declared: they are children of "
            f"{' and '.join(problem.attributes)} on the way to '{problem.outcome.node}', and the paper's algorithms need "
            f"P(node | parents) of each. Declare them, or use `pool` or `uniform`.",
        )
    return Likelihood(arms, children)
