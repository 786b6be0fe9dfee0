"""Networks that a problem file names: BIF, and the formats that another process reads."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from corpus.case import Case, Content, command
from corpus.problem_files import ANY, COIN

KIND = "network files"
MALFORMED = Path(__file__).parents[1] / "readers" / "malformed"
KNOWN = COIN.split("[[world")[0]
GOOD = (
    "network x { }\nvariable group { type discrete [ 2 ] { a, b }; }\n"
    "variable side { type discrete [ 2 ] { heads, tails }; }\nvariable result { type discrete [ 2 ] { lose, win }; }\n"
    "probability ( group ) { table 0.5, 0.5; }\nprobability ( side | group ) { (a) 0.5, 0.5; (b) 0.5, 0.5; }\n"
    "probability ( result | side ) { (heads) 0.25, 0.75; (tails) 0.75, 0.25; }\n"
)
NET = """net { }
node group { states = ("a" "b"); }
node side { states = ("heads" "tails"); }
node result { states = ("lose" "win"); }
potential (group) { data = (0.5 0.5); }
potential (side | group) { data = ((0.5 0.5)(0.5 0.5)); }
potential (result | side) { data = ((0.25 0.75)(0.75 0.25)); }
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3"><NETWORK><NAME>x</NAME>
<VARIABLE TYPE="nature"><NAME>group</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>side</NAME><OUTCOME>heads</OUTCOME><OUTCOME>tails</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>result</NAME><OUTCOME>lose</OUTCOME><OUTCOME>win</OUTCOME></VARIABLE>
<DEFINITION><FOR>group</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>side</FOR><GIVEN>group</GIVEN><TABLE>0.5 0.5 0.5 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>result</FOR><GIVEN>side</GIVEN><TABLE>0.25 0.75 0.75 0.25</TABLE></DEFINITION>
</NETWORK></BIF>
"""
XDSL = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="x" numsamples="1000"><nodes>
<cpt id="group"><state id="a"/><state id="b"/><probabilities>0.5 0.5</probabilities></cpt>
<cpt id="side"><state id="heads"/><state id="tails"/><parents>group</parents><probabilities>0.5 0.5 0.5 0.5</probabilities></cpt>
<cpt id="result"><state id="lose"/><state id="win"/><parents>side</parents><probabilities>0.25 0.75 0.75 0.25</probabilities></cpt>
</nodes><extensions><genie version="1.0" app="GeNIe" name="x"></genie></extensions></smile>
"""
UAI = "BAYES\n3\n2 2 2\n3\n1 0\n2 0 1\n2 1 2\n\n2\n 0.5 0.5\n\n4\n 0.5 0.5 0.5 0.5\n\n4\n 0.25 0.75 0.75 0.25\n"
BILLION = '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "' + "x" * 100 + '">' + "".join(f'<!ENTITY {c} "{("&" + p + ";") * 10}">' for p, c in zip("abcdefgh", "bcdefghi", strict=True)) + "]><BIF><NETWORK><NAME>&i;</NAME></NETWORK></BIF>"  # fmt: skip


def network_files() -> Iterator[Case]:
    for path in sorted(MALFORMED.glob("*.bif")):
        yield read(f"malformed: {path.stem}", "n.bif", path.read_bytes(), ANY)
    for name, (content, refused) in _bif().items():
        yield read(f"BIF: {name}", "n.bif", content, refused)
    for name, (file, content, refused) in _others().items():
        yield read(f"other: {name}", file, content, refused)


def read(name: str, file: str, content: Content, refused: str | None) -> Case:
    files = {"p.toml": KNOWN + f"[world]\nnetwork = {file!r}\n", file: content}
    return command(KIND, name, "inspect", "p.toml", "--json", files=files, refused=refused)


