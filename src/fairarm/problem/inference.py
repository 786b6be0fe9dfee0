"""Exact inference over a full network, once, for what the arms and groups share."""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import check_size
from fairarm.problem.model import Problem
from fairarm.problem.network import Network


def shared_factor(network: Network, problem: Problem, columns: tuple[str, ...]) -> FloatArray:
    """H(columns): the factor of the joint law that no arm and no group changes, over all cells of ``columns``.

    V and the relevant children are given uniform mechanisms without parents in an exact inference over the rest;
    dividing these out leaves every other factor, summed over the hidden nodes.
    """
    import pyagrum as gum

    check_size(tuple(network.variables[name].size for name in columns), f"The joint law of {list(columns)}")
    replaced = (problem.decision, *problem.relevant_children)
    model = gum.BayesNet()
    for name, variable in network.variables.items():
        model.add(gum.LabelizedVariable(name, name, list(variable.states or ())))
    for name, table in network.tables.items():
        for parent in table.parents if name not in replaced else ():
            model.addArc(parent, name)
    for name, table in network.tables.items():
        if name in replaced:
            model.cpt(name).fillWith(1.0 / network.variables[name].size)
        else:
            order = [(*table.parents, name).index(axis) for axis in model.cpt(name).names]
            model.cpt(name).fillWith(table.probabilities.transpose(order).ravel(order="F").tolist())
    inference = gum.LazyPropagation(model)
    inference.addJointTarget(set(columns))
    joint = inference.jointPosterior(set(columns))
    names = list(reversed(joint.names))  # toarray() has its axes in the reverse order of .names
    factor = joint.toarray().transpose([names.index(name) for name in columns]).ravel()
    return np.asarray(factor * np.prod([network.variables[name].size for name in replaced if name in columns]))


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
