"""`AsOfText`: edits of later go, in every form; what an honest asker wrote stays, deadlines ahead included."""

from dataclasses import replace

import pytest

from proxies.asof.asof_text import NO_TEXT, AsOfText, as_of, without_later
from proxies.asof.clock import Cutoff
from tests.proxies.honest_texts import CUTOFF, TEMPLATES, honest_texts

DAY = Cutoff.parse(CUTOFF.isoformat())
BASE = "Resolves Yes if the cabinet resigns by December 31, 2024."
#: Things that somebody wrote after the cutoff: marks with their dates, without, in other languages; and no mark at all.
LATER = (
    "[Edited on March 1, 2024] The cabinet resigned on February 27, 2024; this counts.", "[Update] it happened", "(edit: it happened)",
    "Update 2024-02-28: settled early, the cabinet resigned.", "EDIT: the cabinet resigned", "update: it happened", "Edit - it happened.",
    "(Added 3/2/24) It fell.", "(Added 3/2/24: It fell.)", "Edited to add: it happened", "Edit, Feb 28: it happened", "Edit 2: it is gone",
    "Update 12 Mar: it resigned.", "28 Feb update - it happened", "UPDATE (Feb 28): done", "March 1, 2024 update: the cabinet is gone.",
    "**Edit 3/2/24**\n\nIt resigned.", "Last edited on March 1, 2024: gone.", "[2024-03-01 edit: it resigned]", "Mod note (2/28/24): it happened",
    "Update 2024-12-27 (PST) (AI summary of creator comment): The creator has confirmed", "Additional context added on Feb 28, 2024: It's over",
    "Fine print updated on 2024-02-28: resignations count.", "Clarification (Feb 28, 2024): the resignation of Feb 27 is enough.",
    "The cabinet resigned. (Edited 2024-03-01)", "P.S. (28 Feb 2024) over",
    "UPD 12.03.2024 Кабинет ушёл.", "Обновлено 12 марта 2024: ушёл", "Mise à jour du 12 mars 2024 : le cabinet est tombé.",
    "Aktualisierung (12.03.2024): gefallen.", "Nachtrag: zurückgetreten", "Stand 28.02.2024: gefallen", "Actualización 12 de marzo de 2024: cayó.",
    "Atualização (12/03/2024): caiu", "Aggiornamento 12 marzo 2024: caduto", "更新 2024年3月12日：内阁辞职。", "追記（2024年3月12日）内閣が総辞職した。",
    "업데이트 2024년 3월 12일: 사임", "تحديث 12 مارس 2024: استقالت", "Güncelleme 12 Mart 2024: düştü", "Aktualizacja 12 marca 2024: upadł",
    "As of March 5, 2024 the cabinet is out.", "As of March 5 the cabinet is out.", "As of 3/5/2024 it is gone.",
    "The cabinet resigned on February 27, 2024.", "The cabinet resigned on February 27, 2024 at 5 p.m. ET.", "2024-02-28: the cabinet resigned",
    "The cabinet resigned on February 27, 2024 and this counts.", "Since the cabinet resigned on February 27, 2024, this resolves Yes.",
    "The cabinet, which fell on 27 February 2024, will be replaced.", "It is now March 2024 and the cabinet is gone.", "Cabinet out: 27 Feb 2024.",
    "Le cabinet a démissionné le 27 février 2024.", "El gabinete dimitió el 27 de febrero de 2024.", "Кабинет ушёл в отставку 27 февраля 2024 года.",
    "内阁于2024年2月27日辞职。", "This market resolved Yes.", "RESOLVED: YES", "Resolution: YES", "We have resolved this as yes.",
    "See https://example.org/news/2024-02-28-cabinet-falls for why.",
)  # fmt: skip


def test_the_control_is_large_enough() -> None:
    assert len(TEMPLATES) >= 100 and len(list(honest_texts())) >= 300


@pytest.mark.parametrize("opened", ["", "2024-01-02"])
def test_honest_texts_lose_nothing(opened: str) -> None:
    lost = [text for text in honest_texts() if as_of(text, DAY, opened=opened).text != text]
    assert lost == []


@pytest.mark.parametrize("gap", [" ", "\n", "\n\n"])
def test_what_was_written_later_goes_in_every_form_and_is_told(gap: str) -> None:
    for later in LATER:
        shown = as_of(f"{BASE}{gap}{later}", DAY, opened="2024-01-02")
        assert shown.text == BASE and shown.cut, later
        ahead = as_of(f"{later}\n\n{BASE}", DAY, opened="2024-01-02")
        assert ahead.text == BASE, later


def test_an_edit_that_bears_a_day_before_the_cutoff_stays() -> None:
    for early in (
        "Update 2024-01-10: a new source.",
        "[Edited on January 3, 2024] Spelling.",
        "Stand 5. Januar 2024: 120 Sitze",
    ):
        assert as_of(f"{BASE} {early}", DAY).text == f"{BASE} {early}"
    # without a year it is read against the day on which the text was new; without that it may be of later
    recent = f"{BASE} Update 10 Jan: a new source."
    assert as_of(recent, DAY, opened="2024-01-02").text == recent
    assert as_of(recent, DAY).text == as_of(recent, DAY, opened="2022-01-02").text == BASE


def test_a_mark_goes_with_its_bracket_or_its_paragraph_and_no_further() -> None:
    text = f"One. (Edit 2024-03-01: gone.) Two.\n\nUpdate 2024-03-01: gone. Really gone.\n\n{BASE}"
    assert as_of(text, DAY).text == f"One. Two.\n\n{BASE}"
    assert without_later(text, DAY) == f"One. Two.\n\n{BASE}"  # what the broker gives, too


def test_cutting_twice_cuts_once() -> None:
    for later in LATER:
        once = as_of(f"{BASE} {later}", DAY).text
        assert as_of(once, DAY).text == once
        assert not as_of(once, DAY, kind="record").cut and not as_of(once, DAY, kind="title").cut


def test_what_is_asked_may_be_in_the_past_tense_and_loses_remarks_alone() -> None:
    claim = "The S&P 500 closed higher on December 31, 2024 than on December 29, 2023"
    assert as_of(claim, DAY, kind="title").text == claim
    for title in (
        "Who won the 2024 election?",
        "US GDP growth in Q1 2025",
        "Before March 1, 2024",
        "2024-12-31",
    ):
        assert as_of(title, DAY, kind="title").text == title
    edited = "Will it fall in 2024? [Edited 2024-03-01: it did]"
    assert as_of(edited, DAY, kind="title").text == "Will it fall in 2024?"
    assert as_of("Ann (dropped out on March 3, 2024)", DAY, kind="title").text == "Ann"


def test_nothing_but_the_cut_makes_one() -> None:
    with pytest.raises(TypeError, match="as_of"):
        AsOfText("anything", DAY)
    with pytest.raises(TypeError, match="as_of"):
        replace(as_of(BASE, DAY), text="anything", made_by=None)
    live = Cutoff.parse("now")
    assert as_of(f"{BASE} EDIT: gone", live).text == f"{BASE} EDIT: gone"
    assert as_of("EDIT: gone", DAY).emptied and not NO_TEXT.emptied


def test_a_long_hostile_text_is_read_in_time() -> None:
    for text in (
        "edit " * 12_000,
        "[edit: " * 8_000,
        "EDIT\n" * 12_000,
        "( " * 20_000 + "fell on 2024-03-01",
        "2025 " * 10_000,
    ):
        as_of(text[:60_000], DAY)
