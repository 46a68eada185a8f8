"""Parts of a note that not every run has: the one page, figures without weight in an appendix, how a series was revised."""

import io
import os
import re
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from docx import Document
from docx.shared import Cm
from PIL import Image

from tests.command_line import run_cli, run_ok
from tests.engine.test_note import docx_text
from tests.fakes.html_reader import Page
from tests.fakes.screens import RUN, add_revised_call, make_run
from workbench.engine.record.fold import load_state
from workbench.propositions import Belief
from workbench.reports.note_content import ONE_PAGE_DRIVERS, note_of
from workbench.reports.note_markdown import note_markdown
from workbench.reports.note_page import note_html
from workbench.reports.note_pdf import print_pdf
from workbench.reports.note_plots import Plot
from workbench.reports.note_tree import Cell, Drivers, Headline, Note, Picture, Series, Table
from workbench.reports.note_word import note_docx
from workbench.store import Store

BESIDE = "Shown for comparison, with weight 0: linear 1.000, walk 0.510."
FORMS = ("html", "docx", "md")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run one of whose drivers read a revised series."""
    place = tmp_path_factory.mktemp("parts") / "home"
    make_run(place)
    with closing(Store(place)) as store:
        add_revised_call(store)
    return place


def note_with_a_comparison(home: Path, *, one_page: bool = False) -> Note:
    with closing(Store(home)) as store:
        state = load_state(store, RUN)
        report = f"The record gives even odds. {BESIDE} What is weak: few windows."
        state.tree = state.tree.with_belief("P2.1", Belief(p=0.5, key_factor="Even odds.", report=report))
        return note_of(store, state, one_page=one_page)


def text_in(form: str, note: Note) -> str:
    match form:
        case "html":
            text = Page(note_html(note)).text
        case "docx":
            text = docx_text(note_docx(note))
        case _:
            text = re.sub(r"\\(.)", r"\1", note_markdown(note))
    return " ".join(text.split())


@pytest.mark.parametrize("form", FORMS)
def test_figures_without_weight_stand_in_the_appendix_and_nowhere_else(home: Path, form: str) -> None:
    text = text_in(form, note_with_a_comparison(home))
    assert text.count("with weight 0: linear 1.000") == 1
    before, _, after = text.partition("Appendix: shown for comparison")
    assert BESIDE in after and BESIDE not in before
    assert "The record gives even odds." in before and "What is weak: few windows." in before


@pytest.mark.parametrize("form", FORMS)
def test_one_page_has_what_a_reader_decides_by_and_says_where_the_rest_is(home: Path, form: str) -> None:
    note = note_with_a_comparison(home, one_page=True)
    text = text_in(form, note)
    whole = text_in(form, note_with_a_comparison(home))
    (drivers,) = (block for block in note.blocks if isinstance(block, Drivers))
    for needed in (note.title, "base rate", note.mark, *(each.statement for each in drivers.rows)):
        assert " ".join(needed.split()) in text, needed
    assert 0 < len(drivers.rows) <= ONE_PAGE_DRIVERS
    for heading in ("Every number in full", "Evidence", "What it rests on", "Appendix"):
        assert heading in whole and heading not in text, heading
    assert f"workbench export {RUN}" in text
    assert len(text) < len(whole) / 2


def test_one_page_is_an_option_of_a_note_and_of_nothing_else(home: Path, tmp_path: Path) -> None:
    # run_cli's folder is the one around the data folder
    page, package = tmp_path / "note.md", tmp_path / "run.zip"
    run_ok(home.parent, "export", RUN, "--one-page", "-o", str(page))
    assert "What it hinges on" in page.read_text() and "## Evidence" not in page.read_text()
    refused = run_cli(home.parent, "export", RUN, "--one-page", "-o", str(package))
    assert (
        refused.returncode == 2
        and "only a note can be cut to one page" in refused.stderr
        and not package.exists()
    )


@pytest.mark.long
@pytest.mark.browser
def test_one_page_prints_on_one_page(home: Path) -> None:
    pages = re.compile(rb"/Type\s*/Page\b(?!s)")
    note = note_with_a_comparison(home, one_page=True)
    assert any(isinstance(block, Series) for block in note.blocks), "the series has its place on the page"
    counted = "On 114 past dates (12 independent) this way of forecasting did no better than the base rate: take the base rate (gain in Brier Index +0.1, 95% interval 0.0 to +3.2)"
    more = [("record", counted), ("outcome", "no on 2018-12-31, says its series; Brier score 0.414")]
    full = replace(
        note,
        blocks=[
            replace(block, facts=[*block.facts, *more]) if isinstance(block, Headline) else block
            for block in note.blocks
        ],
    )
    for each in (note, full):
        assert len(pages.findall(print_pdf(note_html(each), os.environ))) == 1
    assert len(pages.findall(print_pdf(note_html(note_with_a_comparison(home)), os.environ))) > 1


def with_a_tall_plot(note: Note) -> Note:
    buffer = io.BytesIO()
    Image.new("RGB", (200, 2000), "white").save(buffer, "PNG")
    tall = Plot(png=buffer.getvalue(), caption="A tall picture", width=200, height=2000)
    return replace(note, blocks=[*note.blocks, Picture(tall)])


def deep(note: Note) -> Note:
    """A tree of fifteen levels, each with the longest id that it can have at a look."""
    rows = [
        [Cell(text="It rains", id="P1" + ".1" * level, depth=level), Cell(text="50.0%")]
        for level in range(15)
    ]
    tree = Table(("claim and drivers", "probability"), rows, (0.84, 0.16), "tree")
    return replace(note, blocks=[*note.blocks, tree])


@pytest.mark.parametrize("shape", ["as it is", "one page", "tall plot", "deep tree"])
def test_the_word_document_fits_its_page(home: Path, shape: str) -> None:
    note = note_with_a_comparison(home, one_page=shape == "one page")
    note = with_a_tall_plot(note) if shape == "tall plot" else deep(note) if shape == "deep tree" else note
    document = Document(io.BytesIO(note_docx(note)))
    (section,) = document.sections
    assert section.page_width and section.page_height and section.left_margin and section.right_margin
    room = section.page_width - section.left_margin - section.right_margin
    text_height = section.page_height - (section.top_margin or 0) - (section.bottom_margin or 0)
    assert document.tables
    for table in document.tables:
        widths = [int(column.width or 0) for column in table.columns]
        # Word goes by the cells, LibreOffice by the columns; both by a fixed layout, which long words cannot widen
        assert not table.autofit and 0 < sum(widths) <= room + Cm(0.01)
        assert all([int(cell.width or 0) for cell in row.cells] == widths for row in table.rows)
        for row in table.rows:
            assert "w:cantSplit" in row._tr.xml
            for cell, width in zip(row.cells, widths, strict=True):
                indent = cell.paragraphs[0].paragraph_format.left_indent or 0
                assert indent < width / 3, "what is indented keeps two thirds of its column"
        if "w:tblHeader" in table.rows[0]._tr.xml:
            assert all(cell.text for cell in table.rows[0].cells), "a column without a name"
    for picture in document.inline_shapes:
        assert picture.width <= room + Cm(0.01) and picture.height <= text_height / 2
        assert picture._inline.docPr.get("descr")
    styles = [each.style.name for each in document.paragraphs if each.style and each.text]
    assert styles[0] == "Title" and styles.count("Title") == 1
    levels = [int(name[-1]) for name in styles if name and name.startswith("Heading")]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels)), (
        "a level is skipped"
    )
    assert all(document.styles[f"Heading {level}"].paragraph_format.keep_with_next for level in (1, 2))
    for place, paragraph in enumerate(document.paragraphs):
        if paragraph._p.xpath(".//pic:pic"):  # its words stay beside it
            assert paragraph.paragraph_format.keep_with_next and document.paragraphs[place + 1].text
