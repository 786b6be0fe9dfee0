"""A model of `worlds_truth` for the package: first as plain data, then as a Problem and its Network.

`declared` knows nothing of the package: names of states, edges, and tables as (parents, probabilities). What it declares is what a user
could: arms, mechanisms of relevant children, P(attribute | causes) of attributes alone, shares of roots, joint shares of blocks. Only
`as_fairarm` knows how the package spells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import worlds_graphs
import worlds_truth
from oracle import Mechanism, state
from structural import table
from worlds_truth import Model, World

if TYPE_CHECKING:
    from fairarm.problem.network import Network
    from fairarm.problem.problem import Problem


def declared(model: Model) -> dict[str, Any]:
    """Everything about a model that a problem may say, and ``tables`` of all nodes, for a network. V's own table is that of arm 0.

    Nodes are in alphabetical order, which is not the causal one.
    """
    graph = worlds_graphs.of(model)
    own = {block: own_table(model, graph, block) for block in graph.blocks}
    nodes = [x for x in model.order if x in graph.relevant and x != model.decision]
    tables = {x: table(model.function(0, x), model.sizes[x]) for x in sorted(model.order)}
    alone = {block[0]: given for block, given in own.items() if len(block) == 1}
    return {
        "name": model.name,
        "states": {x: tuple(state(x, code) for code in range(model.sizes[x])) for x in sorted(model.order)},
        "edges": [(parent, x) for x in model.order for parent in model.order if parent in graph.parents[x]],
        "sensitive": model.attributes,
        "decision": model.decision,
        "outcome": model.outcome,
        "values": model.values,
        "hidden": [x for x in model.order if x in model.hidden],
        "columns": graph.columns,
        "arms": [table(arm, model.sizes[model.decision]) for arm in model.arms],
        "mechanisms": {x: tables[x] for x in nodes} | {x: given for x, given in alone.items() if given[0]},
        "shares": {x: _by_state(x, given[1]) for x, given in alone.items() if not given[0]},
        "joint_shares": [
            {"attributes": block, "table": given[1]} for block, given in own.items() if len(block) > 1 and not given[0]
        ],
        "blocks_with_causes": {block: given for block, given in own.items() if len(block) > 1 and given[0]},
        "tables": tables,
    }


def own_table(model: Model, graph: worlds_graphs.Graph, block: tuple[str, ...]) -> Mechanism:
    """z_B, and P(a_B | z_B) with one axis per cause, then one per member: shares of natural rows, whatever hides above."""
    causes = tuple(x for x in model.order if x in graph.causes(block))
    joint = worlds_truth.law(model, 0, (*causes, *block))
    return causes, joint / joint.sum(axis=tuple(range(len(causes), joint.ndim)), keepdims=True)


def _by_state(name: str, shares: np.ndarray) -> dict[str, float]:
    return {state(name, code): float(p) for code, p in enumerate(shares)}


# ---- in words of a problem file ----


def question(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A question of `worlds_models.random_question` with names of states; a profile is "A0=a00,A1=a11" in alphabetical order."""
    names = tuple(asked["attributes"])

    def word(group: tuple[int, ...]) -> str:
        states = {x: state(x, code) for x, code in zip(names, group, strict=True)}
        return states[names[0]] if len(names) == 1 else ",".join(f"{x}={states[x]}" for x in sorted(names))

    found = {key: value for key, value in asked.items() if key != "attributes"}
    found |= {"attribute": names[0]} if len(names) == 1 else {"attributes": names}
    if "groups" in found:
        found["groups"] = tuple(word(group) for group in found["groups"])
    if "weights" in found:
        found["weights"] = {word(group): a for group, a in found["weights"].items()}
    if "reference" in found:
        found["reference"] = word(found["reference"])
    return found


def in_words(asked: World) -> dict[str, Any]:
    """A world with names of states: ``read``, ``people`` and ``kept``."""
    return {
        "read": {x: state(x, code) for x, code in asked.read},
        "people": {x: state(x, code) for x, code in asked.people},
        "kept": tuple(sorted(asked.kept)),
    }


# ---- for the package ----


def as_fairarm(model: Model, **options: Any) -> tuple[Problem, Network]:
    """As a Problem (without context law) and its Network. ``options`` replace arguments of Problem."""
    from fairarm.problem.mechanism import Arm, Table
    from fairarm.problem.network import Network
    from fairarm.problem.outcome import Outcome
    from fairarm.problem.problem import Problem
    from fairarm.problem.shares import JointShares
    from fairarm.problem.variables import Variable

    told = declared(model)
    variables = [Variable(name, states) for name, states in told["states"].items()]
    shares = told["shares"]
    single = len(model.attributes) == 1
    arguments: dict[str, Any] = {
        "name": told["name"],
        "variables": variables,
        "graph": SimpleNamespace(nodes=tuple(told["states"]), edges=told["edges"]),
        "sensitive": model.attributes[0] if single else model.attributes,
        "decision": told["decision"],
        "outcome": Outcome(told["outcome"], values=told["values"]),
        "tolerance": 0.1,
        "arms": [Arm(f"arm {k}", Table(told["decision"], *given)) for k, given in enumerate(told["arms"])],
        "mechanisms": [Table(name, *given) for name, given in told["mechanisms"].items()],
        "hidden": told["hidden"],
        "shares": shares.get(model.attributes[0]) if single else shares or None,
        "joint_shares": [JointShares(given["attributes"], given["table"]) for given in told["joint_shares"]],
    }
    network = Network.of(variables, [Table(name, *given) for name, given in told["tables"].items()])
    return Problem(**{**arguments, **options}), network
