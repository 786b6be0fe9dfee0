"""`report`: what the pages say, that everything from outside is escaped, that a file appears whole, and the same bytes."""

from __future__ import annotations

import math
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from made_evaluations import ARMS, ASSUMPTIONS, MISSING, YOUNG, arm_of, certified, changed, evaluation, problem_of

import fairarm
from fairarm import identify, inspect, load_problem, simulate
from fairarm.beliefs.assumptions import Assumption, Statement
from fairarm.beliefs.findings import Finding
from fairarm.cli import show_evaluation
from fairarm.errors import OptionError
from fairarm.experiments.evaluate import ArmEvaluation, Estimate, Evaluation, NextPulls, ObservedGroup
from fairarm.problem.answer import Answer, Status
from fairarm.problem.outcome import Outcome
from fairarm.reports.page.evaluation import cut_note
from fairarm.reports.page.parts import HINTS, PageTable
from fairarm.reports.page.write import page_text
from fairarm.reports.words import left_to_learn, percent, value, weight, whole
from page_tree import Element, read_page, table_rows

ORDER = (
    "Answer, by probability",
    "Certified",
    "What was noticed in the log",
    "How good each arm is",
    "How fair each arm is",
    "Can the log speak for the arms?",
    "The plain gap in the log",
    "All numbers",
    "What to pull next",
    "What all this assumes",
    'What "fair" does not mean',
    "How it was made",
)
NASTY = (
    "<script>alert(1)</script>",
    "$x_1$ & \"b\" 'c'",
    'id="y" href="#z" url(#w) #010001',
    "</svg><b>bold",
    "{{ 7 * 7 }}",
    "漢字の腕",
)


def page_of(result: Any) -> Element:
    return read_page(page_text(result))


def headings(page: Element) -> list[str]:
    return [e.text for e in page.walk() if e.tag == "h2"]


def section(page: Element, title: str) -> Element:
    (found,) = [e for e in page.all("section") if e.all("h2")[0].text == title]
    return found


def facts(page: Element) -> dict[str, str]:
    (listed,) = page.all("dl")
    return {a.text: b.text for a, b in zip(listed.all("dt"), listed.all("dd"), strict=True)}


@pytest.fixture(scope="module")
def voided() -> Element:
    return page_of(evaluation())


