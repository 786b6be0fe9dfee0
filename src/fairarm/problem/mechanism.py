"""Mechanisms P(X | pa(X)): tables, code, fitted models (`models.py`), or unknown until a log is read (`fitting.py`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.calls import ask, numbers, rows_of
from fairarm.problem.names import check_name, check_version
from fairarm.problem.variables import Variable, check_parents

Columns = Mapping[str, NDArray[Any]]


class SharedColumns(dict[str, NDArray[Any]]):
    """Columns that several models are asked about: what is made of them for one is there for the next."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        super().__init__(columns)
        self.made: dict[Any, Any] = {}

    def among(self, names: Iterable[str]) -> SharedColumns:
        """Some of the columns, with all that was made."""
        fewer = SharedColumns({name: np.asarray(self[name]) for name in names})
        fewer.made = self.made
        return fewer

    def make(self, key: Any, made: Callable[[], Any]) -> Any:
        """What was made under this key, made now if it was not yet."""
        if key not in self.made:
            self.made[key] = made()
        return self.made[key]


"""Observations by column: int64 codes for finite nodes, float64 values for real ones; all of one length."""

ROW_TOLERANCE = 1e-6
"""A probability row whose sum is this close to 1 is renormalised and noted; a worse one is an error."""

_ROUNDING = 1e-12
MAX_ENTRIES = 1 << 24
"""Largest table, in entries (128 MiB of float64), checked before memory is taken."""

PRIOR_ROWS = 1.0
"""Prior rows of each parent combination of a fitted table, spread evenly over the states.

Enough that no state is impossible, so that every row keeps a likelihood and every ratio is finite; and little enough that
n rows of a combination weigh n/(n + 1). A row a state would pull a node with many states far towards the uniform law.
"""

NO_FAIR_ARM = "no fair arm"
"""How the answer is called, where answers are listed, that no arm is fair. No arm may be called so."""


def reads_as_no_fair_arm(name: str) -> bool:
    """Whether a name has the words of `NO_FAIR_ARM`, whatever stands around and between them."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold()) == NO_FAIR_ARM.split()


class Mechanism(Protocol):
    """P(node | parents), whatever it is made of."""

    @property
    def node(self) -> str:
        """What it decides."""
        ...

    @property
    def parents(self) -> tuple[str, ...]:
        """What it looks at, in the order of a table's axes."""
        ...

    def check(self, variables: Mapping[str, Variable]) -> None:
        """An error where it does not fit the declared variables."""
        ...

    def log_prob(self, columns: Columns) -> FloatArray:
        """log P(x | pa(x)) of each observation, (I,); a log-density where the node is real-valued."""
        ...

    def distribution(self, columns: Columns, states: int, length: int) -> FloatArray:
        """P(· | pa(x)) of every state of a finite node, (I, states); I = ``length``, the node itself is not needed."""
        ...


def checked_rows(table: FloatArray, where: str) -> tuple[FloatArray, int]:
    """Probability rows (last axis), validated, and how many had to be renormalised.

    ``where`` starts the message and names the table; the offending row is added as indices of the parents' states.
    """
    sums = table[..., :1].copy()  # column after column: a row has few numbers, and reductions over few are slow
    with np.errstate(over="ignore"):  # a sum beyond all numbers is said to be none of 1
        for s in range(1, table.shape[-1]):
            sums += table[..., s : s + 1]
    low, high = (float(sums.min()), float(sums.max())) if table.size else (1.0, 1.0)
    if table.size and not (table.min() >= 0 and high < np.inf) and len(bad := _impossible(table)):
        index = tuple(int(i) for i in bad[0])
        raise ProblemError(
            f"{where}: entry {list(index)} is {table[index]}. Probabilities are finite and not negative."
        )
    most = max(high - 1.0, 1.0 - low)
    if most <= _ROUNDING:
        return table, 0
    off = np.abs(sums - 1.0)
    if most > ROW_TOLERANCE:
        index = tuple(int(i) for i in np.argwhere(off[..., 0] > ROW_TOLERANCE)[0])
        raise ProblemError(
            f"{where}: row {list(index)} sums to {float(sums[index][0]):.9g}. Each row must sum to 1 within {ROW_TOLERANCE}."
        )
    repair = off > _ROUNDING
    return np.where(repair, table / sums, table), int(repair.sum())


def _impossible(table: FloatArray) -> IntArray:
    """Where entries are that are no probabilities."""
    return np.argwhere(~np.isfinite(table) | (table < 0))


