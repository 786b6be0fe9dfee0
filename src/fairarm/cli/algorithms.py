"""``fairarm algorithms``: what `--algorithm` can be, with the algorithms of other packages."""

from __future__ import annotations

from fairarm.cli.shared import AsJson, print_json


def algorithms(as_json: AsJson = False) -> None:
    """List what --algorithm can be."""
    from fairarm.algorithms import known_algorithms

    listed = known_algorithms()
    if as_json:
        print_json({"algorithms": [{"name": name, "description": text} for name, text in listed.items()]})
    else:
        from fairarm.cli import show

        show.algorithms(listed)
