"""A first client for a study, ready to paste: in Python, and as a line of curl."""

from __future__ import annotations

import json
from typing import Any

from fairarm.problem.problem import Problem


def sample(problem: Problem) -> tuple[Any, dict[str, str], dict[str, str]]:
    """A group, what is known at arrival and what is told later, of some person of a problem."""
    states = {name: problem.variables[name].states for name in problem.observed}
    first = {name: str(found[0]) for name, found in states.items() if found}
    attributes = problem.attributes
    group: Any = first[attributes[0]] if len(attributes) == 1 else {name: first[name] for name in attributes}
    inputs = {name for arm in problem.arms for name in arm.parents if name in first and name not in attributes}
    known = {name: first[name] for name in problem.observed if name in inputs}
    later = {
        name: first[name]
        for name in first
        if name not in inputs and name not in attributes and name != problem.decision
    }
    return group, known, later


def python_client(url: str, name: str, problem: Problem) -> str:
    """Ten lines that assign a person and tell an outcome."""
    group, known, later = sample(problem)
    return "\n".join(
        [
            "import os",
            "from fairarm import Client",
            "",
            f'client = Client("{url}", os.environ["FAIRARM_TOKEN"], study="{name}")',
            f'a = client.assign("person 1", group={json.dumps(group)}, known={json.dumps(known)})',
            "print(a.arm, a.decision, a.outside)  # serve the person so",
            "# … later, when it is known what came of it:",
            "if not a.outside:",
            f"    print(client.tell(a.id, {json.dumps(later)}))",
            "client.close()",
        ]
    )


def curl_line(url: str, name: str, problem: Problem) -> str:
    """One line that assigns a person; the token comes from the environment, by way of a file that curl reads."""
    group, known, _ = sample(problem)
    body = json.dumps({"unit": "person 1", "group": group, "known": known}).replace("'", "'\\''")
    return (
        f"curl -s {url}/v1/studies/{name}/assignments -H 'Content-Type: application/json' "
        f"-H @<(echo \"Authorization: Bearer $FAIRARM_TOKEN\") -d '{body}'"
    )