def check_size(shape: tuple[int, ...], where: str) -> None:
    """Refuse a table that is too large before it is allocated."""
    entries = 1
    for size in shape:
        entries *= size
    if entries > MAX_ENTRIES:
        raise ProblemError(
            f"{where}: a table of {entries} entries; the largest allowed is {MAX_ENTRIES}. Use fewer parents or states."
        )


@dataclass(frozen=True, eq=False)
class Table:
    """P(node | parents) as an array of shape (states of parent 1, …, states of parent p, states of node).

    Rows within 1e-6 of 1 are renormalised; ``renormalised`` counts them. The array is a read-only copy.
    ``counts`` are the rows that a fitted table rests on, in its shape: it is then uncertain, and beliefs draw it anew.
    They are no part of equality.
    """

    node: str
    parents: tuple[str, ...]
    probabilities: FloatArray
    renormalised: int = field(default=0)
    counts: IntArray | None = None

    @classmethod
    def fitted(cls, node: str, parents: tuple[str, ...], counts: IntArray) -> Table:
        """The posterior mean under `PRIOR_ROWS` prior rows a parent combination."""
        rows = np.asarray(counts) + PRIOR_ROWS / counts.shape[-1]
        return cls(node, parents, rows / rows.sum(axis=-1, keepdims=True), counts=counts)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        table = np.array(self.probabilities, dtype=np.float64)
        if table.ndim != len(self.parents) + 1:
            raise ProblemError(
                f"The table of '{self.node}' has {table.ndim} levels; with {len(self.parents)} parents it needs {len(self.parents) + 1}."
            )
        table, repaired = checked_rows(table, f"The table of '{self.node}'")
        table.flags.writeable = False
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "renormalised", self.renormalised + repaired)
        if self.counts is not None:
            self._check_counts(np.array(self.counts, dtype=np.int64))

    def _check_counts(self, counts: IntArray) -> None:
        rows = counts + PRIOR_ROWS / max(counts.shape[-1], 1)
        if (
            counts.shape != self.probabilities.shape
            or np.any(counts < 0)
            or not np.allclose(rows / rows.sum(axis=-1, keepdims=True), self.probabilities, rtol=0, atol=1e-9)
        ):
            raise ProblemError(
                f"The table of '{self.node}' is not the one that its counts give. Make it by Table.fitted(node, parents, counts)."
            )
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @property
    def concentration(self) -> FloatArray | None:
        """The Dirichlet posterior of a fitted table, in its shape; None where the table is known."""
        return None if self.counts is None else self.counts + PRIOR_ROWS / self.counts.shape[-1]

    def check(self, variables: Mapping[str, Variable]) -> None:
        """The shape fits the declared states."""
        check_parents(self.node, self.parents, variables)
        shape = tuple(variables[name].size for name in (*self.parents, self.node))
        if self.probabilities.shape != shape:
            raise ProblemError(
                f"The table of '{self.node}' given {list(self.parents)} has shape {self.probabilities.shape}; its states ask for {shape}."
            )

    def log_prob(self, columns: Columns) -> FloatArray:
        """log of the entries at the rows' codes; −inf for an entry of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[tuple(columns[name] for name in (*self.parents, self.node))])

    def distribution(self, columns: Columns, states: int, length: int) -> FloatArray:
        """The table's row for each row of the columns, (I, states)."""
        found = self.probabilities[tuple(columns[name] for name in self.parents)]
        return _all_states(
            np.broadcast_to(found, (length, found.shape[-1])), states, length, f"The table of '{self.node}'"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (self.node, self.parents) == (other.node, other.parents) and np.array_equal(
            self.probabilities, other.probabilities
        )

    def __hash__(self) -> int:
        return hash((self.node, self.parents, self.probabilities.tobytes()))


def table(node: str, parents: tuple[str, ...] | list[str], rows: ArrayLike) -> Table:
    """A table from nested lists: ``table("V", ["S"], [[0.3, 0.7], [0.4, 0.6]])``."""
    try:
        array = np.array(rows, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ProblemError(f"The table of '{node}' is not a rectangular array of numbers: {error}") from None
    return Table(node, tuple(parents), array)


@dataclass(frozen=True)
class Code:
    """A mechanism written in Python: ``function(columns) -> log P(x | pa(x))``, one value per observation.

    It receives the columns of the parents and of the node. Lives in Python only: a problem that has one cannot be saved.
    ``all_states(columns) -> P(· | pa(x))``, (I, states), answers for a finite node in one call; without it the function
    is called once a state.
    """

    node: str
    parents: tuple[str, ...]
    function: Callable[[Columns], ArrayLike]
    all_states: Callable[[Columns], ArrayLike] | None = None
    arm: str | None = field(default=None, compare=False)
    """The arm it belongs to, for messages."""
    version: str | None = None
    """Any text of yours that changes when the code does: by it a saved run tells this code from other code."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        check_version(self.version, self._what)

    def check(self, variables: Mapping[str, Variable]) -> None:
        """Every parent is a variable; what the function returns is checked when it is called."""
        check_parents(self.node, self.parents, variables)

    def log_prob(self, columns: Columns) -> FloatArray:
        """What the function returns, checked: one number per row, finite or −inf."""
        given = {name: columns[name] for name in (*self.parents, self.node)}
        length = len(columns[self.node])
        values = numbers(ask(self.function, given, what=self._what, given=rows_of(given, length)), self._what)
        if values.shape != (length,) or np.any(np.isnan(values)) or np.any(np.isposinf(values)):
            raise ProblemError(
                f"{self._what} must return {length} log-probabilities (finite or −inf); "
                f"it returned shape {values.shape}" + (" with nan or +inf." if values.shape == (length,) else ".")
            )
        return values

    def distribution(self, columns: Columns, states: int, length: int) -> FloatArray:
        """All states at once where the code offers that, else one call for each."""
        given = {name: columns[name] for name in self.parents}
        if self.all_states is not None:
            answer = ask(self.all_states, given, what=self._what, given=rows_of(given, length))
            found = _all_states(numbers(answer, self._what), states, length, self._what)
        else:
            by_state = [
                self.log_prob({**given, self.node: np.full(length, state, dtype=np.int64)}) for state in range(states)
            ]
            found = np.exp(np.stack(by_state, axis=1))
        return checked_rows(found, f"{self._what}, its probabilities of all states")[0]

    @property
    def _what(self) -> str:
        return f"The code of '{self.node}'" if self.arm is None else f"Arm '{self.arm}': its code of '{self.node}'"


def _all_states(found: FloatArray, states: int, length: int, what: str) -> FloatArray:
    if found.shape != (length, states):
        raise ProblemError(f"{what} gives probabilities of shape {found.shape}; {(length, states)} is needed.")
    return found


@dataclass(frozen=True)
class Unknown:
    """A mechanism of which only the inputs are known: a rule in use whose decisions are in the log, but not its law.

    A problem with one is well posed and can be inspected; nothing that needs its numbers works until it is fitted.
    """

    node: str
    parents: tuple[str, ...]
    arm: str | None = field(default=None, compare=False)
    """The arm it belongs to, for messages."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))

    def check(self, variables: Mapping[str, Variable]) -> None:
        """Every parent is a variable."""
        check_parents(self.node, self.parents, variables)

    @property
    def message(self) -> str:
        """What to say to whoever needs its numbers."""
        what = f"Node '{self.node}'" if self.arm is None else f"Arm '{self.arm}'"
        return (
            f"{what} has no mechanism, only inputs ({', '.join(self.parents) or 'none'}). It is fitted from a log by "
            f"`fairarm evaluate`, and with --log by the commands that have it; without a log declare its table."
        )

    def log_prob(self, columns: Columns) -> FloatArray:
        """An error: the mechanism has to be declared, or fitted from a log."""
        raise ProblemError(self.message)

    def distribution(self, columns: Columns, states: int, length: int) -> FloatArray:
        """The same error."""
        raise ProblemError(self.message)


Rule = Callable[[Columns], Any]
"""What a Python rule is: columns in (codes for finite nodes, values for real ones), one answer per row out."""


_DIGEST = re.compile(r"[0-9]+:[0-9a-f]{32}:[A-Za-z0-9_=-]*(/[0-9]+:[0-9a-f]{32})?")


@dataclass(frozen=True)
class Arm:
    """A candidate mechanism of the decision node."""

    name: str
    mechanism: Mechanism
    learned_from: Any = None
    """The log that it was learned from (`open_log`, a part of `split_log`) or the digest of one, which is what is kept."""

    def __post_init__(self) -> None:
        check_name(self.name, "The name of an arm")
        digest = getattr(self.learned_from, "digest", self.learned_from)
        if digest is not None and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            raise ProblemError(
                f"Arm '{self.name}': learned_from is {str(digest)[:40]!r}. Give the log, as open_log(...), or the text that log_digest(log) "
                f"gives, or None if it was not learned from a log."
            )
        object.__setattr__(self, "learned_from", digest)
        if reads_as_no_fair_arm(str(self.name)):
            raise ProblemError(
                f"An arm is called '{self.name}'. That is how the answer is called that no arm is fair: give it another name."
            )
        if isinstance(self.mechanism, Unknown | Code):
            object.__setattr__(self, "mechanism", replace(self.mechanism, arm=self.name))

    @property
    def parents(self) -> tuple[str, ...]:
        """The inputs that the arm looks at."""
        return self.mechanism.parents

    @classmethod
    def from_classifier(
        cls,
        name: str,
        model: Any,
        *,
        decision: str,
        inputs: Iterable[str],
        variables: Mapping[str, Variable] | Iterable[Variable],
        learned_from: Any,
        decide: Literal["sample", "argmax"] = "sample",
        explore: float = 0.0,
        classes: Mapping[Any, str] | None = None,
        threshold: float | None = None,
        tiers: Sequence[float] | None = None,
        states: Sequence[str] | None = None,
        score_class: Any = None,
        version: str | None = None,
    ) -> Arm:
        """A fitted scikit-learn model as P(decision | inputs): a classifier of the decision, or a model of the outcome.

        A model that was fitted on a data frame is given one, with its own column names: finite inputs as the labels of
        their states (numbers, or True and False, where every label is one), real inputs as numbers. Any other model
        is given a float array in the order of ``inputs``, where states whose labels are not numbers are their codes.

        *A classifier of the decision* (anything with ``predict_proba`` and ``classes_``). ``decide``: draw the decision
        from the probabilities, or take the most probable class. ``classes`` says which state each class is,
        where the labels do not. A state that is no class has probability 0, but for what is explored.

        *A model of the outcome, or any score*: with ``threshold`` the first state of the decision is taken where the
        score is below it, the second where it is equal or above; with ``tiers``, numbers that rise, one state more than tiers, in
        the same way. ``states`` names the states from the lowest score to the highest; the decision's own order if not
        given. The score is the probability of ``score_class`` (the second of two classes if not given), the
        ``decision_function`` of a classifier without probabilities, or what a regressor predicts.

        ``learned_from``: the log that the model was fitted on, or its digest; None if it was fitted on no log of this study. An arm is never
        recommended from the rows that it was learned from: `split_log` makes a part to learn from and one to evaluate on.

        ``explore``: with this probability the decision is drawn evenly from all states instead. ``version``: any text of yours
        that changes when the model does; a saved run is not resumed with another one, and a certified one not without.
        """
        from fairarm.problem.classifiers import Cuts, classifier_model, score_model

        if threshold is None and tiers is None and states is None and score_class is None:
            made = classifier_model(name, model, decision, inputs, variables, decide, explore, classes)
            return cls(name, replace(made, version=version), learned_from)
        if decide != "sample" or classes is not None:
            raise ProblemError(
                f"Arm '{name}': decide and classes are for a model of the decision; threshold, tiers, states and score_class for "
                f"one whose score is cut. Give one kind."
            )
        cuts = Cuts.of(name, threshold, tiers, states, score_class)
        made = score_model(name, model, decision, inputs, variables, explore, cuts)
        return cls(name, replace(made, version=version), learned_from)

    @classmethod
    def from_callable(
        cls,
        name: str,
        function: Rule,
        *,
        decision: str,
        inputs: Iterable[str],
        explore: float = 0.0,
        states: Sequence[str] | None = None,
        version: str | None = None,
    ) -> Arm:
        """A Python rule: ``function(columns)`` gives the probability of every state, (I, states), or decides, (I,).

        It receives the inputs' columns: codes of states, or real values. A rule that decides returns labels or codes,
        and ``states`` (the decision's, in order) is then needed. ``explore`` and ``version`` as in `from_classifier`.
        """
        from fairarm.problem.arms_from_models import callable_model

        return cls(name, replace(callable_model(name, function, decision, inputs, explore, states), version=version))

    @classmethod
    def from_density(
        cls, name: str, density: Any, *, decision: str, inputs: Iterable[str] = (), version: str | None = None
    ) -> Arm:
        """A density of a real-valued decision; ``version`` as in `from_classifier`.

        ``density`` is a distribution of scipy.stats with its parameters (anything with ``logpdf``), or a function of
        the columns that returns one (parameters are arrays, one entry a row) or the log-density of the decision.
        """
        from fairarm.problem.arms_from_models import density_code

        return cls(name, replace(density_code(density, decision, inputs), version=version))
