"""``python -m fairarm``: the command."""

from fairarm.cli import main

main()