def _bif() -> dict[str, tuple[Content, str | None]]:
    long = "x" * 201
    chain = "".join(f"variable v{i} {{ type discrete [2] {{ a, b }}; }}\n" for i in range(3000))
    chain += "probability ( v0 ) { table 0.5, 0.5; }\n" + "".join(f"probability ( v{i + 1} | v{i} ) {{ (a) 0.5, 0.5; (b) 0.5, 0.5; }}\n" for i in range(2999))  # fmt: skip
    wide = "".join(f"variable v{i} {{ type discrete [2] {{ a, b }}; }}\n" for i in range(40))
    wide += "".join(f"probability ( v{i} ) {{ table 0.5, 0.5; }}\n" for i in range(1, 40))
    wide += f"probability ( v0 | {', '.join(f'v{i}' for i in range(1, 40))} ) {{ default 0.5, 0.5; }}\n"
    return {
        "as it is": (GOOD, None),
        "byte-order mark": (b"\xef\xbb\xbf" + GOOD.encode(), None),
        "other node names": (GOOD.replace("side", "other"), ANY),
        "other states": (GOOD.replace("heads", "kopf"), ANY),
        "state in another order": (GOOD.replace("{ heads, tails }", "{ tails, heads }"), ANY),
        "a name of 201 characters": (GOOD.replace("network x { }", f"variable {long} {{ type discrete [ 2 ] {{ a, b }}; }}\nprobability ( {long} ) {{ table 0.5, 0.5; }}"), "201 characters"),
        "a bidi name": (GOOD.replace("heads", "he\u202eads"), "U+202E"),
        "a name not in NFC": (GOOD.replace("heads", "he\u0301ads"), "NFC"),
        "an escape in a name": (GOOD.replace("heads", "he\x1b[31mads"), ANY),
        "an escape where none may be": ("\x1b[2J" + GOOD, ANY),
        "3 000 more nodes": (GOOD + chain, None),
        "a table of 2^40": (GOOD + wide, "entries"),
        "100 000 nested braces": ("network x " + "{" * 100_000, ANY),
        "100 000 open comments": (GOOD + "/* " * 100_000, "never closed"),
        "5 MB of one name": (GOOD + "variable " + "x" * 5_000_000, ANY),
        "5 MB of spaces": (GOOD + " " * 5_000_000, None),
        "5 MB of slashes": (GOOD + "/" * 5_000_000, None),
        "5 MB of properties": (GOOD + 'property "x" ;\n' * 350_000, None),
        "numbers without end": (GOOD.replace("0.25, 0.75", "0." + "25" * 500_000 + ", 0.75"), ANY),
        "numbers of 10^6 entries": (GOOD.replace("table 0.5, 0.5", "table " + "0.5, " * 1_000_000 + "0.5"), ANY),
        "exponent": (GOOD.replace("0.25, 0.75", "1e-400, 1"), None),
        "tiny": (GOOD.replace("0.25, 0.75", "5e-324, 1"), None),
        "almost 1": (GOOD.replace("0.25, 0.75", "0.2500001, 0.75"), None),
        "three states of S": (GOOD.replace("[ 2 ] { a, b }", "[ 3 ] { a, b, c }").replace("table 0.5, 0.5", "table 0.5, 0.25, 0.25").replace("(b) 0.5, 0.5;", "(b) 0.5, 0.5; (c) 0.5, 0.5;"), ANY),
        "all in group a": (GOOD.replace("table 0.5, 0.5", "table 1, 0"), ANY),
        "a bomb": (gzip.compress(b"0" * 20_000_000), ANY),
    }  # fmt: skip


def _others() -> dict[str, tuple[str, Content, str | None]]:
    return {
        "gz as it is": ("n.bif.gz", gzip.compress(GOOD.encode()), None),
        "gz bomb": ("n.bif.gz", gzip.compress(b" " * 200_000_000, 1), ANY),
        "gz cut": ("n.bif.gz", gzip.compress(GOOD.encode())[:-12], ANY),
        "gz that is none": ("n.bif.gz", GOOD, ANY),
        "net as it is": ("n.net", NET, None),
        "net empty": ("n.net", "", ANY),
        "net rubbish": ("n.net", bytes(range(256)) * 40, ANY),
        "net of 40 parents": ("n.net", "net { }\n" + "".join(f'node v{i} {{ states = ("a" "b"); }}\n' for i in range(41)) + f"potential (v0 | {' '.join(f'v{i}' for i in range(1, 41))}) {{ data = (0.5 0.5); }}\n", ANY),
        "net row sum": ("n.net", NET.replace("0.25 0.75", "0.25 0.85"), ANY),
        "net nan": ("n.net", NET.replace("0.25 0.75", "nan nan"), ANY),
        "net of 100 000 brackets": ("n.net", NET + "potential (x) { data = " + "(" * 100_000, ANY),
        "xml as it is": ("n.bifxml", XML, None),
        "xml entities": ("n.bifxml", BILLION, ANY),
        "xml file of the system": ("n.bifxml", '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a SYSTEM "file:///etc/passwd">]><BIF><NETWORK><NAME>&a;</NAME></NETWORK></BIF>', ANY),
        "xml cut": ("n.bifxml", XML[:400], ANY),
        "xml 100 000 deep": ("n.bifxml", "<a>" * 100_000, ANY),
        "xml names another file": ("n.bifxml", XML.replace("group", "gro\u202eup"), ANY),
        "xdsl as it is": ("n.xdsl", XDSL, None),
        "xdsl nan": ("n.xdsl", XDSL.replace("0.25 0.75", "nan 0.75"), ANY),
        "xdsl too few": ("n.xdsl", XDSL.replace("0.25 0.75 ", ""), ANY),
        "xdsl unknown parent": ("n.xdsl", XDSL.replace("<parents>side", "<parents>other"), ANY),
        "uai that names no node": ("n.uai", UAI, ANY),
        "uai rubbish": ("n.uai", "BAYES x", ANY),
        "uai of 10^9 nodes": ("n.uai", "BAYES\n1000000000\n", ANY),
        "uai of 10^9 states": ("n.uai", "BAYES\n1\n1000000000\n1\n1 0\n\n2\n0.5 0.5\n", ANY),
        "dsl rubbish": ("n.dsl", "net x { ", ANY),
        "o3prm rubbish": ("n.o3prm", "class X { ", ANY),
        "o3prm that imports": ("n.o3prm", "import etc.passwd;\n", ANY),
        "jgum rubbish": ("n.jgum", "{" * 10_000, ANY),
        "bgum rubbish": ("n.bgum", bytes(range(256)) * 100, ANY),
        "csv": ("n.csv", "a,b\n", "not that of a network format"),
        "no ending": ("n", GOOD, "not that of a network format"),
    }  # fmt: skip
