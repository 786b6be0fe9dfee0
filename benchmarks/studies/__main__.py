"""``python -m benchmarks.studies`` writes results.md: kills, many processes, random schedules, rates and one long study, on SQLite and on
PostgreSQL. Smaller numbers, and single parts, by options."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.postgres import Postgres, postgres_server
from benchmarks.studies import rate as rates
from benchmarks.studies.fork_server import ForkServer, compiled
from benchmarks.studies.long_study import LongResult, LongStudy
from benchmarks.studies.once import Once
from benchmarks.studies.placed_kills import PlacedKills
from benchmarks.studies.places import Place, postgres_place, sqlite_place
from benchmarks.studies.random_kills import RandomKills
from benchmarks.studies.transactions import TRANSACTIONS

OUT = Path(__file__).with_name("results.md")
TITLES = {
    "placed": "Kill: at the n-th write, sync or message", "random": "Kill: at random moments", "once": "Once: many processes",
    "schedules": "Budget: random schedules", "rate": "Rate", "long": "A long study",
}  # fmt: skip
PARTS = tuple(TITLES)
MODULES = tuple(
    f"benchmarks.studies.{name}" for name in ("transactions", "random_kills", "once", "long_study", "full_disk")
)
"""What the processes that are forked need to have imported."""


@dataclass
class Bench:
    """All parts of one run; ``lines`` are those of the page."""

    server: ForkServer
    postgres: Postgres
    folder: Path
    asked: argparse.Namespace
    lines: list[str] = field(default_factory=list)
    made: int = 0

    def places(self) -> list[Place]:
        """An empty one of each kind."""
        self.made += 1
        folder = self.folder / str(self.made)
        folder.mkdir()
        return [sqlite_place(folder, "empty"), postgres_place(self.postgres, f"empty{self.made}")]

    def say(self, *lines: str) -> None:
        """On the page, and now."""
        self.lines += lines
        print(*lines, sep="\n", flush=True)

    # ---- the parts ----

    def placed(self) -> None:
        """Kills at every write."""
        self.say(
            "| transaction | database | writes and syncs | kills | acknowledged before the kill | lost or doubled |",
            "|---|---|---|---|---|---|",
        )
        for place in self.places():
            runs = PlacedKills(self.server, place, Path(tempfile.mkdtemp(dir=self.folder)))
            for name in TRANSACTIONS:
                writes = runs.writes(name)
                kills = list(runs.kills(name))
                told = sum(kill.acknowledged for kill in kills)
                self.say(f"| {name} | {place.kind} | {writes} | {len(kills)} | {told} | 0 |")

    def random(self) -> None:
        """Kills at random moments."""
        self.say(
            "| database | kills | people assigned | outcomes told | cohorts settled | lost or doubled |",
            "|---|---|---|---|---|---|",
        )
        for place in self.places():
            runs = RandomKills(self.server, place, Path(tempfile.mkdtemp(dir=self.folder)))
            found: dict[str, int] = {}
            for number in range(self.asked.kills // 2):
                runs.kill()
                if number % 50 == 49:
                    found = runs.check()
            found = runs.check()
            self.say(
                f"| {place.kind} | {found['kills']} | {found['assigned']} | {found['told']} | {found['settled']} | 0 |"
            )

    def once(self) -> None:
        """Many processes."""
        small = self.asked.small
        self.say("| what | database | came of it |", "|---|---|---|")
        for place in self.places():
            tells = Once(self.server, place, Path(tempfile.mkdtemp(dir=self.folder))).conflicting_tells(
                8, 50 if small else 500
            )
            self.say(f"| 8 processes tell 500 outcomes that contradict each other | {place.kind} | {_counted(tells)} |")
        for place in self.places():
            asks = Once(self.server, place, Path(tempfile.mkdtemp(dir=self.folder))).people(16, 100 if small else 5000)
            self.say(
                f"| 16 processes ask for 5 000 people each, a fifth of them again | {place.kind} | {_counted(asks)}; nobody and no card twice |"
            )
        times = 2 if small else 20
        for _ in range(times):
            for place in self.places():
                Once(self.server, place, Path(tempfile.mkdtemp(dir=self.folder))).opening(32)
                place.drop()
        self.say(f"| 32 processes open an empty database, {times} times | both | no error |")
        for place in self.places():
            done = Once(self.server, place, Path(tempfile.mkdtemp(dir=self.folder))).ticking(4)
            self.say(f"| 4 processes tick for 4 days | {place.kind} | {len(done)} things done, each once |")

    def schedules(self) -> None:
        """Random schedules."""
        from benchmarks.studies.run_schedules import run_schedules

        self.say("| database | schedules | broken |", "|---|---|---|")
        for kind, count in (("SQLite", self.asked.schedules * 3 // 4), ("PostgreSQL", self.asked.schedules // 4)):
            run_schedules(self._maker(kind), count, seed=1)
            self.say(f"| {kind} | {count} | 0 |")

    def _maker(self, kind: str) -> Callable[[], Place]:
        folder = Path(tempfile.mkdtemp(dir=self.folder))

        def made() -> Place:
            self.made += 1
            return (
                sqlite_place(folder, f"s{self.made}")
                if kind == "SQLite"
                else postgres_place(self.postgres, f"s{self.made}")
            )

        return made

    def rate(self) -> None:
        """Ratios."""
        seconds, rounds = (0.5, 2) if self.asked.small else (3.0, 5)
        many = 10_000 if self.asked.small else 1_000_000
        self.say(
            "Ratios of medians, measured by turns in one job; the server waits for the disk at each commit.",
            "",
        )
        self.say("| what | database | ours | beside | unit | ratio | bar | |", "|---|---|---|---|---|---|---|---|")
        for number in range(2):
            for callers in (1, 8):
                self._ratio(rates.beside_optuna(self.places()[number], self.places()[number], callers, seconds, rounds))
            self._ratio(rates.grouped(self.places()[number], 64, seconds, rounds))
            self._ratio(rates.beside_insert(self.places()[number], 50 if self.asked.small else 300, rounds))
            self._ratio(rates.many_rows(self.places()[number], self.places()[number], 1000, many, 300, rounds))

    def _ratio(self, found: rates.Ratio) -> None:
        bar = f"{'≥' if found.at_least else '≤'} {found.bar:g}"
        said = "met" if found.holds else "**missed**"
        self.say(
            f"| {found.what} | {found.place} | {found.ours:.3g} | {found.theirs:.3g} | {found.unit} | {found.ratio:.2f} | {bar} | {said} |"
        )

    def long(self) -> None:
        """A whole study."""
        self.say("ad-marketplace, window 7 days, cohorts of a day, 1 % of outcomes lost and 1 % late, confidence 0.95, four processes, each killed in a quarter of its steps.", "",
            "| database | arrived | entered | kills | cohorts settled | counted | lost | of these late | answer | truth | verify | rows by arm in the export, in `evaluate`, in the study | minutes |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        )  # fmt: skip
        days = 12 if self.asked.small else 30
        for place in self.places():
            self._long(LongStudy(self.server, place, Path(tempfile.mkdtemp(dir=self.folder)), days=days).run())

    def _long(self, r: LongResult) -> None:
        same = (
            f"{r.exported} = {r.evaluated} = {r.counted}"
            if r.agree
            else f"**{r.exported}, {r.evaluated}, {r.counted}**"
        )
        self.say(
            f"| {r.place} | {r.arrived} | {r.entered} | {r.kills} | {r.settled} | {r.counted} | {r.lost} | {r.late} | {r.answer}: {r.arm} | {r.best} "
            f"| clean | {same} | {r.seconds / 60:.1f} |"
        )


def _counted(found: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(Counter(found).items()))


HEAD = [
    "# Live studies under fire",
    "",
    f"Written by `make studies-bench`, part by part, on a machine with {os.cpu_count()} cores that did other work besides. What a study is: [docs/live.md](../../docs/live.md).",
]


def written(parts: dict[str, list[str]]) -> None:
    """The page with these parts anew, the others as they were."""
    kept: dict[str, list[str]] = {}
    part = ""
    for line in OUT.read_text(encoding="utf-8").splitlines() if OUT.exists() else []:
        part = next((name for name, title in TITLES.items() if line == f"## {title}"), part)
        if part:
            kept.setdefault(part, []).append(line)
    kept |= parts
    text = "\n\n".join("\n".join(kept[name]).strip() for name in PARTS if name in kept)
    OUT.write_text("\n".join(HEAD) + "\n\n" + text + "\n", encoding="utf-8")


def main() -> None:
    """The parts that are asked for, all if none is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="some of the parts; all if none is named")
    parser.add_argument("--kills", type=int, default=2000, help="at random, half of them on each database")
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument(
        "--small", action="store_true", help="of once, rate and long: to see whether they run; nothing is written"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairarm-studies-") as made, postgres_server(durable=True) as postgres:
        folder = Path(made)
        with ForkServer(compiled(folder), MODULES) as server:
            for part in asked.parts or PARTS:
                begun = time.time()
                bench = Bench(server, postgres, folder, asked)
                bench.made = 1000 * PARTS.index(part)
                bench.say(f"## {TITLES[part]}", "")
                getattr(bench, part)()
                bench.say("", f"({(time.time() - begun) / 60:.0f} minutes.)")
                if not asked.small:
                    written({part: bench.lines})


if __name__ == "__main__":
    main()
