"""The command line: ``fairarm init | evaluate | inspect | plan | identify | simulate | problems | algorithms | paper | schema``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2, never a traceback."""
    try:
        from fairarm.cli.app import run

        sys.exit(run())
    except KeyboardInterrupt:
        sys.stderr.write("fairarm: interrupted.\n")
        sys.exit(130)
