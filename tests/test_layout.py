"""Tests mirror the source tree: a module, or a folder of modules, is tested by the file of the same path and name.

What differs is listed here with its reason, and nothing may be listed that need not be.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "fairarm"

OWN_KINDS = {
    "benchmarks": "the scripts in benchmarks",
    "calibration": "how often answers are right, over many runs",
    "corpus": "hostile inputs, over all readers and commands",
    "docs": "the documentation runs, and its site",
    "examples": "the examples run",
    "smoke": "the wheel, in an environment of its own",
    "under_fire": "live studies: kills, many processes, random schedules, a whole study",
}

TOPICS = {
    "algorithms/test_certified_worlds.py": "certified answers where the problem is not plain, from the first pull to intervals from counts",
    "algorithms/test_competitors.py": "what mis, top-two and tf-lucb have in common",
    "algorithms/test_contract.py": "the contract of fairarm.testing, over every algorithm",
    "algorithms/test_csr_groups.py": "csr, two-stage and sris with more than two groups, from inspect to the answer",
    "algorithms/test_golden.py": "saved runs of every format so far",
    "algorithms/test_pool_live.py": "pool's cohorts: settled in order, opened beside others that are under way",
    "beliefs/test_beliefs_about_worlds.py": "beliefs about worlds, from runs and from logs",
    "catalog/test_question_problems.py": "synthetic problems where the question decides",
    "cli/test_cold_start.py": "what a cold command loads",
    "cli/test_commands.py": "what all commands have in common",
    "cli/test_four_groups.py": "more than two groups and other questions, over all commands",
    "cli/test_logs.py": "commands that read a log",
    "cli/test_tolerance.py": "--tolerance, over all commands",
    "cli/test_other_questions.py": "attributes with causes, kept nodes and several attributes, over all commands",
    "cli/test_widths.py": "terminals of every width, over all commands",
    "core/proof/test_log_rows.py": "intervals from logs about any rows of fairness, with a pilot and without",
    "experiments/test_doubt_of_worlds.py": "missing outcomes, hidden causes, tables and estimators where a problem is not plain",
    "experiments/test_run_from_a_log_with_holes.py": "what is certified in a run that starts from a log without some outcomes",
    "experiments/test_fitted_before.py": "nothing fitted is certified, over evaluate and read_log",
    "experiments/test_logs_of_worlds.py": "logs where more is asked than about groups, from rows to JSON",
    "experiments/test_results.py": "what every result has",
    "experiments/test_what_a_log_is.py": "log= of every function",
    "logs/draft/test_dirty_logs.py": "the draft of a problem, from ordinary dirty files",
    "logs/draft/test_draft.py": "the draft of a problem, from end to end",
    "logs/draft/test_edges.py": "the draft of a problem, where little can be said",
    "logs/draft/test_hostile_names.py": "the draft of a problem, from names that mean harm",
    "logs/draft/test_to_confirm.py": "the draft of a problem, what it asks to be confirmed",
    "logs/test_drop.py": "rows left out on purpose, on every engine",
    "logs/test_exact_states.py": "numbers as states, on every engine",
    "logs/test_hostile.py": "logs that would take for ever",
    "logs/test_mixed_files.py": "files that do not agree",
    "problem/test_replace.py": "dataclasses.replace, for every argument of a problem",
    "reports/page/test_graph_pictures.py": "pictures of graphs, with the paths that count",
    "reports/test_digits.py": "digits of numbers, on pages and terminals",
    "reports/test_drawn.py": "figures show the numbers, over all pages",
    "reports/test_many_rows.py": "pages and figures where more is asked about than one gap",
    "reports/test_pages.py": "pages say what the terminal says",
    "reports/test_report.py": "`report`: what every page promises",
    "reports/page/test_study_pages.py": "pages of live studies, with made-up values",
    "reports/words/test_study_words.py": "sentences about live studies",
    "service/test_page_routes.py": "pages over HTTP: who sees what, forms, colours",
    "service/test_browser.py": "pages in a real browser: accessibility, without script, hostile names, forms",
    "service/test_any_input.py": "inputs made from the API's own description",
    "service/test_every_door.py": "every route and who may use it",
    "studies/test_other_questions.py": "stored studies of several attributes, causes and kept nodes, to the answer",
    "test_enumeration.py": "laws, divergences and estimators against enumeration, over core, problem, beliefs and worlds",
    "problem/test_rows_of_constraints.py": "the rows that every kind of question makes, by hand",
    "test_many_groups.py": "the same for any number of groups, against structural models",
    "test_layout.py": "this",
    "test_structural.py": "rows of every question against structural models with explicit noise, over problem, core and worlds",
    "test_worked_examples.py": "numbers worked out by hand, against the models they describe",
    "test_worlds_enumeration.py": "means of worlds against structural models, over problem, worlds and beliefs",
    "test_worlds_equivalence.py": "why worlds are refused: two models, the same laws, two answers",
    "test_worlds_oracle.py": "the oracles of general fairness, one against the other",
    "test_two_groups.py": "what means two groups refuses three, and everything else answers for all three",
}

THROUGH = {
    "algorithms/notes.py": ("algorithms/test_cohort.py", "algorithms/test_golden.py"),
    "algorithms/old_formats.py": ("algorithms/test_golden.py",),
    "algorithms/procedure.py": ("algorithms/test_contract.py",),
    "algorithms/records.py": ("algorithms/test_info.py", "algorithms/test_saved.py"),
    "algorithms/registry.py": ("algorithms/test_registered.py", "algorithms/test_csr.py"),
    "algorithms/run.py": ("algorithms/test_contract.py", "algorithms/test_saved.py"),
    "algorithms/sris.py": ("algorithms/test_csr.py",),
    "algorithms/state.py": ("algorithms/test_info.py", "algorithms/test_saved.py"),
    "algorithms/two_stage.py": ("algorithms/test_csr.py",),
    "algorithms/uniform.py": ("algorithms/test_csr.py",),
    "algorithms/timing.py": ("experiments/live/test_simulate.py", "studies/test_options.py"),
    "algorithms/verdict.py": ("algorithms/test_pool.py", "reports/test_pages.py"),
    "beliefs/beliefs.py": ("beliefs/test_cells.py", "beliefs/test_robust.py"),
    "beliefs/row_kinds.py": ("beliefs/test_known_worlds.py",),
    "beliefs/doubt.py": ("experiments/test_doubt.py",),
    "beliefs/worlds.py": ("beliefs/test_beliefs_about_worlds.py",),
    "beliefs/certified.py": ("experiments/test_evaluate.py",),
    "beliefs/lines.py": ("beliefs/test_evidence.py",),
    "beliefs/planning.py": ("beliefs/test_from_log.py",),
    "beliefs/row_model.py": ("beliefs/test_logged_rows.py",),
    "beliefs/row_pilot.py": ("beliefs/test_row_bets.py", "beliefs/test_row_sums.py"),
    "core/packed.py": ("beliefs/test_row_sums.py", "logs/test_gathering.py"),
    "beliefs/row_sample.py": ("beliefs/test_logged_rows.py",),
    "catalog/chain.py": ("catalog/test_synthetic.py", "catalog/test_groups.py"),
    "catalog/hepar2.py": ("readers/test_problem_file.py",),
    "catalog/questions.py": ("catalog/test_question_problems.py",),
    "catalog/sris.py": ("experiments/test_paper.py",),
    "cli/*.py": ("cli/test_commands.py", "cli/test_logs.py", "cli/test_widths.py"),
    "core/answer.py": ("algorithms/test_pool.py",),
    "core/limit/alternatives.py": ("core/limit/test_fewest_pulls.py", "core/limit/test_any_rows.py"),
    "core/limit/one_gap.py": ("core/limit/test_fewest_pulls.py",),
    "core/limit/row_moves.py": ("core/limit/test_any_rows.py",),
    "core/limit/shares.py": ("core/limit/test_fewest_pulls.py", "core/limit/test_any_rows.py"),
    "core/limit/two_valued.py": ("core/limit/test_fewest_pulls.py",),
    "core/types.py": (),  # names of types only
    "errors.py": ("cli/test_widths.py", "corpus/test_corpus.py"),
    "experiments/assumptions.py": ("experiments/test_evaluate.py",),
    "experiments/evidence_from_log.py": ("experiments/test_evaluate.py",),
    "experiments/identify.py": ("experiments/test_start_from_log.py", "cli/test_commands.py"),
    "experiments/inspect.py": ("experiments/test_limit.py", "reports/test_pages.py", "cli/test_other_questions.py"),
    "experiments/next_pulls.py": ("experiments/test_evaluate.py", "experiments/test_plan.py"),
    "experiments/live/results.py": ("experiments/live/test_simulate.py",),
    "experiments/margins.py": ("experiments/test_plan.py",),
    "experiments/simulate.py": ("algorithms/test_competitors.py", "experiments/test_workers.py"),
    "experiments/theorems.py": ("algorithms/test_csr_groups.py", "experiments/test_paper.py"),
    "experiments/truths_from_log.py": ("experiments/test_start_from_log.py",),
    "experiments/truths_from_prior.py": ("experiments/test_plan.py",),
    "logs/*.py": ("logs/test_engines.py", "logs/test_reading.py", "logs/test_sources.py", "logs/test_mixed_files.py"),
    "logs/draft/*.py": ("logs/draft/test_draft.py", "logs/draft/test_edges.py"),
    "problem/fairness.py": ("problem/test_rows_of_constraints.py",),
    "problem/calls.py": ("problem/test_arms_from_models.py",),
    "problem/changes.py": ("problem/test_problem.py", "problem/test_replace.py"),
    "problem/checks.py": ("problem/test_problem.py",),
    "problem/classifiers.py": ("problem/test_arms_from_models.py",),
    "problem/compiled.py": ("problem/test_replace.py", "test_enumeration.py"),
    "problem/context.py": ("problem/test_shared_cells.py", "test_enumeration.py"),
    "problem/held.py": ("problem/test_replace.py",),
    "problem/inference.py": ("test_enumeration.py", "worlds/test_network.py"),
    "problem/labels.py": ("problem/test_log_map.py", "logs/test_exact_states.py"),
    "problem/likelihood.py": ("test_enumeration.py",),
    "problem/mechanism.py": ("problem/test_problem.py",),
    "problem/network.py": ("readers/test_bif.py", "worlds/test_network.py"),
    "problem/outcome.py": ("problem/test_problem.py",),
    "problem/pair.py": ("test_two_groups.py",),
    "problem/own_factors.py": ("test_worlds_enumeration.py", "beliefs/test_beliefs_about_worlds.py"),
    "problem/parts.py": ("problem/test_problem.py", "problem/test_replace.py"),
    "problem/space.py": ("problem/test_shared_cells.py", "problem/test_fitting.py"),
    "problem/summing.py": ("test_enumeration.py",),
    "problem/world_cells.py": ("test_worlds_enumeration.py", "beliefs/test_beliefs_about_worlds.py"),
    "problem/world_terms.py": ("test_worlds_enumeration.py", "beliefs/test_beliefs_about_worlds.py"),
    "problem/tables.py": ("test_enumeration.py", "core/paper/test_divergence.py"),
    "readers/first_error.py": ("readers/test_problem_file.py", "readers/test_study_file.py"),
    "readers/networks.py": ("readers/test_pyagrum_formats.py",),
    "readers/problem_keys.py": ("readers/test_problem_file.py",),
    "readers/problem_writer.py": ("readers/test_problem_file.py",),
    "readers/text.py": ("readers/test_bif.py", "readers/test_problem_file.py"),
    "studies/answers.py": ("studies/test_standing.py",),
    "studies/clocks.py": ("studies/test_studies.py",),
    "studies/cohorts.py": ("studies/test_ticking.py", "studies/test_hand.py"),
    "studies/core.py": ("studies/test_studies.py",),
    "studies/counting.py": ("studies/test_ticking.py", "studies/test_verifying.py"),
    "studies/errors.py": ("studies/test_coding.py", "studies/test_options.py"),
    "studies/events.py": ("studies/test_verifying.py", "studies/test_hand.py"),
    "studies/moving.py": ("studies/test_hand.py", "studies/test_studies.py"),
    "studies/progress.py": ("studies/test_ticking.py", "studies/test_verifying.py"),
    "studies/running.py": ("studies/test_studies.py",),
    "studies/schema.py": ("studies/test_database.py", "studies/test_calls.py"),
    "studies/study.py": ("studies/test_calls.py", "studies/test_hand.py", "studies/test_standing.py"),
    "studies/summaries.py": ("studies/test_standing.py", "studies/test_studies.py"),
    "studies/tabulated.py": ("studies/test_options.py",),
    "studies/why.py": ("studies/test_standing.py",),
    "reports/figures.py": ("reports/test_drawn.py",),
    "reports/page/*.py": ("reports/test_pages.py", "reports/test_report.py", "reports/test_drawn.py"),
    "reports/paper/*.py": ("experiments/test_paper.py",),
    "reports/rendering.py": ("reports/test_report.py",),
    "service/answers.py": ("service/test_described.py", "service/test_guards.py"),
    "service/application.py": ("service/test_roles.py", "service/test_ticking.py"),
    "service/metrics.py": ("service/test_guards.py",),
    "service/models.py": ("service/test_routes.py", "service/test_described.py"),
    "service/owed.py": ("service/test_client.py",),
    "service/problems.py": ("service/test_guards.py", "service/test_routes.py"),
    "service/wire.py": ("service/test_client.py",),
    "service/pages.py": ("service/test_page_routes.py", "service/test_browser.py"),
    "worlds/*.py": ("worlds/test_network.py", "catalog/test_continuous.py"),
}
"""Modules that are tested through others, and where."""

MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if not path.stem.startswith("__"))
FILES = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def mirrors_of(module: Path) -> list[Path]:
    """The files that mirror a module: its own, or that of its folder."""
    own = [module.parent / f"test_{module.name}"]
    return own + ([module.parent.parent / f"test_{module.parent.name}.py"] if module.parent.name else [])


MIRRORED = {file for module in MODULES for file in mirrors_of(module)}


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_test_file_is_where_what_it_tests_is(file: Path) -> None:
    kinds = [file in MIRRORED, file.parts[0] in OWN_KINDS, file.as_posix() in TOPICS]
    assert sum(kinds) == 1, f"{file}: give it the path of a module, or list it as a topic with what it is about"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_is_tested_by_the_file_of_its_path_or_says_where(module: Path) -> None:
    mirrored = any((TESTS / file).is_file() for file in mirrors_of(module))
    through = [
        pattern
        for pattern in THROUGH
        if fnmatch(module.as_posix(), pattern) and pattern.count("/") == len(module.parts) - 1
    ]
    assert mirrored or through, f"{module} has no test of its path; write it, or list where it is tested"
    assert not mirrored or all("*" in pattern for pattern in through), f"{module} has its own test: do not list it"


def test_what_is_listed_exists() -> None:
    assert [name for name in TOPICS if not (TESTS / name).is_file()] == []
    assert [name for name in OWN_KINDS if not (TESTS / name).is_dir()] == []
    assert [name for names in THROUGH.values() for name in names if not (TESTS / name).is_file()] == []
    unused = [pattern for pattern in THROUGH if not any(fnmatch(module.as_posix(), pattern) for module in MODULES)]
    assert unused == []
