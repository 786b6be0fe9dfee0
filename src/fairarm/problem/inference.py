"""Exact inference over a full network, once, for what the arms and groups share.

The sums are done by opt_einsum in a fixed order. pyagrum's inference is as exact, but its order of summation, and so
the last digits, change from run to run; a simulated run would then not be the same for the same seed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import opt_einsum

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import MAX_ENTRIES, Table, check_size
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.shares import JointShares, held_shares


def shared_factor(network: Network, problem: Problem, columns: tuple[str, ...]) -> FloatArray:
    """H(columns): the factor of the joint law that no arm and no group changes, over all cells of ``columns``.

    The product of all tables but those of V, of the relevant children and of the attributes, summed over every node that is not in
    ``columns``. Nodes that are no ancestor of a column sum to one and are left out.
    """
    if not columns:
        return np.ones(1)
    return _summed(network, columns, (problem.decision, *problem.relevant_children, *problem.attributes)).ravel()


def own_law(network: Network, block: Block) -> FloatArray:
    """P(attributes of a block | their causes): an axis for each cause, then one for each attribute, by code.

    Where causes have probability 0 all values are alike: no row is there.
    """
    [*causes], [*members] = block.causes, block.members
    table = network.tables[members[0]]
    if len(members) == 1 and sorted(table.parents) == sorted(causes):
        return table.probabilities.transpose([*map(table.parents.index, causes), len(causes)])
    joint = _summed(network, (*causes, *members), stop=())
    axes = tuple(range(len(causes), joint.ndim))
    total = joint.sum(axis=axes, keepdims=True)
    alike = np.full(joint.shape, 1.0 / math.prod(joint.shape[len(causes) :]))
    return np.asarray(np.divide(joint, total, out=alike, where=total > 0))


def without_noise(network: Network, problem: Problem) -> Network:
    """The same with hidden parents of Y that are noise summed out: P(y | observed parents) = Σ_h P(h) P(y | parents, h)."""
    node, graph = problem.outcome.node, problem.roles.graph
    table = network.tables.get(node)
    left_out = {*problem.graph.edges} - {*graph.edges}
    noise = () if table is None else tuple(p for p in table.parents if (p, node) in left_out)
    if table is None or not noise:
        return network
    kept = tuple(p for p in table.parents if p not in noise)
    law = _summed(network, noise, stop=())
    summed = opt_einsum.contract(table.probabilities, (*table.parents, node), law, noise, (*kept, node))
    return replace(network, tables={**network.tables, node: Table(node, kept, summed)})


def _summed(network: Network, columns: tuple[str, ...], stop: tuple[str, ...]) -> FloatArray:
    """The product of all tables but those of ``stop``, summed over every node that is not in ``columns``: an axis for each."""
    sizes = tuple(network.variables[name].size for name in columns)
    check_size(sizes, f"The joint law of {list(columns)}")
    needed = _ancestors(network, columns, stop)
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
    return np.asarray(opt_einsum.contract(*operands, columns, optimize=path.path), dtype=np.float64)


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
    """What the problem leaves open, taken from the network of its world: mechanisms of relevant children and of attributes with causes, the
    laws of those without, the context law."""
    network, blocks = without_noise(network, problem), problem.roles.blocks
    caused = {block.members[0]: block for block in blocks if block.causes and len(block.members) == 1}
    tables = {name: Table(name, block.causes, own_law(network, block)) for name, block in caused.items()}
    return replace(
        problem,
        mechanisms={**{x: network.tables[x] for x in problem.missing_mechanisms}, **tables, **problem.mechanisms},
        **_shares(problem, network),
        context=problem.context or context_law(network, problem),
    )


def _shares(problem: Problem, network: Network) -> dict[str, Any]:
    """Laws of attributes without causes, where they are not declared."""
    rooted = [block for block in problem.roles.blocks if not block.causes]
    if len(problem.attributes) > 1:
        open_ones = [block.members for block in rooted if problem.own_factor(block) is None]
        laws = [JointShares(block.members, own_law(network, block)) for block in rooted if block.members in open_ones]
        return {"joint_shares": (*problem.joint_shares, *laws)}
    if problem.shares or not rooted:
        return {}
    by_state = zip(network.variables[problem.attribute].states or (), own_law(network, rooted[0]).tolist(), strict=True)
    return {"shares": held_shares(dict(by_state), problem.groups)}
