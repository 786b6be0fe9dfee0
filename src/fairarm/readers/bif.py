"""Bayesian networks in the Bayesian Interchange Format (``.bif``, ``.bif.gz``), with exact decimals.

Every number is the float64 nearest to its decimal text, every error names file and line, and sizes are checked before
memory is taken. In a ``table`` of a node with parents the node's own state varies slowest and the last parent's fastest,
which is how pyagrum and pgmpy read it too; ``(a, b) 0.1, 0.9;`` is one row, and ``default`` fills the rows not given.
Properties and comments are skipped; commas between names and numbers may be left out, as older writers do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import ProblemError, ReadError
from fairarm.problem.mechanism import ROW_TOLERANCE, Table, check_size
from fairarm.problem.network import Network, find_cycle
from fairarm.problem.variables import Variable
from fairarm.readers.text import one_line, read_text

if TYPE_CHECKING:
    from lark import Lark, Token, UnexpectedInput

MAX_BYTES = 64 << 20
"""Largest file, and largest text after decompression."""

MAX_STATES = 10_000
MAX_PARENTS = 63  # a table has one axis per parent and one of its own; numpy stops at 64

# ENTRIES takes a whole row of numbers as one token: a file of 5 MB is then a few thousand tokens, not a million.
# Possessive repeats (++) never backtrack, so no text takes more than linear time.
_GRAMMAR = r"""
start: (network | variable | probability | _PROPERTY)*
network: "network" name* "{" _PROPERTY* "}"
variable: VARIABLE name "{" (kind | _PROPERTY)* "}"
kind: TYPE "discrete" "[" WORD "]" "{" names? "}" ";"
probability: PROBABILITY "(" name "|"? names? ")" "{" (table | default | row | _PROPERTY)* "}"
table: TABLE ENTRIES ";"
default: DEFAULT ENTRIES ";"
row: LPAR names ")" ENTRIES ";"
names: name (","? name)*
name: WORD | QUOTED

