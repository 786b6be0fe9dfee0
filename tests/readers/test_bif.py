"""The BIF reader against pyagrum, pgmpy, hand-written files and files broken on purpose."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import warnings
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairarm.errors import ReadError
from fairarm.problem.network import Network
from fairarm.readers import bif
from fairarm.readers.bif import parse_bif, read_bif

with warnings.catch_warnings():
    # The import itself warns about SWIG types, and a warning turned into an error there crashes the interpreter.
    warnings.filterwarnings("ignore", message="builtin type [Ss]wig", category=DeprecationWarning)
    import pyagrum as gum

HEPAR2 = Path(str(files("fairarm") / "data" / "hepar2.bif"))
MALFORMED = Path(__file__).parent / "malformed"

# file: (line, fragment of the message)
EXPECTED = {
    "binary": (1, "byte 0x9f is not UTF-8"),
    "blank": (1, "the file is empty"),
    "block_missing": (3, "variable 'A' has no probability block"),
    "block_twice": (12, "second probability block for 'A', the first being on line 9"),
    "continuous_type": (7, "found 'continuous' where 'discrete' should come"),
    "cycle": (9, "cycle: A -> B -> A"),
    "decimal_comma": (10, "has 4 numbers; the states ask for 2"),
    "default_sum": (14, "sums to 0.9"),
    "default_twice": (15, "second 'default' for 'B'"),
    "empty": (1, "the file is empty"),
    "empty_block": (9, "the block of 'A' has no 'table'"),
    "empty_entry": (14, "an empty place beside a comma"),
    "entries_after_name": (13, "found 'a0' where '('"),
    "foreign_digits": (10, "is not a probability"),
    "garbage": (1, "found '(' where 'network'"),
    "huge_state_count": (4, "announces [ 99999999999 ] states and lists 2"),
    "inf": (11, "'inf' in the numbers of 'A' is not a probability"),
    "json": (1, "found '{' where 'network'"),
    "latin1": (4, "byte 0xe9 is not UTF-8"),
    "many_parents": (72, "a table of 34359738368 entries"),
    "missing_brace": (8, "found 'probability' where"),
    "missing_semicolon": (11, "found '}' where ';' should come"),
    "misspelt_keyword": (6, "found 'varaible' where"),
    "name_with_space": (3, "found 'node' where '{' should come. A name with spaces needs quotes"),
    "nan": (10, "'nan' in the numbers of 'A' is not a probability"),
    "negative": (14, "'-0.1' in the numbers of 'B' is not a probability"),
    "negative_state_count": (4, "[ -2 ] of variable 'A' is not a number of states"),
    "no_entries": (10, "found ';' where numbers should come"),
    "no_states": (4, "Node 'A' has no states"),
    "no_type": (3, "has 0 'type discrete' statements"),
    "no_variables": (1, "no variable is declared"),
    "not_a_number": (14, "'O.1' in the numbers of 'B' is not a probability"),
    "nul_byte": (4, "a NUL byte"),
    "only_comment": (1, "no variable is declared"),
    "open_comment": (6, "this comment is never closed"),
    "open_property": (7, "this property does not end with ';'"),
    "open_quote": (3, "this quote is never closed"),
    "overflow": (10, "'1e999' in the numbers of 'A' is not a probability"),
    "parent_twice": (12, "lists the parent 'A' twice"),
    "parents_without_end": (12, "found '{' where ')'"),
    "row_missing": (12, "'B' lacks 1 of its 2 rows, the first being (a1)"),
    "row_of_two_states": (14, "names 2 states; it has 1 parents"),
    "row_sum": (14, "sums to 1.000002. Each row must sum to 1 within 1e-06"),
    "row_twice": (14, "row (a0) of 'B' is given twice"),
    "row_without_parents": (10, "names 1 states; it has 0 parents"),
    "self_parent": (12, "'B' is given as its own parent"),
    "state_count_not_number": (4, "[ two ] of variable 'A' is not a number of states"),
    "state_twice": (7, "the state 'b0' twice"),
    "table_sum": (10, "sums to 1.1"),
    "table_twice": (11, "has more than its 'table'"),
    "too_few_entries": (14, "has 2 numbers; the states ask for 3"),
    "too_few_in_table": (13, "has 5 numbers; the states ask for 6"),
    "too_few_states": (7, "announces [ 4 ] states and lists 3"),
    "too_many_entries": (14, "has 4 numbers; the states ask for 3"),
    "too_many_states": (4, "announces [ 1 ] states and lists 2"),
    "truncated": (14, "the file ends where ';' should come"),
    "truncated_header": (12, "the file ends where ')' or a name should come"),
    "type_twice": (3, "has 2 'type discrete' statements"),
    "underscore_number": (10, "'0.2_5' in the numbers of 'A' is not a probability"),
    "unknown_node": (9, "'Z' is not a declared variable"),
    "unknown_parent": (12, "'Z' is not a declared variable"),
    "unknown_state": (14, "'a7' is not a state of 'A'; it has: a0, a1"),
    "utf16": (1, "byte 0xff is not UTF-8"),
    "variable_twice": (6, "variable 'A' is declared twice"),
    "xmlbif": (1, "found '<?xml' where"),
}

SMALL = """network small {
  property author = nobody ;
}
variable A { type discrete [ 2 ] { a0, a1 }; }
variable B { type discrete [ 3 ] { "b 0", <b1, b/2 }; } // three
probability ( A ) { table 0.25, 0.75; }
probability ( B | A ) {
  (a0) 0.2, 0.3, 0.5;
  default 1e-1, .1, 0.8;
}
"""


def entries(network: Network) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Each entry under the names of its states, whatever the order of axes."""
    found = {}
    for node, table in network.tables.items():
        names = (*table.parents, node)
        for index, value in np.ndenumerate(table.probabilities):
            states = frozenset((n, (network.variables[n].states or ())[i]) for n, i in zip(names, index, strict=True))
            found[node, states] = float(value)
    return found


