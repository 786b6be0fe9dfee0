"""Calibration of certified answers of problems that are not plain: ``python benchmarks/calibration/worlds.py`` writes its table here.

2 000 runs of each of `world_strata`, with the options of `rows.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that the file can be run as a script, as rows.py can

from benchmarks.calibration.rows import Page, main
from benchmarks.calibration.world_strata import CAP, strata_of_worlds

WORLDS = Page("worlds", "Calibration with causes, several attributes and kept nodes", strata_of_worlds, CAP)

if __name__ == "__main__":
    sys.exit(main(WORLDS))