@pytest.fixture(scope="module")
def proved() -> Element:
    return page_of(certified())


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One result of each kind."""
    coin = load_problem("coin")
    assert coin.world is not None
    run = identify(coin.problem, coin.world, pulls=300, seed=1)
    repeated = simulate(coin.problem, coin.world, algorithms=["pool", "csr-v2"], pulls=[50, 200], runs=20)
    return {
        "evaluation": evaluation(),
        "certified": certified(),
        "identification": run,
        "rejection": identify(coin.problem, coin.world, algorithm="csr-v2", pulls=300, seed=1),
        "simulation": repeated,
        "inspection": inspect(coin.problem, coin.world, limit=True),
        "inspection without a world": inspect(coin.problem),
    }


@pytest.fixture(scope="module")
def texts(results: dict[str, Any]) -> dict[str, str]:
    """The pages of these results."""
    return {kind: page_text(given) for kind, given in results.items()}


# ---- what the page of an evaluation says ----


def test_sections_come_in_the_order_in_which_people_ask(voided: Element) -> None:
    assert tuple(headings(voided)) == ORDER


def test_the_answer_says_how_sure(voided: Element) -> None:
    answer = section(voided, ORDER[0]).text
    sure = "with probability 0.95 or more it is fair, and no fair arm is better by more than 0.02."
    assert f"by-need is the best fair arm: {sure}" in answer
    assert "The outcome of by-need is 0.5500 (95 % interval 0.5200 to 0.5800) and its gap -0.0300" in answer
    assert "Recommended: by-need (probability 0.953; next never-tried, 0.040)." in answer
    assert "ertified" not in answer


def test_nothing_is_certified_and_why(voided: Element) -> None:
    assert section(voided, "Certified").text == (
        "Certified Nothing is certified: the log has the finding 'missing-outcomes'."
    )


def test_what_is_certified_stands_apart(proved: Element) -> None:
    box = section(proved, "Certified").text
    condition = "wrong with probability at most 0.05 if what it rests on (below) holds."
    assert f"Certified: by-need is the best fair arm, {condition}" in box
    assert "Certified fair: current, by-need. Certified unfair: by-sex (toward man)." in box
    assert "osterior" not in box


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            Status.NO_FAIR_ARM,
            "Certified: no arm is fair, wrong with probability at most 0.05 if what it rests on (below) holds.",
        ),
        (Status.UNDECIDED, "Not certified at confidence 0.95 which arm is best: more than one answer is left."),
    ],
)
def test_other_certified_answers(status: Status, said: str) -> None:
    page = page_of(certified(certified_status=status, certified_arm=None))
    assert said in section(page, "Certified").text


def test_undecided_says_why_and_what_is_recommended(capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluation(status=Status.UNDECIDED, arm=None, reasons=("arms-too-close",), probability=0.6)
    page = page_of(found)
    lines = (
        "Undecided. It is not sure enough which fair arm is best.",
        "Recommended: by-need (probability 0.600; next never-tried, 0.040).",
    )
    show_evaluation.evaluation(found)
    shown = " ".join(capsys.readouterr().out.split())
    for line in lines:
        assert line in section(page, ORDER[0]).text and line in shown
    assert "★" not in page.text and "★" in page_of(evaluation()).text


def test_a_blocking_warning_and_no_fair_arm_are_said() -> None:
    blocked = evaluation(status=Status.UNDECIDED, arm=None, reasons=("blocking-warning",), blocked_by=("rows-alike",))
    assert "Undecided. The warning 'rows-alike' blocks the answer." in section(page_of(blocked), ORDER[0]).text
    none = evaluation((ARMS[0],), status=Status.NO_FAIR_ARM, arm=None, probability=0.99)
    answer = section(page_of(none), ORDER[0]).text
    assert "No arm is fair, with probability 0.95 or more." in answer and "Recommended: no fair arm" in answer
    nothing = evaluation(status=Status.UNDECIDED, arm=None, recommended=Answer(Status.UNDECIDED), probability=None)
    assert "No arm is recommended (probability of no fair arm 0.004" in section(page_of(nothing), ORDER[0]).text


def test_an_answer_that_the_log_does_not_speak_for_is_marked() -> None:
    found = evaluation(arm="never-tried")
    assert "Beware of never-tried: the log does not speak for it" in section(page_of(found), ORDER[0]).text


def test_every_finding_with_its_count_message_and_examples(voided: Element) -> None:
    cards = voided.all("article")
    assert len(cards) == 2
    for card, finding in zip(cards, (MISSING, YOUNG), strict=True):
        assert card.all("h3")[0].text == f"{finding.name} {finding.rows} rows"
        assert finding.message in card.text
        assert [e.text for e in card.all("li")] == list(finding.examples)
    assert "⚠ blocks certification" in cards[0].text
    assert "info" in cards[1].text
    assert "12,000 rows were read and 11,929 used (99.41 %)." in voided.text


def test_a_log_without_findings() -> None:
    assert "Nothing wrong was found." in section(page_of(certified(findings=())), ORDER[2]).text


def test_every_number_of_every_arm_is_in_the_tables(proved: Element) -> None:
    outcomes, gaps, support = (table_rows(table) for table in section(proved, "All numbers").all("table"))
    order = ["★ by-need", "never-tried", "lottery", "current", "by-sex"]
    assert [row["arm"] for row in outcomes] == [row["arm"] for row in gaps] == [row["arm"] for row in support] == order
    assert outcomes[0] == {
        "arm": "★ by-need", "mean days (from 0 to 1)": "0.5500", "95 % interval": "0.5200 to 0.5800",
        "certified interval": "0.4700 to 0.6300", "best": "0.953",
    }  # fmt: skip
    assert gaps[4] == {
        "arm": "by-sex", "gap woman - man, in days (from 0 to 1)": "+0.2500", "95 % interval": "+0.2300 to +0.2700",
        "certified interval": "+0.1900 to +0.3100", "fair": "0.020", "certified": "unfair",
    }  # fmt: skip
    assert support[1] == {
        "arm": "never-tried", "log speaks": "no", "effective rows": "3", "largest weight": "810", "overlap": "0.040",
        "unseen": "0.700", "own rows": "0", "mechanism": "declared",
    }  # fmt: skip
    assert support[2]["mechanism"] == "fitted"


def test_without_certified_intervals_the_tables_say_none(voided: Element) -> None:
    outcomes, gaps, _ = (table_rows(table) for table in section(voided, "All numbers").all("table"))
    assert {row["certified interval"] for row in (*outcomes, *gaps)} == {"none"}
    assert {row["certified"] for row in gaps} == {"no"}


def test_the_plain_gap_and_how_it_differs(voided: Element) -> None:
    text = section(voided, "The plain gap in the log").text
    assert (
        "woman 0.4370 (6100 rows), man 0.3810 (5829 rows). Plain gap woman - man: +0.0560 (its interval is not known: days"
        in text
    )
    assert "The plain gap is what the deployed arm, current, did in these rows, chance included." in text
    assert "Under by-need the gap is -0.0300 (-0.0500 to -0.0100): 0.0260 smaller in size." in text
    rows = table_rows(section(voided, "The plain gap in the log").all("table")[0])
    assert rows == [
        {"group": "woman", "rows": "6,100", "mean days (from 0 to 1)": "0.4370"},
        {"group": "man", "rows": "5,829", "mean days (from 0 to 1)": "0.3810"},
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (1, "(no interval: a group has fewer than two rows)"),
        (2, "(its interval is not known: days (from 0 to 1) varies by less than about 3.8e-06, if at all"),
    ],
)
def test_why_the_plain_gap_has_no_interval(rows: int, said: str) -> None:
    found = evaluation(
        observed=(ObservedGroup("woman", 10, 0.5), ObservedGroup("man", rows, 0.5)), plain_gap_interval=None
    )
    assert said in section(page_of(found), "The plain gap in the log").text


def test_the_plain_gap_where_a_group_has_no_rows() -> None:
    found = evaluation(observed=(ObservedGroup("woman", 10, 0.5), ObservedGroup("man", 0, None)))
    page = page_of(found)
    assert "The log has no natural rows of man: there is no plain gap to compare with." in page.text
    assert "Dotted" not in page.text


@pytest.mark.parametrize(
    ("rows", "said"), [((5, 7), "the 2 arms that made the log together (current, by-need)"), ((0, 0), "the rule that made the log, which need not be an arm"), ((0, 3), "the arm that made the log, by-need,")]
)  # fmt: skip
def test_who_made_the_rows(rows: tuple[int, int], said: str) -> None:
    arms = tuple(replace(arm, rows=number) for arm, number in zip(ARMS, rows, strict=False))
    assert said in section(page_of(evaluation(arms)), "The plain gap in the log").text


def test_next_pulls_say_whom(voided: Element) -> None:
    rows = table_rows(section(voided, "What to pull next").all("table")[0])
    assert rows == [
        {"arm": "by-need", "whom": "natural: people as they come", "share": "60%"},
        {"arm": "never-tried", "whom": "woman: people recruited because sex is woman", "share": "40%"},
    ]


@pytest.mark.parametrize("changes", [{"next_pulls": ()}, {"probability": 0.9995}])
def test_nothing_left_to_pull(changes: dict[str, Any]) -> None:
    said = section(page_of(evaluation(**changes)), "What to pull next").text
    assert (
        "By the posterior, nothing is left to learn about which arm is best. For a certified answer, more rows" in said
    )


@pytest.mark.parametrize("probability", [0.9, 0.9995])
def test_what_is_left_to_learn_goes_with_what_is_certified(probability: float) -> None:
    """Never "nothing is left to learn" beside "not certified which arm is best", without saying for which sureness."""
    done = certified(probability=probability)
    assert left_to_learn(done) == "Nothing is left to learn about which arm is best: it is certified."
    open_ = certified(probability=probability, certified_status=Status.UNDECIDED, certified_arm=None)
    if probability < 0.99:
        assert left_to_learn(open_) is None
    else:
        assert "A certified answer needs more rows" in str(left_to_learn(open_))
    other = certified(probability=probability, certified_arm="current")  # proved is not what is most probable
    assert "it is certified" not in str(left_to_learn(other))


def test_every_assumption_and_what_was_fitted(voided: Element) -> None:
    listed = [e.text for e in section(voided, "What all this assumes").all("li")]
    assert listed[:3] == list(ASSUMPTIONS)
    assert listed[3].startswith("The mechanism of arm 'lottery' is fitted from 210 rows, at least 12")


def test_what_fair_does_not_mean_and_how_it_was_made(voided: Element) -> None:
    assert len(section(voided, ORDER[10]).all("li")) == 6
    assert "An arm that is fair for sex may be unfair for another attribute" in section(voided, ORDER[10]).text
    assert facts(voided) == {
        "problem": "ward", "arms": "5", "tolerance": "0.1", "log": "ward-2024.parquet", "engine": "duckdb",
        "rows read": "12,000", "rows used": "11,929", "method": "cell means", "certified by": "not certified",
        "confidence": "0.95", "seed": "3", "fairarm": fairarm.__version__,
    }  # fmt: skip


def test_arms_that_the_log_speaks_for(voided: Element) -> None:
    figure = section(voided, "Can the log speak for the arms?")
    assert "The log speaks for 3 of 5 arms, weakly for 1, and not for 1." in figure.text
    texts = [e.text for e in voided.find("figure-overlap").all("text")]
    assert "no, 3 rows, weight 810" in texts
    assert "weakly, 60 rows, weight 12" in texts


def many(number: int) -> Evaluation:
    arms = tuple(
        arm_of(f"arm-{k}", 0.3 + 0.4 * k / number, 0.0, best_probability=k / number**2, effective_rows=1.0 * k) for k in range(number)
    )  # fmt: skip
    return evaluation(arms, arm=f"arm-{number - 1}")


def test_with_many_arms_figures_show_the_most_probable_and_say_so() -> None:
    page = page_of(many(75))
    said = "The picture shows the 60 most probable of 75 arms; the table has all."
    for name in ("outcomes", "gaps", "overlap"):
        figure = page.find(f"figure-{name}")
        for drawn in figure.all("svg"):
            shown = {e.text.removeprefix("★ ") for e in drawn.all("text")} & {f"arm-{k}" for k in range(75)}
            assert shown == {f"arm-{k}" for k in range(15, 75)}
        assert said in figure.text
    for table in section(page, "All numbers").all("table"):
        assert len(table_rows(table)) == 75


@pytest.mark.parametrize(("arms", "notes"), [(1, 0), (60, 0), (61, 1)])
def test_nothing_is_said_where_all_arms_are_shown(arms: int, notes: int) -> None:
    assert len(cut_note(arms)) == notes


# ---- anything a log may hold ----


def nasty() -> Evaluation:
    arms = tuple(arm_of(name, 0.4 + 0.02 * k, 0.01 * k) for k, name in enumerate(NASTY))
    mean = '</style><img src="x" onerror="y">'
    finding = Finding("undeclared-states", f"3 rows hold {mean}", 3, (mean, "<!-- ", "a\x00b\udce9"))
    found = evaluation(
        arms,
        findings=(finding,),
        log=f"/data/{mean}\udce9.csv",
        assumptions=(Statement(Assumption.LEFT_OUT_BY, {"column": mean}),),
        next_pulls=(NextPulls(NASTY[0], "natural", 1.0),),
        fitted_logging_arm=mean,
    )
    return changed(found, problem=problem_of(NASTY, sensitive="<i>sex</i>"))


def test_everything_from_outside_is_escaped(tmp_path: Path) -> None:
    text = fairarm.report(nasty(), tmp_path / "nasty.html").read_text(encoding="utf-8")
    page = read_page(text)
    assert not {e.tag for e in page.walk()} & {"script", "img", "b", "i"}
    assert not [name for e in page.walk() for name in e.attributes if name.startswith("on")]
    assert "<!--" not in text
    for table in section(page, "All numbers").all("table"):
        assert [row["arm"].removeprefix("★ ") for row in table_rows(table)] == list(reversed(NASTY))
    assert page.all("article")[0].all("li")[0].text == '</style><img src="x" onerror="y">'
    labels = [e.text.removeprefix("★ ") for e in page.find("figure-outcomes").all("svg")[0].all("text")]
    assert set(NASTY) <= {*labels, NASTY[2]}
    assert any(label.startswith('id="y"') and label.endswith("#010001") for label in labels)


def test_what_cannot_be_seen_is_written_as_what_it_is() -> None:
    """Controls and marks that turn the direction of writing, in a table as in a figure."""
    hidden = "a\x1b[31m\x07b\x85\u202egnip\u2066\u200f\x00\udce9"
    arms = (ARMS[0], arm_of(hidden, 0.5, 0.0))  # which a problem would refuse
    found = changed(evaluation(), arms=arms, findings=(Finding("f", hidden, 1, (hidden,)),), arm=hidden)
    text = page_text(found)
    assert not [c for c in text if not (c.isprintable() or c == "\n")]
    seen = r"a\x1b[31m\x07b\x85\u202egnip\u2066\u200f\x00\udce9"
    page = read_page(text)
    assert f"★ {seen}" in [row["arm"] for row in table_rows(section(page, "All numbers").all("table")[0])]
    assert page.all("article")[0].all("li")[0].text == seen
    assert any(e.text.startswith(r"★ a\x1b[31m") for e in page.find("figure-outcomes").all("text"))


def test_numbers_that_are_not_known_are_question_marks() -> None:
    nothing = Estimate(math.nan, math.nan, math.nan, None, None)
    blank = replace(arm_of("blank", 0.5, 0.0), outcome=nothing, gap=nothing, effective_rows=math.nan, overlap=math.nan, unseen=math.nan, largest_weight=math.nan)  # fmt: skip
    for arms in ((blank,), (ARMS[0], blank)):
        page = page_of(evaluation(arms, arm=None, status=Status.NO_FAIR_ARM))
        rows = {row["arm"]: row for row in table_rows(section(page, "All numbers").all("table")[0])}
        assert rows["blank"]["mean days (from 0 to 1)"] == "?"
        assert "nan" not in page.text


def test_one_arm_with_intervals_of_no_width() -> None:
    point = Estimate(0.5, 0.5, 0.5, 0.5, 0.5)
    sure: ArmEvaluation = replace(arm_of("only", 0.5, 0.0), outcome=point, gap=Estimate(0.0, 0.0, 0.0, 0.0, 0.0))
    assert "only" in page_of(evaluation((sure,))).find("figure-outcomes").text


# ---- units and digits ----


def scaled(factor: float, outcome: Outcome, tolerance: float) -> Evaluation:
    """The same in another unit."""

    def of(number: Estimate) -> Estimate:
        ends = (number.low, number.high, number.certified_low, number.certified_high)
        return Estimate(factor * number.value, *(None if x is None else factor * x for x in ends))  # type: ignore[arg-type]

    arms = tuple(replace(arm, outcome=of(arm.outcome), gap=of(arm.gap)) for arm in ARMS)
    observed = tuple(
        ObservedGroup(g, n, factor * mean) for g, n, mean in (("woman", 6100, 0.437), ("man", 5829, 0.381))
    )
    found = certified(arms=arms, observed=observed)
    return changed(found, problem=problem_of(found.problem.arm_names, tolerance, outcome=outcome))


@pytest.mark.parametrize(
    ("factor", "outcome", "tolerance", "unit", "mean", "gap", "plain"),
    [
        (30_000.0, Outcome("cost", values=(0, 120_000)), 3000.0, "cost (from 0 to 120,000)", "16,500 (15,600 to 17,400)", "-900 (-1,500 to -300)", "+1,680"),
        (0.008, Outcome("click", values=(0, 1)), 0.0008, "click (from 0 to 1)", "0.00440 (0.00416 to 0.00464)", "-0.00024 (-0.00040 to -0.00008)", "+0.00045"),
        (1.0, Outcome("days", values=(0, 1)), 0.1, "days (from 0 to 1)", "0.5500 (0.5200 to 0.5800)", "-0.0300 (-0.0500 to -0.0100)", "+0.0560"),
    ],
)  # fmt: skip
def test_numbers_have_their_unit_and_the_digits_that_are_known(
    factor: float, outcome: Outcome, tolerance: float, unit: str, mean: str, gap: str, plain: str
) -> None:
    page = page_of(scaled(factor, outcome, tolerance))
    outcomes, gaps = (table_rows(table) for table in section(page, "All numbers").all("table")[:2])
    assert f"mean {unit}" in outcomes[0] and f"gap woman - man, in {unit}" in gaps[0]
    assert f"{outcomes[0][f'mean {unit}']} ({outcomes[0]['95 % interval']})" == mean
    assert f"{gaps[0][f'gap woman - man, in {unit}']} ({gaps[0]['95 % interval']})" == gap
    for name, written in (("outcomes", mean), ("gaps", gap)):
        wide, narrow = ([e.text for e in svg.all("text")] for svg in page.find(f"figure-{name}").all("svg"))
        assert written in wide and written.split()[0] in narrow
        for texts in (wide, narrow):
            assert unit in " ".join(texts)
    assert gap in section(page, ORDER[0]).text
    assert f"plain gap in the log, {plain}." in page.text


# ---- a table on a phone ----


def table_of(columns: int, name: str = "arm", cell: str = "0.5500 to 0.6000") -> PageTable:
    heads = ("arm", *(f"c{i}" for i in range(columns)))
    return PageTable("A table", heads, [(name, *[cell] * columns)])


def test_a_table_wider_than_the_screen_says_so() -> None:
    assert table_of(1).hint is None
    hints = [table_of(columns).hint or 0 for columns in range(1, 9)]
    assert hints == sorted(hints) and hints[3] >= 28 and hints[-1] == HINTS[-1]
    words = PageTable("t", ("arm", "why"), [("a", "a long reason of many words that is broken over lines")], ("why",))
    assert words.hint is None or words.hint < 24


def test_the_hint_is_seen_only_on_narrow_screens(voided: Element) -> None:
    text = page_text(evaluation())
    assert re.search(r"\.hint \{ display: none", text)
    hints = [e for e in voided.all("p") if e.attributes.get("class", "").startswith("hint ")]
    assert len(hints) >= 4 and all("wider than the screen" in e.text for e in hints)
    screens = {e.attributes["class"].removeprefix("hint hint-") for e in hints}
    assert (
        set(re.findall(r"@media screen and \(max-width: (\d+)rem\) \{ \.hint-\1 \{ display: block; \} \}", text))
        == screens
    )


# ---- every page ----

KINDS = (
    "evaluation", "certified", "identification", "rejection", "simulation",
    "inspection", "inspection without a world",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_needs_nothing_from_outside(texts: dict[str, str], kind: str) -> None:
    text = texts[kind]
    page = read_page(text)
    assert re.search(r"https?:|//[a-z]|@import|\bsrc=|javascript:", text) is None
    assert not {e.tag for e in page.walk()} & {"script", "link", "iframe", "img", "object", "base"}
    targets = [e.attributes["href"] for e in page.walk() if "href" in e.attributes]
    assert all(target.startswith(("#", "data:image/png;base64,")) for target in targets)
    ids = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    used = {t[1:] for t in targets if t.startswith("#")} | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(ids)
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy.attributes["content"].startswith("default-src 'none'")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_can_be_read_aloud(texts: dict[str, str], kind: str) -> None:
    page = read_page(texts[kind])
    assert page.all("html", lang="en") and page.all("meta", name="viewport")
    assert len(page.all("h1")) == len(page.all("title")) - len(page.all("svg")) == 1
    named = {e.attributes["id"]: e.text for e in page.walk() if "id" in e.attributes}
    for element in (e for e in page.walk() if "aria-labelledby" in e.attributes):
        assert all(named[id] for id in element.attributes["aria-labelledby"].split())
    for drawn in page.all("svg"):
        assert drawn.attributes["role"] == "img"
        assert [e.tag for e in drawn.children[:2] if isinstance(e, Element)] == ["title", "desc"]
    for table in page.all("table"):
        heads = table.all("thead")[0].all("th")
        assert heads and all(head.attributes["scope"] == "col" for head in heads)
        assert all(row.all("th", scope="row") for row in table.all("tbody")[0].all("tr"))
    levels = [int(e.tag[1]) for e in page.walk() if re.fullmatch("h[1-6]", e.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_same_result_gives_the_same_page(results: dict[str, tuple[Any, Any]], texts: dict[str, str]) -> None:
    for kind in ("evaluation", "identification", "simulation", "inspection"):
        assert page_text(results[kind]) == texts[kind], kind


def test_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    """Hashes of texts, and with them the order of sets, differ from process to process."""
    code = (
        "import sys, warnings; sys.path.insert(0, sys.argv[1]); warnings.simplefilter('ignore')\n"
        "import fairarm, made_evaluations\n"
        "fairarm.report(made_evaluations.certified(), sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path / "there.html")]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "1"})
    here = fairarm.report(certified(), tmp_path / "here.html")
    assert here.read_bytes() == (tmp_path / "there.html").read_bytes()


def test_no_page_needs_what_draws_plots(tmp_path: Path) -> None:
    """Every kind of page, in a process that has no matplotlib."""
    code = (
        "import sys, warnings; sys.path.insert(0, sys.argv[1]); warnings.simplefilter('ignore')\n"
        "sys.modules['matplotlib'] = None\n"
        "import fairarm, made_evaluations\n"
        "from fairarm import identify, inspect, load_problem, report, simulate\n"
        "coin = load_problem('coin')\n"
        "p, w, folder = coin.problem, coin.world, sys.argv[2]\n"
        "report(made_evaluations.certified(), folder + '/evaluation.html')\n"
        "report(identify(p, w, pulls=100, seed=1), folder + '/identification.html', p)\n"
        "report(identify(p, w, algorithm='csr-v2', pulls=100, seed=1), folder + '/rejection.html', p)\n"
        "report(simulate(p, w, algorithms=['pool'], pulls=[50], runs=2), folder + '/simulation.html', p)\n"
        "report(inspect(p, w), folder + '/inspection.html')"
    )
    subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)], check=True)
    pages = {path.stem: read_page(path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()}
    assert set(pages) == {"evaluation", "identification", "rejection", "simulation", "inspection"}
    assert all(len(page.all("svg")) >= 2 for page in pages.values())


# ---- the file ----


def test_it_returns_the_path_and_takes_a_text(tmp_path: Path) -> None:
    made = fairarm.report(certified(), str(tmp_path / "Page.HTML"))
    assert made == tmp_path / "Page.HTML"
    assert made.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["Page.HTML"]


@pytest.mark.parametrize(
    ("result", "name", "said"),
    [
        (None, "a.pdf", "A report is saved as .html; got 'a.pdf'."),
        (None, "html", "A report is saved as .html; got 'html'."),
        (None, "nowhere/a.html", "nowhere for the report does not exist. Make it first."),
        ({"arms": []}, "a.html", "what evaluate, identify, simulate or inspect returns; got dict"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, result: Any, name: str, said: str) -> None:
    with pytest.raises(OptionError, match=re.escape(said)):
        fairarm.report(certified() if result is None else result, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    with pytest.raises(OptionError, match=r"a\.html cannot be written"):
        fairarm.report(certified(), tmp_path / "a.html")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_the_old_page_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.html"
    path.write_text("old")
    seen: list[tuple[str, str, Path]] = []

    def refuse(source: Path, target: Path) -> None:
        seen.append((Path(source).read_text(encoding="utf-8"), Path(target).read_text(encoding="utf-8"), Path(source)))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OptionError, match="cannot be written: No space left on device"):
        fairarm.report(certified(), path)
    ((new, old, beside),) = seen
    assert old == path.read_text() == "old"
    assert new.rstrip().endswith("</html>")
    assert beside.parent == tmp_path
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_cannot_be_made_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.html"
    path.write_text("old")
    monkeypatch.setattr("fairarm.reports.page.write.page_text", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fairarm.report(certified(), path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.html", "old")]


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
def test_the_file_may_be_read_like_any_other(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    made = fairarm.report(certified(), tmp_path / "a.html")
    assert stat.S_IMODE(made.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


# ---- numbers as words ----


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (value(0.50764), "0.5076"), (value(None), "?"), (value(math.nan), "?"), (value(math.inf), "inf"),
        (value(12345.678), "12345.7"), (value(-0.03, "+.4f"), "-0.0300"), (value(0.0, "+.4f"), "+0.0000"),
        (whole(11929.4), "11,929"), (whole(math.nan), "?"), (percent(0.95), "95 %"), (percent(0.975), "97.5 %"),
        (weight(2.514), "2.51"), (weight(12345.0), "12,345"), (weight(math.nan), "?"),
    ],
)  # fmt: skip
def test_numbers(said: str, expected: str) -> None:
    assert said == expected
