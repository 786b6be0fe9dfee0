"""Networks built in Python with pgmpy, taken over by what they offer, without importing pgmpy.

A model is anything with ``nodes()`` and ``get_cpds(node)``, a distribution anything with ``variable``, ``variables``
(the node first, then its parents), ``values`` (one axis for each, in that order) and ``state_names``. Each distribution
carries its own order of its parents' states; entries are matched by state name, never by position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError, ReadError
from fairarm.problem.mechanism import Table, check_size
from fairarm.problem.network import Network
from fairarm.problem.variables import Variable
from fairarm.readers.text import one_line

_NEEDED = ("variable", "variables", "state_names", "values")


def from_pgmpy(model: Any) -> Network:
    """The network of a pgmpy ``DiscreteBayesianNetwork``, nodes in the model's order, names and states as text."""
    nodes = _nodes(model)
    if not nodes:
        raise ReadError("pgmpy model: it has no nodes. Add nodes and their tables first.")
    cpds = {node: _cpd(model, node) for node in nodes}
    states = {node: _states(cpd, node, node) for node, cpd in cpds.items()}
    try:
        variables = [Variable(str(node), tuple(str(state) for state in states[node])) for node in nodes]
    except ProblemError as error:
        raise ReadError(one_line(f"pgmpy model: {error}")) from None
    tables = [_table(model, node, cpds[node], states) for node in nodes]
    try:
        return Network.of(variables, tables)
    except ProblemError as error:
        raise ReadError(one_line(f"pgmpy model: {error}")) from None


def _error(node: object, what: str) -> ReadError:
    return ReadError(one_line(f"pgmpy model, node '{node}': {what}"))


def _nodes(model: Any) -> list[Any]:
    if not callable(getattr(model, "nodes", None)) or not callable(getattr(model, "get_cpds", None)):
        raise ReadError(
            f"pgmpy model: got an object of type {type(model).__name__}, without nodes() and get_cpds(). "
            "Pass a DiscreteBayesianNetwork."
        )
    return list(model.nodes())


def _cpd(model: Any, node: object) -> Any:
    """The node's distribution, with the four attributes that are read from it."""
    cpd = model.get_cpds(node)
    if cpd is None:
        raise _error(node, "it has no distribution. Call add_cpds() with a TabularCPD for it.")
    missing = [name for name in _NEEDED if not hasattr(cpd, name)]
    if missing:
        raise _error(
            node, f"its {type(cpd).__name__} has no {', '.join(missing)}. Only tables (TabularCPD) can be taken over."
        )
    if cpd.variable != node or not cpd.variables or cpd.variables[0] != node:
        raise _error(node, f"its distribution is that of '{cpd.variable}', over {list(cpd.variables)}.")
    return cpd


def _states(cpd: Any, owner: object, name: object) -> list[Any]:
    """The states of ``name`` in the order that the distribution of ``owner`` uses."""
    known: Mapping[Any, Sequence[Any]] = cpd.state_names
    if name not in known:
        raise _error(owner, f"its distribution does not name the states of '{name}'. Give it state_names.")
    return list(known[name])


def _table(model: Any, node: Any, cpd: Any, states: Mapping[Any, list[Any]]) -> Table:
    parents = list(cpd.variables[1:])
    _check_parents(model, node, parents, states)
    axes = [node, *parents]
    shape = tuple(len(states[name]) for name in axes)
    try:
        check_size(shape, "its table")
        values: FloatArray = np.asarray(cpd.values, dtype=np.float64)
        if values.shape != shape:
            raise _error(node, f"its values have shape {values.shape}; the states of {axes} ask for {shape}.")
        for axis, name in enumerate(axes):
            values = np.take(values, _order(_states(cpd, node, name), states[name], node, name), axis=axis)
        return Table(str(node), tuple(str(name) for name in parents), np.moveaxis(values, 0, -1))
    except ProblemError as error:
        raise _error(node, str(error)) from None
    except (TypeError, ValueError) as error:
        if isinstance(error, ReadError):
            raise
        raise _error(node, f"its values are not an array of numbers: {error}") from None


def _check_parents(model: Any, node: Any, parents: list[Any], states: Mapping[Any, list[Any]]) -> None:
    """The table's parents are nodes, and those that the graph draws."""
    for parent in parents:
        if parent not in states:
            raise _error(node, f"its parent '{parent}' is not a node of the model. Add it, or correct the name.")
    if callable(getattr(model, "predecessors", None)):
        drawn = list(model.predecessors(node))
        if set(drawn) != set(parents):
            raise _error(node, f"its table has the parents {parents}, the graph draws {drawn}. Make the two agree.")


def _order(used: list[Any], wanted: list[Any], node: object, name: object) -> list[int]:
    """Where each wanted state stands in the order that one distribution uses."""
    if len(used) != len(wanted) or set(used) != set(wanted):
        raise _error(node, f"its table gives '{name}' the states {used}; the table of '{name}' itself has {wanted}.")
    return [used.index(state) for state in wanted]
