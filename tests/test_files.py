"""Every file is written whole or not at all, by every command that writes one, also when the disk is full."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairarm.errors import OptionError
from fairarm.files import check_path, write_whole

FULL = """
import resource, sys
from pathlib import Path
import fairarm
from fairarm.cli.app import app
from fairarm.errors import OptionError
from fairarm.experiments.inspect import inspect
from fairarm.experiments.simulate import simulate
from fairarm.experiments.paper.plan import PaperPoint
from fairarm.experiments.paper import run
from fairarm.experiments.paper.run import FinishedPoint
from fairarm.files import write_whole
from fairarm.readers.problem_writer import write_problem
from fairarm.reports.figures import error_curves, save_figure
from fairarm.reports.paper import tables
from matplotlib.figure import Figure

folder = Path(sys.argv[1])
coin = fairarm.load_problem("coin")
found = simulate(coin.problem, coin.world, algorithms=["uniform"], pulls=[64], runs=2, seed=0)
looked = inspect(coin.problem, coin.world, pulls=100)
rows = [{"a": 1.5, "b": 2.5} for _ in range(100)]
evidence = FinishedPoint(PaperPoint("e", "s", "a", 10, "r", ("coin",), 2), 2, 1, 0, 0, 0, 0, 1.0, (1,))
writers = {
    "text.txt": lambda path: write_whole(path, "new text " * 9, "text"),
    "bytes.bin": lambda path: write_whole(path, b"new bytes" * 9, "bytes"),
    "figure.svg": lambda path: error_curves(found, path),
    "figure.png": lambda path: save_figure(Figure(), path),
    "page.html": lambda path: fairarm.report(looked, path),
    "problem.toml": lambda path: write_problem(coin.problem, path),
    "results.csv": lambda path: tables.write_csv(rows, path),
    "results.parquet": lambda path: tables._write_parquet(rows, path),
    "point.json": lambda path: (setattr(run, "_path", lambda *_: path), run._write(folder, 0, evidence)),
    "draft.toml": lambda path: app(["init", str(folder / "log.csv"), "--out", str(path)], standalone_mode=False),
}
(folder / "log.csv").write_text("sex,treat,cured\\n" + "f,yes,1\\nm,no,0\\nf,no,0\\nm,yes,1\\n" * 50)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))
for name, write_one in writers.items():
    try:
        write_one(folder / name)
        said = "written"
    except OptionError as error:
        said = str(error)
    sys.stdout.write(f"{name}\\t{said}\\n")
    sys.stdout.flush()
"""
NEW = ("draft.toml",)
"""What must not be there before: the command refuses to write over it."""


@pytest.mark.skipif(os.name == "nt", reason="the limit on the size of a file is that of POSIX")
def test_a_disk_without_room_leaves_every_old_file_as_it_was(tmp_path: Path) -> None:
    names = ("text.txt", "bytes.bin", "figure.svg", "figure.png", "page.html", "problem.toml", "results.csv")
    names = (*names, "results.parquet", "point.json")
    for name in names:
        (tmp_path / name).write_text(f"old {name}")
    ran = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    said = dict(line.split("\t") for line in ran.stdout.splitlines())
    assert {*said} == {*names, *NEW}, ran.stderr
    for name, words in said.items():
        assert words.endswith(f"{tmp_path / name} cannot be written: File too large."), words
    kept = {path.name: path.read_text() for path in tmp_path.iterdir() if path.name != "log.csv"}
    assert kept == {name: f"old {name}" for name in names}


def test_every_file_goes_through_it() -> None:
    source = Path(__file__).parents[1] / "src" / "fairarm"
    direct = (".write_text(", ".write_bytes(", 'open("w', 'open("a', 'open("x', ".savefig(path", ", path, compression")
    found = {
        path.name
        for path in source.rglob("*.py")
        if any(call in path.read_text(encoding="utf-8") for call in direct) and path.name != "files.py"
    }
    assert not found


def test_text_and_bytes_arrive_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "ä\nb\r\n", "text")
    write_whole(tmp_path / "b", b"\x00\r\n", "bytes")
    assert (tmp_path / "a").read_bytes() == "ä\nb\r\n".encode()
    assert (tmp_path / "b").read_bytes() == b"\x00\r\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, "new", "text")
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new", "text")
    assert link.is_symlink() and target.read_text() == "new"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OptionError, match=r"The text .*loop cannot be written"):
        write_whole(loop, "new", "text")


@pytest.mark.skipif(os.name == "nt", reason="there are no devices in the file system of Windows")
def test_a_device_or_a_folder_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    for name, kind in (("pipe.html", "not a regular file"), ("folder.html", "a folder")):
        for write in (lambda p: write_whole(p, "new", "page"), lambda p: check_path(p, "page", (".html",))):
            with pytest.raises(OptionError, match=f"cannot be written: it is {kind}"):
                write(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.html", "pipe.html"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nowhere/a", "new", "No such file or directory"),
        ("n" * 300, "new", "File name too long"),
        ("nul\0", "new", "embedded null"),
        ("a", "lone \ud800", "not Unicode"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path, name: str, content: str, said: str) -> None:
    with pytest.raises(OptionError, match=f"The text .* cannot be written: .*{said}"):
        write_whole(tmp_path / name, content, "text")
    assert list(tmp_path.iterdir()) == []
