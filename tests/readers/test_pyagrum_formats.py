"""The formats read through pyagrum, and the choice of a reader by extension."""

from __future__ import annotations

import gzip
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from fairarm.errors import ReadError
from fairarm.problem.network import Network
from fairarm.readers import pyagrum_formats
from fairarm.readers.networks import EXTENSIONS, read_network
from fairarm.readers.pyagrum_formats import first_line, read_with_pyagrum

with warnings.catch_warnings():
    # The import itself warns about SWIG types, and a warning turned into an error there crashes the interpreter.
    warnings.filterwarnings("ignore", message="builtin type [Ss]wig", category=DeprecationWarning)
    import pyagrum as gum
    import pyagrum.prm  # adds the o3prm writer

# P(X = x0 | A, B), parents of different sizes so that no transposition can hide
X0 = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])

GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Net" numsamples="1000" discsamples="10000">
  <nodes>
    <cpt id="A"><state id="a0" /><state id="a1" /><probabilities>0.25 0.75</probabilities></cpt>
    <cpt id="B"><state id="b0" /><state id="b1" /><state id="b2" /><probabilities>0.2 0.3 0.5</probabilities></cpt>
    <cpt id="X">
      <state id="x0" /><state id="x1" />
      <parents>A B</parents>
      <probabilities>0.1 0.9 0.2 0.8 0.3 0.7 0.4 0.6 0.5 0.5 0.6 0.4</probabilities>
    </cpt>
  </nodes>
  <extensions><genie version="1.0" app="GeNIe 4.1" name="Net"></genie></extensions>
</smile>
"""


def example() -> gum.BayesNet:
    network = gum.BayesNet("example")
    for name, size in (("X", 2), ("A", 2), ("B", 3)):
        network.add(gum.LabelizedVariable(name, name, [f"{name.lower()}{i}" for i in range(size)]))
    network.addArc("A", "X")
    network.addArc("B", "X")
    network.cpt("A").fillWith([0.25, 0.75])
    network.cpt("B").fillWith([0.2, 0.3, 0.5])
    for a, b in np.ndindex(2, 3):
        network.cpt("X")[{"A": a, "B": b}] = [X0[a, b], 1 - X0[a, b]]
    return network


def check_example(network: Network, tolerance: float = 1e-6) -> None:
    assert sorted(network.variables) == ["A", "B", "X"]
    assert network.variables["B"].states == ("b0", "b1", "b2")
    table = network.tables["X"]
    axes = [table.parents.index("A"), table.parents.index("B"), 2]
    np.testing.assert_allclose(table.probabilities.transpose(axes)[..., 0], X0, atol=tolerance)
    np.testing.assert_allclose(network.tables["A"].probabilities, [0.25, 0.75], atol=tolerance)
    for filed in network.tables.values():
        np.testing.assert_allclose(filed.probabilities.sum(axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("extension", ["net", "dsl", "xdsl", "bifxml", "o3prm", "jgum", "bgum"])
def test_round_trip_of_pyagrum_writer(extension: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"example.{extension}"
    gum.saveBN(example(), str(path))
    network = read_network(path)
    check_example(network)
    if extension in {"net", "dsl", "o3prm"}:  # read through float32
        assert "renormalised" in network.notes[0]
    assert capfd.readouterr() == ("", "")


def test_xdsl_is_read_in_the_order_that_genie_defines(tmp_path: Path) -> None:
    path = tmp_path / "genie.xdsl"
    path.write_text(GENIE)
    check_example(read_with_pyagrum(path), tolerance=1e-12)


def test_xdsl_of_pgmpy_writer(tmp_path: Path) -> None:
    """An independent writer; four parents of different sizes, listed against the order of declaration."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import XDSLWriter

    rng = np.random.default_rng(5)
    sizes = {"P": 2, "Q": 3, "R": 4, "S": 2}
    parents = ["R", "P", "S", "Q"]
    states = {name: [f"{name}{i}" for i in range(size)] for name, size in {**sizes, "X": 3}.items()}
    model = DiscreteBayesianNetwork([(parent, "X") for parent in parents])
    for name, size in sizes.items():
        column = rng.dirichlet(np.ones(size))[:, None]
        model.add_cpds(TabularCPD(name, size, column, state_names={name: states[name]}))
    values = rng.dirichlet(np.ones(3), 48).T
    model.add_cpds(TabularCPD("X", 3, values, parents, [sizes[p] for p in parents], state_names=states))
    path = tmp_path / "random.xdsl"
    XDSLWriter(model).write(str(path))
    table = read_with_pyagrum(path).tables["X"]
    cpd = model.get_cpds("X")
    ours = table.probabilities.transpose([(*table.parents, "X").index(name) for name in cpd.variables])
    np.testing.assert_allclose(ours, cpd.values, atol=1e-12)