VARIABLE: "variable"
PROBABILITY: "probability"
TYPE: "type"
TABLE: "table"
DEFAULT: "default"
LPAR: "("
QUOTED: /"[^"\n]+"/
WORD: /(?:[^\s,;{}()\[\]|"\/]++|\/(?![\/*]))++/
ENTRIES: /(?=[^\s;{}()\[\]|"])(?:[^;{}()\[\]|"\/]++|\/(?![\/*])|\/\/[^\n]*+|\/\*[\s\S]*?\*\/)++/
_PROPERTY: /property\b(?:"[^"\n]*"|[^;"\n]++)*+;/
COMMENT: /\/\/[^\n]*|\/\*[\s\S]*?\*\//
%ignore /\s+/
%ignore COMMENT
"""

_EXPECTED = {"WORD": "a name", "QUOTED": "a name", "ENTRIES": "numbers", "_PROPERTY": "'property'"}
_EXPECTED |= {"LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'"}
_EXPECTED |= {"SEMICOLON": "';'", "COMMA": "','", "VBAR": "'|'", "$END": "the end of the file"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"[^\s,]+")
_NUMBER = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|-0+\.?0*([eE][-+]?[0-9]+)?")
_EMPTY_ENTRY = re.compile(r"^\s*,|,\s*,|,\s*$")
_PIECE = re.compile(r'[^\s,;{}()\[\]|"]{1,40}|.', re.DOTALL)


class _Kind(NamedTuple):
    """``type discrete [ announced ] { states };``"""

    line: int
    announced: str
    states: tuple[str, ...]


class _Declaration(NamedTuple):
    line: int
    name: str
    kinds: tuple[_Kind, ...]


class _Statement(NamedTuple):
    """One line of a probability block; ``states`` is None for ``table`` and ``default``."""

    line: int
    word: str
    states: tuple[str, ...] | None
    entries: str
    entries_line: int


class _Block(NamedTuple):
    line: int
    node: str
    parents: tuple[str, ...]
    statements: tuple[_Statement, ...]


@cache
def _parser() -> Lark:
    """The compiled grammar; its callbacks keep plain tuples, so no tree is built."""
    from lark import Lark, Transformer, v_args

    @v_args(inline=True)
    class Collect(Transformer[object, object]):
        def start(self, *items: object) -> list[object]:
            return [item for item in items if item is not None]

        def network(self, *_: object) -> None:
            return None

        def variable(self, word: Token, name: str, *kinds: _Kind) -> _Declaration:
            return _Declaration(word.line or 0, name, kinds)

        def kind(self, word: Token, count: Token, states: tuple[str, ...] = ()) -> _Kind:
            return _Kind(word.line or 0, str(count), states)

        def probability(self, word: Token, node: str, *rest: object) -> _Block:
            first = rest[0] if rest else None
            given = isinstance(first, tuple) and not isinstance(first, _Statement)
            parents = first if given else ()
            return _Block(word.line or 0, node, parents, rest[1:] if given else rest)  # type: ignore[arg-type]

        def table(self, word: Token, entries: Token) -> _Statement:
            return _Statement(word.line or 0, str(word), None, str(entries), entries.line or 0)

        default = table

        def row(self, word: Token, states: tuple[str, ...], entries: Token) -> _Statement:
            return _Statement(word.line or 0, "row", states, str(entries), entries.line or 0)

        def names(self, *names: str) -> tuple[str, ...]:
            return names

        def name(self, token: Token) -> str:
            return str(token[1:-1] if token.type == "QUOTED" else token)

    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", transformer=Collect())


@dataclass(frozen=True)
class _Source:
    """The file's name, for messages."""

    name: str

    def error(self, line: int, message: str) -> ReadError:
        return ReadError(one_line(f"{self.name}:{line}: {message}"))

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """Give problems found by the tables themselves a file and a line."""
        try:
            yield
        except ProblemError as error:
            raise self.error(line, str(error)) from None


def _shown(text: str) -> str:
    return f"'{text}'" if len(text) <= 40 else f"'{text[:40]}…'"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


def read_bif(path: Path) -> Network:
    """The network in a ``.bif`` or ``.bif.gz`` file of at most 64 MiB, also when unpacked."""
    return parse_bif(read_text(path, MAX_BYTES), str(path))


def parse_bif(text: str, source: str) -> Network:
    """The network in a BIF text; ``source`` is the name that errors start with."""
    where = _Source(source)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_BYTES:
        raise where.error(1, f"{len(text)} characters; the largest text read is {MAX_BYTES}.")
    if not text or text.isspace():
        raise where.error(1, "the file is empty. A BIF file declares at least one variable.")
    if (at := text.find("\0")) >= 0:
        raise where.error(text.count("\n", 0, at) + 1, "a NUL byte; BIF is plain text. Is it binary, or UTF-16?")
    return _Builder(where, _items(text, where)).network()


def _items(text: str, source: _Source) -> list[_Declaration | _Block]:
    from lark import UnexpectedInput

    try:
        return _parser().parse(text)  # type: ignore[return-value]
    except UnexpectedInput as error:
        raise _syntax_error(error, text, source) from None


def _syntax_error(error: UnexpectedInput, text: str, source: _Source) -> ReadError:
    """What stands where, and what may stand there."""
    from lark import UnexpectedCharacters, UnexpectedToken

    expected: set[str] = set()
    at = len(text)
    if isinstance(error, UnexpectedCharacters):
        expected, at = set(error.allowed), error.pos_in_stream or 0
    elif isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        at = len(text) if error.token.type == "$END" else (error.token.start_pos or 0)
    words = sorted(
        {_EXPECTED.get(name, f"'{name.lower()}'") for name in expected - {"COMMENT"} if "IGNORE" not in name}
    )
    allowed = " or ".join(words) or "something else"
    if at >= len(text):
        return source.error(
            text.rstrip().count("\n") + 1, f"the file ends where {allowed} should come. Is it truncated?"
        )
    line = text.count("\n", 0, at) + 1
    if text.startswith("/*", at):
        return source.error(line, "this comment is never closed. End it with '*/'.")
    piece = _PIECE.match(text, at)
    found = piece.group() if piece else text[at]
    if found == '"' and '"' not in text[at + 1 :].partition("\n")[0]:
        return source.error(line, "this quote is never closed. A quoted name ends on its own line.")
    if found == "property" and "_PROPERTY" in expected:
        return source.error(line, "this property does not end with ';' on its own line. Add the ';'.")
    hint = " A name with spaces needs quotes." if "LBRACE" in expected else ""
    return source.error(line, f"found '{found}' where {allowed} should come.{hint}")


class _Builder:
    """Checks what the grammar cannot, and makes the network."""

    def __init__(self, source: _Source, items: list[_Declaration | _Block]) -> None:
        self.source, self.error = source, source.error
        self.declared = [item for item in items if isinstance(item, _Declaration)]
        self.blocks = [item for item in items if isinstance(item, _Block)]
        self.variables: dict[str, Variable] = {}
        self.codes: dict[str, dict[str, int]] = {}
        self.entries = 0

    def network(self) -> Network:
        if not self.declared:
            raise self.error(1, "no variable is declared. Add 'variable NAME { type discrete [ n ] { … }; }'.")
        for declaration in self.declared:
            self.declare(declaration)
        self.check_blocks()
        tables = [self.table(block) for block in self.blocks]
        with self.source.at(self.blocks[0].line):
            return Network.of(self.variables.values(), tables)

    def declare(self, declaration: _Declaration) -> None:
        line, name, kinds = declaration
        who = f"variable {_shown(name)}"
        if name in self.variables:
            raise self.error(line, f"{who} is declared twice. Rename or remove one of the two.")
        if len(kinds) != 1:
            raise self.error(line, f"{who} has {len(kinds)} 'type discrete' statements; it needs exactly one.")
        line, announced, states = kinds[0]
        # The count is compared as text: no number is made of it, however many digits it has.
        if not re.fullmatch("[0-9]+", announced):
            raise self.error(line, f"[ {announced[:40]} ] of {who} is not a number of states, such as [ 2 ].")
        if (announced.lstrip("0") or "0") != str(len(states)):
            what = f"{who} announces [ {announced[:40]} ] states and lists {len(states)}"
            raise self.error(line, f"{what}. Make the two agree; a state with a space in its name needs quotes.")
        if len(states) > MAX_STATES:
            raise self.error(line, f"{who} has {len(states)} states; at most {MAX_STATES} are read. Merge some.")
        with self.source.at(line):
            self.variables[name] = Variable(name, states)
        self.codes[name] = {state: code for code, state in enumerate(states)}

    def check_blocks(self) -> None:
        """One block for each variable, its parents sound, no cycle: all before a table is made."""
        lines: dict[str, int] = {}
        for block in self.blocks:
            self.check_names(block)
            if block.node in lines:
                what = f"a second probability block for {_shown(block.node)}, the first being on line"
                raise self.error(block.line, f"{what} {lines[block.node]}. Remove one.")
            lines[block.node] = block.line
        for line, name, _ in self.declared:
            if name not in lines:
                raise self.error(line, f"variable {_shown(name)} has no probability block. Add one.")
        cycle = find_cycle((parent, block.node) for block in self.blocks for parent in block.parents)
        if cycle:
            path = " -> ".join(cycle)
            raise self.error(lines[cycle[0]], f"the network has a cycle: {path}. Remove one of these edges.")

    def check_names(self, block: _Block) -> None:
        line, node, parents, _ = block
        for name in (node, *parents):
            if name not in self.variables:
                raise self.error(line, f"{_shown(name)} is not a declared variable. Declare it, or correct the name.")
        if node in parents:
            raise self.error(line, f"{_shown(node)} is given as its own parent. Remove it after the '|'.")
        if len(parents) > MAX_PARENTS:
            raise self.error(line, f"{_shown(node)} has {len(parents)} parents; at most {MAX_PARENTS} are read.")
        for position, name in enumerate(parents):
            if name in parents[:position]:
                raise self.error(line, f"{_shown(node)} lists the parent {_shown(name)} twice. Name it once.")

    def table(self, block: _Block) -> Table:
        shape = tuple(self.variables[name].size for name in (*block.parents, block.node))
        with self.source.at(block.line):
            check_size(shape, f"The table of {_shown(block.node)}")
            self.entries += math.prod(shape)
            check_size((self.entries,), f"All tables up to {_shown(block.node)} together")
        whole = [statement for statement in block.statements if statement.word == "table"]
        if whole and len(block.statements) > 1:
            what = f"the block of {_shown(block.node)} has more than its 'table'"
            raise self.error(block.statements[1].line, f"{what}. A table is the whole of a block; remove the rest.")
        array = self.from_table(block, whole[0], shape) if whole else self.from_rows(block, shape)
        with self.source.at(whole[0].line if whole else block.line):
            return Table(block.node, block.parents, array)

    def from_table(self, block: _Block, statement: _Statement, shape: tuple[int, ...]) -> FloatArray:
        numbers = self.numbers(block, statement, math.prod(shape))
        # The node's own states come first and vary slowest in the file; they are the last axis of a Table.
        return np.moveaxis(numbers.reshape(shape[-1], *shape[:-1]), 0, -1)

    def from_rows(self, block: _Block, shape: tuple[int, ...]) -> FloatArray:
        array = np.empty(shape)  # untouched pages cost no memory, so a block that fails early stays cheap
        given = np.zeros(shape[:-1], dtype=np.bool_)
        default: FloatArray | None = None
        for statement in block.statements:
            numbers = self.row_numbers(block, statement, shape[-1])
            if statement.states is None:
                if default is not None:
                    raise self.error(statement.line, f"a second 'default' for {_shown(block.node)}. Remove one.")
                default = numbers
                continue
            index = self.index(block, statement)
            if given[index]:
                what = f"row ({_listed(statement.states)}) of {_shown(block.node)} is given twice"
                raise self.error(statement.line, f"{what}. Remove one.")
            given[index] = True
            array[index] = numbers
        if not given.all():
            array[~given] = self.or_missing(block, default, given)
        return array

    def or_missing(self, block: _Block, default: FloatArray | None, given: BoolArray) -> FloatArray:
        """The default row, or an error that names the first row without numbers."""
        if default is not None:
            return default
        if not block.parents:
            raise self.error(block.line, f"the block of {_shown(block.node)} has no 'table'. Give it one.")
        first = np.unravel_index(int(np.argmin(given)), given.shape)
        states = [(self.variables[p].states or ())[i] for p, i in zip(block.parents, first, strict=True)]
        lacking = f"lacks {int(given.size - given.sum())} of its {given.size} rows"
        what = f"{_shown(block.node)} {lacking}, the first being ({_listed(states)})"
        raise self.error(block.line, f"{what}. Give every row, or a 'default'.")

    def index(self, block: _Block, statement: _Statement) -> tuple[int, ...]:
        """The position of a row among the parents' states."""
        states = statement.states or ()
        if len(states) != len(block.parents):
            what = f"row ({_listed(states)}) of {_shown(block.node)} names {len(states)} states"
            rule = f"it has {len(block.parents)} parents, and a row names one state of each, in the order after '|'"
            raise self.error(statement.line, f"{what}; {rule}.")
        for parent, state in zip(block.parents, states, strict=True):
            if state not in self.codes[parent]:
                known = _listed(self.variables[parent].states or ())
                raise self.error(
                    statement.line, f"{_shown(state)} is not a state of {_shown(parent)}; it has: {known}."
                )
        return tuple(self.codes[parent][state] for parent, state in zip(block.parents, states, strict=True))

    def row_numbers(self, block: _Block, statement: _Statement, count: int) -> FloatArray:
        numbers = self.numbers(block, statement, count)
        total = math.fsum(numbers)
        if abs(total - 1.0) > ROW_TOLERANCE:
            what = f"a row of {_shown(block.node)} sums to {total:.9g}"
            raise self.error(statement.line, f"{what}. Each row must sum to 1 within {ROW_TOLERANCE}.")
        return numbers

    def numbers(self, block: _Block, statement: _Statement, count: int) -> FloatArray:
        """Exactly ``count`` finite numbers, none negative."""
        text = statement.entries
        if "/" in text:
            text = _COMMENT.sub(lambda match: " " + "\n" * match.group().count("\n"), text)
        try:
            found = np.fromiter((float(m.group()) for m in islice(_ENTRY.finditer(text), count + 1)), np.float64)
            plain = bool(np.isfinite(found).all() and (found >= 0).all()) and text.isascii() and "_" not in text
        except ValueError:
            plain = False
        if not plain:
            raise self.bad_entry(block, statement, text)
        if len(found) != count or _EMPTY_ENTRY.search(text):
            given = sum(1 for _ in _ENTRY.finditer(text))
            what = f"this {statement.word} of {_shown(block.node)} has {given} numbers"
            what += " and an empty place beside a comma" if given == count else ""
            raise self.error(statement.line, f"{what}; the states ask for {count}.")
        return found

    def bad_entry(self, block: _Block, statement: _Statement, text: str) -> ReadError:
        """The first entry that is not a probability, on its own line."""
        for match in _ENTRY.finditer(text):
            if not _NUMBER.fullmatch(match.group()) or math.isinf(float(match.group())):
                line = statement.entries_line + text.count("\n", 0, match.start())
                what = f"{_shown(match.group())} in the numbers of {_shown(block.node)} is not a probability"
                return self.error(line, f"{what}: a finite decimal number, not negative, such as 0.25.")
        return self.error(statement.line, f"the numbers of {_shown(block.node)} are not plain decimals.")