def pyagrum_entries(network: gum.BayesNet) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = {}
    for node in network.names():
        cpt = network.cpt(node)
        at = gum.Instantiation(cpt)
        while not at.end():
            states = frozenset((n, cpt.variable(n).label(at.val(n))) for n in cpt.names)
            found[node, states] = cpt.get(at)
            at.inc()
    return found


def pgmpy_entries(model: object) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = {}
    for cpd in model.get_cpds():  # type: ignore[attr-defined]
        for index, value in np.ndenumerate(cpd.values):
            states = frozenset((n, cpd.state_names[n][i]) for n, i in zip(cpd.variables, index, strict=True))
            found[cpd.variable, states] = float(value)
    return found


def differences(ours: dict[object, float], theirs: dict[object, float]) -> float:
    assert ours.keys() == theirs.keys()
    return max(abs(ours[key] - theirs[key]) for key in ours)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_malformed_file_names_its_line(name: str) -> None:
    path = MALFORMED / f"{name}.bif"
    line, fragment = EXPECTED[name]
    with pytest.raises(ReadError) as caught:
        read_bif(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: ")
    assert fragment in message
    assert message.isprintable()


def test_every_malformed_file_is_expected() -> None:
    assert {path.stem for path in MALFORMED.iterdir()} == EXPECTED.keys()
    assert len(EXPECTED) >= 26


GREEDY = {
    "repeated.bif": b"variable" * 4_000_000,
    "parens.bif": b"(" * 10_000_000,
    "property.bif": b"variable A { " + b"property " * 1_000_000,
    "quotes.bif": b'"' * 5_000_001,
    "numbers.bif": b"variable A { type discrete [ 2 ] { a, b }; } probability ( A ) { table"
    + b" 0" * 2_000_000
    + b"; }",
    "states.bif": b"variable A { type discrete [ 20000 ] { " + b" ".join(b"%d" % i for i in range(20_000)) + b" }; }",
    "parents.bif": b"variable A { type discrete [ 2 ] { a, b }; } probability ( A | " + b"A " * 20_000 + b") { }",
    "wide.bif": b"".join(b"variable P%d { type discrete [ 1 ] { a }; }" % i for i in range(70))
    + b"probability ( P0 | "
    + b" ".join(b"P%d" % i for i in range(1, 70))
    + b") { }",
    "defaults.bif": b"".join(b"variable P%d { type discrete [ 2 ] { a, b }; }\n" % i for i in range(24))
    + b"".join(
        b"probability ( P%d | %s ) { default 0.5, 0.5; }\n" % (i, b" ".join(b"P%d" % j for j in range(i)))
        for i in reversed(range(24))
    ).replace(b"0.5, 0.5", b"0.5, 0.6", 1),
}

CHILD = """
import json, pathlib, resource, sys, time
from fairarm.errors import ReadError
from fairarm.readers.bif import read_bif
told = {}
for name in sys.stdin.read().split():
    start = time.process_time()
    try:
        read_bif(pathlib.Path(name))
    except ReadError as error:
        told[pathlib.Path(name).name] = (str(error)[:300], time.process_time() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
status = pathlib.Path("/proc/self/status")
if status.exists():  # ru_maxrss of a child starts from its parent's memory; this one does not
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps([peak, told]))
"""


def test_no_malformed_file_takes_memory_or_time(tmp_path: Path) -> None:
    for name, content in GREEDY.items():
        (tmp_path / name).write_bytes(content)
    member = gzip.compress(b"\n" * (bif.MAX_BYTES // 4), 1)
    (tmp_path / "bomb.bif.gz").write_bytes(member * 24)  # 400 MB when unpacked
    paths = [*MALFORMED.iterdir(), *tmp_path.iterdir()]
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input="\n".join(map(str, paths)), capture_output=True, text=True, check=True
    )
    peak, told = json.loads(done.stdout)
    assert len(told) == len(paths)
    assert peak < 300_000  # kB
    assert max(seconds for _, seconds in told.values()) < 10
    assert "when unpacked" in told["bomb.bif.gz"][0]
    assert "at most 10000" in told["states.bif"][0]
    assert "at most 63" in told["wide.bif"][0]
    assert "sums to 1.1" in told["defaults.bif"][0]


def test_tables_together_are_bounded() -> None:
    """Twenty small blocks with a default must not add up to gigabytes."""
    text = "".join(f"variable P{i} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for i in range(43))
    for i in range(43):
        given = " ".join(f"P{j}" for j in range(23)) if i >= 23 else ""
        text += f"probability ( P{i} | {given} ) {{ default 0.5, 0.5; }}\n"
    with pytest.raises(ReadError, match=r"^f:\d+: All tables up to 'P23' together"):
        parse_bif(text, "f")


def test_missing_directory_and_packed_rubbish(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"nothing\.bif: no such file"):
        read_bif(tmp_path / "nothing.bif")
    with pytest.raises(ReadError, match="is a directory"):
        read_bif(tmp_path)
    with pytest.raises(ReadError, match="not a regular file"):
        read_bif(Path("/dev/null"))
    packed = tmp_path / "x.bif.gz"
    packed.write_bytes(b"not packed at all")
    with pytest.raises(ReadError, match="cannot be read"):
        read_bif(packed)
    packed.write_bytes(gzip.compress(SMALL.encode())[:-20])
    with pytest.raises(ReadError, match="cannot be read"):
        read_bif(packed)


def test_file_too_large_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "large.bif"
    with path.open("wb") as stream:
        stream.truncate(bif.MAX_BYTES + 1)  # sparse: no disk is used
    with pytest.raises(ReadError, match="the largest file read"):
        read_bif(path)


def test_small_file_by_hand() -> None:
    network = parse_bif(SMALL, "small")
    assert list(network.variables) == ["A", "B"]
    assert network.variables["B"].states == ("b 0", "<b1", "b/2")
    assert network.tables["B"].parents == ("A",)
    assert network.tables["A"].probabilities.tolist() == [0.25, 0.75]
    assert network.tables["B"].probabilities.tolist() == [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    assert network.notes == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace(", ", " "),
        lambda text: text.split("}\n", 1)[1].replace(" // three", "").replace(" ", "  \n\t"),
        lambda text: text.replace("( B | A )", "( B A )"),
        lambda text: text.replace("( A )", '( "A" | )'),
        lambda text: text.replace("network small {\n  property author = nobody ;\n}\n", ""),
        lambda text: text.replace("variable A {", 'variable A { property url = "http://a;b" ; property u = http://c;'),
        lambda text: text.replace("  default", "  property p = (1, 2) ;\n  default"),
        lambda text: text.replace("0.25,", "0.25 // p(a0 | nothing); {\n , /* not 0.5; */"),
        lambda text: "/* a\n * comment **/" + text.replace("variable B", "/**/variable/* x */B"),
        lambda text: (
            "".join(sorted(text.splitlines(keepends=True)[3:6], reverse=True))
            + "".join(text.splitlines(keepends=True)[6:])
        ),
    ],
)
def test_odd_but_well_formed(change: object) -> None:
    changed = change(SMALL)  # type: ignore[operator]
    assert changed != SMALL
    read = parse_bif(changed.replace('"b  \n\t0"', '"b 0"'), "odd")
    assert entries(read) == entries(parse_bif(SMALL, "small"))


def test_keywords_and_numbers_are_names_too() -> None:
    text = """network { }
    variable table { type discrete [2] { default, property }; }
    variable 2nd { type discrete [4] { 0-3_days, 12+, >=7.5, Asy/Patch }; }
    probability ( table ) { table 1 0; }
    probability ( 2nd | table ) { (default) 1 0 0 0; (property) 0 0 -0.0 1.; }"""
    network = parse_bif(text, "odd")
    assert network.variables["2nd"].states == ("0-3_days", "12+", ">=7.5", "Asy/Patch")
    assert network.tables["2nd"].probabilities.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


def test_decimals_are_exact_and_rows_within_tolerance_are_noted() -> None:
    text = "variable A { type discrete [3] {a, b, c}; } probability ( A ) { table 0.7, 0.1, 0.2; }"
    assert parse_bif(text, "f").tables["A"].probabilities.tolist() == [0.7, 0.1, 0.2]
    near = parse_bif(text.replace("0.7", "0.7000009"), "f")
    assert near.tables["A"].probabilities.sum() == pytest.approx(1, abs=1e-15)
    assert near.notes == ("1 probability rows did not sum to exactly 1 and were renormalised",)


def test_table_order_is_that_of_pyagrum_and_pgmpy(tmp_path: Path) -> None:
    text = """network order {
}
variable X {
  type discrete [ 2 ] { x0, x1 };
}
variable A {
  type discrete [ 2 ] { a0, a1 };
}
variable B {
  type discrete [ 3 ] { b0, b1, b2 };
}
probability ( A ) {
  table 0.5, 0.5;
}
probability ( B ) {
  table 0.2, 0.3, 0.5;
}
probability ( X | A, B ) {
  table 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4;
}
"""
    path = tmp_path / "order.bif"
    path.write_text(text)
    ours = read_bif(path)
    assert ours.tables["X"].probabilities[..., 0].tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert differences(entries(ours), pyagrum_entries(gum.loadBN(str(path)))) < 1e-7
    assert differences(entries(ours), pgmpy_entries(read_by_pgmpy(path))) == 0


def read_by_pgmpy(path: Path) -> object:
    from pgmpy.readwrite import BIFReader

    return BIFReader(str(path)).get_model()


def test_hepar2_agrees_with_pyagrum() -> None:
    ours = read_bif(HEPAR2)
    theirs = gum.loadBN(str(HEPAR2))
    assert (len(ours.variables), len(ours.edges())) == (70, 123) == (theirs.size(), theirs.sizeArcs())
    assert differences(entries(ours), pyagrum_entries(theirs)) < 1e-6


def test_hepar2_agrees_with_pgmpy_and_62_rows_are_renormalised() -> None:
    ours, theirs = read_bif(HEPAR2), read_by_pgmpy(HEPAR2)
    assert ours.notes == ("62 probability rows did not sum to exactly 1 and were renormalised",)
    raw = pgmpy_entries(theirs)
    sums: dict[object, list[float]] = {}
    for (node, states), value in raw.items():
        sums.setdefault((node, frozenset(s for s in states if s[0] != node)), []).append(value)
    off = {row: abs(sum(values) - 1) for row, values in sums.items()}
    assert max(off.values()) <= 1e-7 + 1e-15
    assert sum(error > 1e-12 for error in off.values()) == 62
    scaled = {
        (node, states): value / sum(sums[row]) if off[row] > 1e-12 else value
        for (node, states), value in raw.items()
        for row in [(node, frozenset(s for s in states if s[0] != node))]
    }
    assert differences(entries(ours), scaled) < 1e-15


def test_byte_order_mark_is_accepted_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bom.bif"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert entries(read_bif(path)) == entries(parse_bif(SMALL, "small"))


def test_gzip_reads_the_same(tmp_path: Path) -> None:
    packed = tmp_path / "hepar2.BIF.GZ"
    packed.write_bytes(gzip.compress(HEPAR2.read_bytes()))
    assert entries(read_bif(packed)) == entries(read_bif(HEPAR2))


@pytest.mark.parametrize("seed", range(6))
def test_round_trip_of_pyagrum_writer(seed: int, tmp_path: Path) -> None:
    gum.initRandom(seed + 1)
    network = gum.randomBN(n=8, ratio_arc=1.5, domain_size=2 + seed % 3)
    path = tmp_path / "random.bif"
    gum.saveBN(network, str(path))
    assert differences(entries(read_bif(path)), pyagrum_entries(network)) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_round_trip_of_pgmpy_writer(seed: int, tmp_path: Path) -> None:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFWriter

    rng = np.random.default_rng(seed)
    names = [f"N{i}" for i in rng.permutation(6)]
    sizes = {name: int(rng.integers(2, 5)) for name in names}
    states = {name: [f"{name}_{rng.integers(1000)}_{i}" for i in range(sizes[name])] for name in names}
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(names)
    for position, name in enumerate(names):
        parents = [str(p) for p in rng.permutation(names[:position])[:3]]
        model.add_edges_from((parent, name) for parent in parents)
        values = rng.dirichlet(np.ones(sizes[name]), int(np.prod([sizes[p] for p in parents], dtype=int))).T
        named = {n: states[n] for n in (name, *parents)}
        model.add_cpds(TabularCPD(name, sizes[name], values, parents, [sizes[p] for p in parents], state_names=named))
    path = tmp_path / "random.bif"
    BIFWriter(model).write(str(path))
    assert differences(entries(read_bif(path)), pgmpy_entries(model)) < 1e-15


ODD_CHARACTERS = st.one_of(st.sampled_from('(){}[]|,;"/*\n\0 .-+_01eE<>#\\\ufeff\u0665\ud800'), st.characters())
MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, len(SMALL)), st.sampled_from(["replace", "insert", "delete", "cut", "repeat"]), ODD_CHARACTERS
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MUTATIONS)
def test_mutated_text_is_read_or_refused(mutations: list[tuple[int, str, str]]) -> None:
    text = SMALL
    for at, how, character in mutations:
        rest = {"replace": at + 1, "insert": at, "delete": at + 3, "cut": len(text), "repeat": at - 20}[how]
        text = text[:at] + ("" if how in {"delete", "cut"} else character) + text[max(rest, 0) :]
    message = ""
    try:
        network = parse_bif(text, "mutated")
    except ReadError as error:
        message = str(error)
    if message:
        assert message.startswith("mutated:")
        assert message.isprintable()
        return
    assert {*network.tables} == {*network.variables}
    for table in network.tables.values():
        np.testing.assert_allclose(table.probabilities.sum(axis=-1), 1, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ReadError):
        parse_bif(data.decode("latin-1"), "bytes")
