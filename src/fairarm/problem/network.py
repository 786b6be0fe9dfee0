"""A full Bayesian network over finite variables: what a *world* is made of, and what readers return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from fairarm.errors import ProblemError
from fairarm.problem.mechanism import Table
from fairarm.problem.variables import Variable


@dataclass(frozen=True)
class Network:
    """Variables in a declared order, one table each, acyclic. ``notes`` say what a reader put right."""

    variables: dict[str, Variable]
    tables: dict[str, Table]
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        for name, variable in self.variables.items():
            if name != variable.name:
                raise ProblemError(f"Node '{variable.name}' is filed under the name '{name}'.")
            if name not in self.tables:
                raise ProblemError(f"Node '{name}' has no table. A network needs one for every node.")
        for name, table in self.tables.items():
            if name not in self.variables or table.node != name:
                raise ProblemError(f"There is a table for '{table.node}' under '{name}', which is not a declared node.")
            table.check(self.variables)
        cycle = find_cycle((parent, name) for name, table in self.tables.items() for parent in table.parents)
        if cycle:
            raise ProblemError(f"The network has a cycle: {' -> '.join(cycle)}. Remove one of these edges.")

    @classmethod
    def of(cls, variables: Iterable[Variable], tables: Iterable[Table], notes: Iterable[str] = ()) -> Network:
        """A network from lists, refusing duplicates; renormalised rows are noted."""
        named: dict[str, Variable] = {}
        for variable in variables:
            if variable.name in named:
                raise ProblemError(f"Node '{variable.name}' is declared twice.")
            named[variable.name] = variable
        filed: dict[str, Table] = {}
        for table in tables:
            if table.node in filed:
                raise ProblemError(f"Node '{table.node}' has two tables.")
            filed[table.node] = table
        repaired = sum(table.renormalised for table in filed.values())
        if repaired:
            notes = (*notes, f"{repaired} probability rows did not sum to exactly 1 and were renormalised")
        return cls(named, filed, tuple(notes))

    def edges(self) -> list[tuple[str, str]]:
        """(parent, child), in declared order."""
        return [(parent, name) for name in self.variables for parent in self.tables[name].parents]


def find_cycle(edges: Iterable[tuple[str, str]]) -> list[str]:
    """The nodes of one directed cycle, the first repeated at the end; empty if there is none."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for tail, head in edges:
        order.add(head, tail)
    try:
        order.prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []
