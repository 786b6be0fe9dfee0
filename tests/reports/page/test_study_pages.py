"""Pages of live studies: what the numbers are, on the page and in its figures; unsettled outcomes are counts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairarm import load_problem
from fairarm.beliefs.findings import Level
from fairarm.reports.known import KnownArm, KnownRow
from fairarm.reports.page.study import SeenStudy, study_page
from fairarm.reports.page.study_arm import MOST_DRAWN, arm_page
from fairarm.reports.page.study_charts import MOST_COHORTS, MOST_CURVES, Course, course_figure, most_probable
from fairarm.reports.page.study_list import list_page
from fairarm.reports.page.study_rows import RowState, row_states
from fairarm.reports.page.write import render
from page_tree import Element, read_page, table_rows
from reports.made_studies import VOIDS, seen_study

pytestmark = pytest.mark.xdist_group("study pages")


def read(page: object) -> Element:
    from markupsafe import Markup

    return read_page(render("page.html.j2", page=page, drawn=Markup))


@pytest.fixture(scope="module")
def seen() -> SeenStudy:
    return seen_study()


def tables(page: Element) -> dict[str, Element]:
    return {table.all("thead")[0].all("th")[0].text + str(i): table for i, table in enumerate(page.all("table"))}


def test_the_first_screen_comes_first_and_in_order(seen: SeenStudy) -> None:
    page = study_page(replace(seen, findings=(VOIDS,)))
    assert [section.title for section in page.sections][:3] == ["Findings", "People", "Arms"]
    assert [section.title for section in page.sections][3:7] == [
        "Cohort by cohort", "Who was served with what", "What is watched", "Events",
    ]  # fmt: skip
    assert page.boxes[0].headline.startswith("Not certified yet. Most likely")
    assert "Cohort 4 is settled in" in page.boxes[0].headline


def test_people_of_every_cohort_are_in_the_table_and_the_figure(seen: SeenStudy) -> None:
    page = read(study_page(seen))
    rows = table_rows(next(t for t in page.all("table") if "waited for" in t.text))
    assert [row["cohort"] for row in rows] == ["5", "4", "3", "2", "1", "0"]
    assert rows[0]["told"] == "60" and rows[0]["lost"] == "?" and rows[0]["waited for"] == "45"
    assert rows[-1] | {"closes": ""} == {
        "cohort": "0", "state": "settled", "cards": "125", "dealt": "100", "told": "99", "filled": "0", "lost": "1", "waited for": "0", "too late": "0",
        "closes": "",
    }  # fmt: skip
    top, bottom = page.find("people-cards-0"), page.find("people-told-0")
    per_person = float(bottom.attributes["height"]) / 99
    assert float(page.find("people-lost-0").attributes["height"]) == pytest.approx(per_person, abs=0.02)
    assert float(page.find("people-waiting-5").attributes["height"]) == pytest.approx(45 * per_person, abs=0.05)
    foot = float(bottom.attributes["y"]) + float(bottom.attributes["height"])
    assert foot - float(top.attributes["y1"]) == pytest.approx(125 * per_person, abs=0.05)


def test_outcomes_that_are_not_settled_are_only_counted(seen: SeenStudy) -> None:
    early = replace(
        seen, verdict=replace(seen.verdict, settled=0, counted=0, lost=0), history=(), cohorts=seen.cohorts[4:]
    )
    text = read(study_page(early)).text
    assert "Nothing is known yet" in text and "60" in text
    values = [f"{arm.outcome:.3f}" for arm in seen.arms if arm.outcome is not None]
    assert values and not [v for v in values if v in text]
    arm = read(arm_page(early, early.arms[0])).text
    assert not [v for v in values if v in arm]


def test_certified_and_usual_ends_are_drawn_apart(seen: SeenStudy) -> None:
    page = read(study_page(seen))
    for i in range(len(seen.arms)):
        usual, certified = page.find(f"outcomes-usual-{i}"), page.find(f"outcomes-certified-{i}")
        assert float(certified.attributes["x1"]) < float(usual.attributes["x1"])
        assert float(usual.attributes["x2"]) < float(certified.attributes["x2"])


def test_findings_that_void_stand_first_and_say_so(seen: SeenStudy) -> None:
    mild = replace(VOIDS, name="loss-differs", level=Level.WARNING)
    page = read(study_page(replace(seen, findings=(mild, VOIDS))))
    cards = page.all("article")
    assert ["outcomes-drift" in card.text for card in cards] == [True, False]
    assert "Nothing is certified because of this." in cards[0].text
    assert "What is certified holds all the same." in cards[1].text


def row_of(certified: tuple[float, float] | None) -> KnownRow:
    (row,) = load_problem("ad-marketplace").problem.rows
    return KnownRow(row, 0.0, certified=certified)


@pytest.mark.parametrize(
    ("certified", "proof", "state"),
    [
        ((-0.5, 0.5), None, RowState.MET),
        ((-0.6, 0.5), None, RowState.OPEN),
        ((0.6, 0.9), None, RowState.BROKEN),
        ((-0.9, -0.6), None, RowState.BROKEN),
        ((-2.0, 2.0), None, RowState.OPEN),
        (None, None, RowState.OPEN),
        ((-2.0, 2.0), "fair", RowState.MET),
        ((-2.0, 2.0), "unfair", RowState.BROKEN),
        ((-2.0, 2.0), "worse", RowState.OPEN),
    ],
)
def test_rows_are_met_open_or_broken_by_what_is_certified(
    certified: tuple[float, float] | None, proof: str | None, state: RowState
) -> None:
    assert row_states(KnownArm("a", [row_of(certified)]), proof) == [state]


def test_many_cohorts_and_arms_are_cut_and_said_so(seen: SeenStudy) -> None:
    many = tuple(replace(seen.cohorts[0], number=number) for number in range(150))
    page = read(study_page(replace(seen, cohorts=many)))
    assert f"people-told-{MOST_COHORTS - 1}" in str([e.attributes.get("id") for e in page.walk()])
    assert f"people-told-{MOST_COHORTS}" not in [e.attributes.get("id") for e in page.walk()]
    assert "The latest 100 of 150." in page.text
    courses = [Course(f"arm-{k}", [(0, 0.1), (1, k / 20)]) for k in range(12)]
    assert [one.name for one in most_probable(courses)] == [f"arm-{k}" for k in range(6, 12)]
    assert any("6 of 12" in words for words in course_figure("best", courses, "P", "t", "d", []).caption)
    assert MOST_CURVES == 6


def test_the_page_of_an_arm_has_all_its_rows_and_draws_fifty() -> None:
    seen = seen_study(bundled="synthetic-groups:G=12")
    groups = seen.problem
    assert len(groups.rows) == 66 > MOST_DRAWN
    page = read(arm_page(seen, seen.arms[1]))
    rows = table_rows(next(t for t in page.all("table") if "condition" in t.text))
    assert len(rows) == len(groups.rows)
    drawn = [e for e in page.walk() if str(e.attributes.get("id", "")).startswith("rows-1-mean-")]
    assert len(drawn) == MOST_DRAWN and "The pictures show 50 of 66." in page.text


def test_a_list_without_studies_says_how_to_make_one() -> None:
    assert "fairarm study create" in read(list_page([], {})).text
