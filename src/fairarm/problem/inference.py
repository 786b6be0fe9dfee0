"""Exact inference over a full network, once, for what the arms and groups share.

The sums are done by opt_einsum in a fixed order. pyagrum's inference is as exact, but its order of summation, and so
the last digits, change from run to run; a simulated run would then not be the same for the same seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import opt_einsum

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import MAX_ENTRIES, check_size
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.shares import held_shares


def shared_factor(network: Network, problem: Problem, columns: tuple[str, ...]) -> FloatArray:
    """H(columns): the factor of the joint law that no arm and no group changes, over all cells of ``columns``.

    The product of all tables but those of V and of the relevant children, summed over every node that is not in
    ``columns``. Nodes that are no ancestor of a column sum to one and are left out.
    """
    if not columns:
        return np.ones(1)
    sizes = tuple(network.variables[name].size for name in columns)
    check_size(sizes, f"The joint law of {list(columns)}")
    needed = _ancestors(network, columns, stop=(problem.decision, *problem.relevant_children))
    operands: list[object] = []
    for name, table in network.tables.items():
        if name in needed:
            operands += [table.probabilities, (*table.parents, name)]
    for name, size in zip(columns, sizes, strict=True):  # a column whose own table is left out still needs its axis
        operands += [np.ones(size), (name,)]
    _, path = opt_einsum.contract_path(*operands, columns, optimize="greedy")
    if path.largest_intermediate > MAX_ENTRIES:
        raise ProblemError(
            f"Exact inference of {list(columns)} needs a table of {int(path.largest_intermediate)} entries; the largest allowed "
            f"is {MAX_ENTRIES}. Use a network with fewer states or a simpler hidden part."
        )
    return np.asarray(opt_einsum.contract(*operands, columns, optimize=path.path), dtype=np.float64).ravel()


def _ancestors(network: Network, columns: tuple[str, ...], stop: tuple[str, ...]) -> set[str]:
    """The columns and their ancestors, without the nodes in ``stop`` and what lies only above those."""
    found: set[str] = set()
    waiting = list(columns)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in stop:
            found.add(name)
            waiting += network.tables[name].parents
    return found


def context_law(network: Network, problem: Problem) -> ContextLaw:
    """The exact context law h of a network, on the columns it depends on: the context, where nothing observed descends
    from V or a relevant child; else all of the cell."""
    factors = (problem.decision, *problem.relevant_children)
    context = tuple(name for name in problem.cell_columns if name not in factors)
    graph = problem.roles.graph
    if any(set(context) & graph.descendants(name) for name in factors):
        context = problem.cell_columns
    shape = tuple(network.variables[name].size for name in context)
    return ContextLaw(context, shared_factor(network, problem, context).reshape(shape))


def completed(problem: Problem, network: Network) -> Problem:
    """What the problem leaves open, taken from the network of its world: mechanisms of relevant children, P(S), the context law."""
    states = network.variables[problem.sensitive].states or ()
    shares = dict(zip(states, network.tables[problem.sensitive].probabilities.tolist(), strict=True))
    return replace(
        problem,
        mechanisms={**{x: network.tables[x] for x in problem.missing_mechanisms}, **problem.mechanisms},
        shares=problem.shares or held_shares(shares, problem.groups),
        context=problem.context or context_law(network, problem),
    )
