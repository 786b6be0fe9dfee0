"""The house by counts: ``python benchmarks/measure.py [PACKAGE-FOLDER TESTS-FOLDER …]`` prints one table row per package.

Without arguments: ours. With pairs of folders: any other project, measured in the same way.

lines: of a module, with blanks. body: lines of a function without its docstring and signature. typed: functions whose
parameters and return are all annotated. public docs: public modules, classes, functions and methods of public classes with
a docstring. value in error: `raise` with a message that holds a value. cycles: groups of modules that import each other
when they are loaded. comments: per 100 lines that are neither blank nor in a docstring.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np

ROOT = Path(__file__).parents[1]
HEAD = (
    "| | modules | lines median / p90 / max | body median / p90 / max | typed | public docs | value in error | cycles "
    "| test : source | comments per 100 lines |\n|---|---|---|---|---|---|---|---|---|---|"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A parsed file and its dotted name."""

    name: str
    text: str
    tree: ast.Module

    @property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]


def modules(folder: Path) -> list[Module]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(folder.parent).with_suffix("").parts
        found.append(Module(".".join(parts).removesuffix(".__init__"), text, ast.parse(text)))
    return found


def body_lines(function: Function) -> int:
    """Without signature and docstring."""
    first = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - first[0].lineno + 1 if first else 0


def is_typed(function: Function) -> bool:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    unbound = [one for one in named if one.arg not in ("self", "cls")]
    return function.returns is not None and all(one.annotation is not None for one in unbound)


def documented(module: Module) -> Iterator[bool]:
    """For each public thing that a reader can meet, whether it has a docstring."""
    if any(part.startswith("_") for part in module.name.split(".")):
        return
    yield ast.get_docstring(module.tree) is not None
    queue = [node for node in module.tree.body if isinstance(node, Function | ast.ClassDef)]
    while queue:
        node = queue.pop()
        if node.name.startswith("_"):
            continue
        yield ast.get_docstring(node) is not None
        if isinstance(node, ast.ClassDef):
            queue += [inner for inner in node.body if isinstance(inner, Function)]


def errors(module: Module) -> Iterator[bool]:
    """For each error raised with arguments, whether its message holds a value; a name may hold any text and does not count."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            inside = [part for argument in node.exc.args for part in ast.walk(argument)]
            if any(isinstance(part, ast.Constant | ast.JoinedStr) for part in inside):
                yield any(isinstance(part, ast.FormattedValue | ast.Call | ast.BinOp) for part in inside)


def cycles(found: list[Module]) -> int:
    names = {module.name for module in found}
    graph = nx.DiGraph()
    for module in found:
        for node in _loaded(module.tree.body):
            targets = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else _sources(module, node, names)
            )
            graph.add_edges_from(
                (module.name, target) for target in targets if target in names and target != module.name
            )
    return sum(len(group) > 1 for group in nx.strongly_connected_components(graph))


def _loaded(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run when the module does, those for type checkers aside."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _loaded([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _loaded(
                [*node.body, *node.orelse, *(line for handler in node.handlers for line in handler.body)]
            )


def _sources(module: Module, node: ast.ImportFrom, names: set[str]) -> list[str]:
    """The modules that are imported from; a package only where something of its own is."""
    base = node.module or ""
    if node.level:
        parts = module.name.split(".")
        base = ".".join([*parts[: len(parts) - node.level], *([base] if base else [])])
    inner = [f"{base}.{alias.name}" for alias in node.names]
    return [name if name in names else base for name in inner]


def comments(module: Module) -> tuple[int, int]:
    """Lines with a comment, and lines of code."""
    docs: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docs.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    marked = {
        t.start[0] for t in tokens if t.type == tokenize.COMMENT and "fmt:" not in t.string and "noqa" not in t.string
    }
    code = sum(bool(line.strip()) and n not in docs for n, line in enumerate(module.text.splitlines(), 1))
    return len(marked), code


def spread(values: list[int]) -> str:
    return " / ".join(f"{number:.0f}" for number in (np.median(values), np.percentile(values, 90), max(values)))


def share(facts: list[bool]) -> str:
    return f"{np.mean(facts):.0%}".replace("%", " %") if facts else "–"


def lines_of(found: list[Module]) -> list[int]:
    return [module.text.count("\n") for module in found]


def row(name: str, package: Path, tests: Path) -> str:
    """One line of the table."""
    found = modules(package)
    functions = [function for module in found for function in module.functions]
    marked, code = np.sum([comments(module) for module in found], axis=0)
    cells = [
        name,
        str(len(found)),
        spread(lines_of(found)),
        spread([body_lines(function) for function in functions]),
        share([is_typed(function) for function in functions]),
        share([fact for module in found for fact in documented(module)]),
        share([fact for module in found for fact in errors(module)]),
        str(cycles(found)),
        f"{sum(lines_of(modules(tests))) / sum(lines_of(found)):.2f}",
        f"{100 * marked / code:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    given = [Path(text) for text in sys.argv[1:]] or [ROOT / "src" / "fairarm", ROOT / "tests"]
    print(HEAD)
    for package, tests in zip(given[::2], given[1::2], strict=True):
        print(row(package.name, package, tests))


if __name__ == "__main__":
    main()
