"""`fairarm serve`: what it refuses before it opens anything, and what it prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.service.serving import serving

from fairarm.cli import main
from fairarm.studies import Studies
from service_world import create_coin

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{module}":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
{code}
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--db", "postgresql://me:secret@127.0.0.1/studies"), "FAIRARM_DB"),
        (("--host", "0.0.0.0"), "--public-url"),
        (("--public-url", "studies.example.org"), "--public-url"),
        (("--db", "sqlite:////no/such/folder/studies.db"), "does not exist"),
        (("--token", "abc"), "No such option"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_line(
    options: tuple[str, ...], said: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fairarm", "serve", "--port", "0", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2 and said in error and error.count("\n") == 1
    assert "secret" not in error


def test_a_client_and_a_line_of_curl_are_printed(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path}/studies.db"
    with Studies(db) as studies:
        create_coin(studies)
    with serving(db, tmp_path) as service:
        said = (tmp_path / "service.out").read_text()
        assert service.stop() == 0
    assert f'Client("{service.url}"' in said and "curl -s" in said and "fairarm study token --role caller" in said


@pytest.mark.parametrize(
    ("module", "code", "extra"),
    [
        ("fastapi", "from fairarm.cli.app import run; sys.argv = ['fairarm', 'serve']; sys.exit(run())", "service"),
        ("httpx", "import fairarm\ntry: fairarm.Client('http://127.0.0.1:1', 't')\nexcept fairarm.FairarmError as e: sys.exit(str(e))", "studies"),
        ("sqlalchemy", "import fairarm\ntry: from fairarm.studies import Studies\nexcept fairarm.FairarmError as e: sys.exit(str(e))", "studies"),
    ],
)  # fmt: skip
def test_what_is_not_installed_is_named(module: str, code: str, extra: str, tmp_path: Path) -> None:
    text = BLOCKED.format(module=module, code=code)
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (
        ran.returncode in (1, 2) and f"pip install 'fairarm[{extra}]'" in ran.stderr and "Traceback" not in ran.stderr
    )


def test_a_client_needs_no_database() -> None:
    code = "from fairarm import Client; Client('http://127.0.0.1:1', 't'); sys.exit('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", BLOCKED.format(module="sqlalchemy", code=code)], timeout=120)
    assert ran.returncode == 0