def test_uai_with_one_parent_is_read_and_with_two_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.uai"
    path.write_text("BAYES\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n 0.25 0.75\n\n6\n 0.2 0.3 0.5\n 0.1 0.1 0.8\n")
    network = read_with_pyagrum(path)
    np.testing.assert_allclose(network.tables["1"].probabilities, [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], atol=1e-7)
    gum.saveBN(example(), str(path))
    with pytest.raises(ReadError, match="writers of UAI disagree"):
        read_with_pyagrum(path)


@pytest.mark.parametrize(
    ("name", "content", "fragment"),
    [
        ("a.net", b"rubbish", '"net" expected'),
        ("a.uai", b"BAYES x", "invalid NUMBER"),
        ("a.bgum", bytes(range(256)) * 10, "could not read it"),
        ("b.xdsl", GENIE.replace("0.1 0.9", "0.6 0.9").encode(), "row [0, 0] sums to 1.5"),
        ("c.xdsl", GENIE.replace("0.1 0.9", "nan 0.9").encode(), "out of memory"),  # else without end
    ],
)
def test_broken_files(
    name: str, content: bytes, fragment: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        read_network(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert fragment in message
    assert message.isprintable()
    assert len(message) <= 600
    assert capfd.readouterr() == ("", "")


def test_a_crash_or_a_hang_of_pyagrum_is_a_read_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.net"
    path.write_text("anything")
    monkeypatch.setattr(pyagrum_formats, "_CHILD", "import os; os.abort()")
    with pytest.raises(ReadError, match=r"could not read it \(exit code -6\)"):
        read_with_pyagrum(path)
    monkeypatch.setattr(pyagrum_formats, "_CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(pyagrum_formats, "_SECONDS", 0.2)
    with pytest.raises(ReadError, match=r"it took more than 0\.2 s"):
        read_with_pyagrum(path)


def test_first_line_prefers_errors_to_warnings() -> None:
    message = "[pyAgrum] Fatal error: f.uai:4: 1 : warning : odd\n1\n^\nf.uai:9: 2 : error : short\n"
    assert first_line(message) == "f.uai:9: 2 : error : short"
    assert first_line("[pyAgrum] I/O Error: no\nmore") == "I/O Error: no"
    assert first_line("\n") == "no reason given"


def test_reader_is_chosen_by_extension(tmp_path: Path) -> None:
    text = b"variable A { type discrete [2] { a, b }; } probability ( A ) { table 0.7 0.3; }"
    (tmp_path / "x.bif").write_bytes(text)
    (tmp_path / "x.v2.BIF.gz").write_bytes(gzip.compress(text))
    for name in ("x.bif", "x.v2.BIF.gz"):
        assert read_network(tmp_path / name).tables["A"].probabilities.tolist() == [0.7, 0.3]


@pytest.mark.parametrize("name", ["x.csv", "x", "x.bif.zip", "x.gz", "x.pkl"])
def test_unknown_extension_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    """Pickles are never opened: that would run code."""
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Path))
    with pytest.raises(ReadError) as caught:
        read_network(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert all(extension in str(caught.value) for extension in EXTENSIONS)
    with pytest.raises(ReadError, match="unknown format"):
        read_with_pyagrum(path)


@pytest.mark.parametrize("extension", ["bif", "xdsl", "csv"])
def test_missing_file_and_directory(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"nothing.{extension}"
    with pytest.raises(ReadError, match="no such file"):
        read_network(path)
    path.mkdir()
    with pytest.raises(ReadError, match="is a directory"):
        read_network(path)
