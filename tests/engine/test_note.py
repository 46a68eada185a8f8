"""The note: one fold, four documents with the same numbers, and nothing in them that runs, fetches or names another file."""

import io
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.hostile_text import RUN as HOSTILE_RUN
from tests.fakes.hostile_text import corpus, make_hostile_run
from tests.fakes.html_reader import Page
from tests.fakes.screens import RUN, figure_png, make_run
from workbench.annotations.entries import add_comment, sign_off
from workbench.annotations.outcomes import record_outcome
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.packages.export import format_of
from workbench.propositions.values import Override
from workbench.reports.full_figures import full_figures
from workbench.reports.note_content import note_of
from workbench.reports.note_markdown import note_markdown, words
from workbench.reports.note_page import driver_chart, note_html
from workbench.reports.note_pdf import CannotPrint, print_pdf
from workbench.reports.note_plots import MOST_PLOTS, proof_plots
from workbench.reports.note_tree import (
    Block,
    Driver,
    Drivers,
    Heading,
    Headline,
    Items,
    Note,
    Picture,
    Report,
    Revisions,
    Series,
    Table,
    Text,
    Verbatim,
)
from workbench.reports.note_word import note_docx
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.band import run_band
from workbench.whatif.saved_scenarios import save_scenario
from workbench.whatif.stored_reports import without_records
from workbench.whatif.tree_documents import sensitivity_report

CANARY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a scenario, a review and an outcome."""
    place = tmp_path_factory.mktemp("note") / "home"
    make_run(place)
    held = Override(author="Ann", reason="tariffs announced", at="2018-07-01T00:00:00Z")
    with closing(Store(place)) as store:
        save_scenario(
            store,
            RUN,
            "Trade war",
            [SetValue(node="P1.1", p=0.2, override=held)],
            author="Ann",
            rationale="Tariffs escalate in autumn.",
            probability=0.25,
        )
        add_comment(store, RUN, "P2.1", "Why 16?", author="Bo")
        record_outcome(store, RUN, "no", on="2018-12-31")
        sign_off(store, RUN, author="Cy", done=["all"])
    return place


@pytest.fixture(scope="module")
def note(home: Path) -> Note:
    with closing(Store(home)) as store:
        return note_of(store, load_state(store, RUN))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Note:
    place = tmp_path_factory.mktemp("hostile") / "home"
    make_hostile_run(place, CANARY)
    with closing(Store(place)) as store:
        return note_of(store, load_state(store, HOSTILE_RUN))


def docx_xml(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return {
            name: package.read(name).decode()
            for name in package.namelist()
            if name.endswith((".xml", ".rels"))
        }


def docx_text(data: bytes) -> str:
    tree = ElementTree.fromstring(docx_xml(data)["word/document.xml"])
    return " ".join("".join(part.itertext()) for part in tree.iter() if part.tag.endswith("}p"))


def documents(note: Note) -> dict[str, str]:
    """The text of each document, as a reader sees it."""
    markdown = re.sub(r"\\(.)", r"\1", note_markdown(note))
    return {"html": Page(note_html(note)).text, "docx": docx_text(note_docx(note)), "md": markdown}


# --- the numbers ----------------------------------------------------------------------------------------------------------


def texts(block: Block) -> Iterator[str]:
    """All words and numbers that a block holds, but the Markdown of a report."""
    match block:
        case Report() | Picture() | Revisions() | Series():
            return
        case Headline(p, facts):
            yield from (p, *(words for fact in facts for words in fact))
        case Drivers():
            for row in block.rows:
                yield from (row.id, row.statement, *map(percent, (row.p, row.if_false, row.if_true)))
        case Table():
            for cell in chain(*block.rows):
                yield from (cell.id, cell.text, *cell.below, *(name for name, _ in cell.links))
        case Items(lines):
            yield from lines
        case Heading(text) | Text(text) | Verbatim(_, text):
            yield text


def test_every_document_has_every_word_and_number_of_the_tree(note: Note) -> None:
    kinds = {type(block) for block in note.blocks}
    assert {Heading, Text, Headline, Drivers, Table, Items, Report, Picture} <= kinds
    for name, document in documents(note).items():
        shown = " ".join(document.split())
        for text in (note.title, note.mark, *chain.from_iterable(map(texts, note.blocks))):
            assert " ".join(text.split()) in shown, (name, text)


def test_every_number_that_stands_rounded_stands_with_all_its_digits(home: Path) -> None:
    with closing(Store(home)) as store:
        state = load_state(store, RUN)
        rows = dict(full_figures(state, state.tree.ids(), sensitivity_report(state.tree), 0.125, None, None))
    for row in sensitivity_report(state.tree)["tornado"]:
        numbers = set(map(float, re.findall(r"-?[0-9][0-9.e-]*", rows[row["id"]])))
        assert {row[name] for name in ("p", "low", "high", "path_weight", "contribution")} <= numbers
    assert rows["base rate"] == "p 0.125"
    assert all(repr(state.tree[node].p) in rows[node] for node in state.tree.ids())


def test_a_note_tells_of_scenarios_review_outcome_and_manifest(note: Note) -> None:
    told = " ".join(chain.from_iterable(map(texts, note.blocks)))
    for needed in ("Trade war", "Tariffs escalate in autumn.", "Ann, tariffs announced", "Why 16?", "Accepted by Cy", "31 December 2018)", note.manifest_id):  # fmt: skip
        assert needed in told


def test_a_band_says_where_it_comes_from_and_is_no_interval_of_the_event(home: Path, tmp_path: Path) -> None:
    with closing(Store(home)) as store:
        state = load_state(store, RUN)
        assert all("3 independent trials" not in text for text in documents(note_of(store, state)).values())
        first = state.trials["P1.1", 1]
        assert first.belief is not None
        for number, p in ((2, 0.6), (3, 0.8)):
            state.trials["P1.1", number] = replace(first, belief=replace(first.belief, p=p))
        banded, band = note_of(store, state), run_band(store, state)
    assert band is not None
    line = band.line()
    assert "3 independent trials" in line and "not how certain the event" in line and "confidence" not in line
    assert all(line in text for text in documents(banded).values())


def test_an_unfinished_run_has_a_note_that_says_so(home: Path, tmp_path: Path) -> None:
    with closing(Store(home)) as source, closing(Store(tmp_path / "home")) as store:
        started = next(item.event for item in source.events(RUN) if isinstance(item.event, ev.RunStarted))
        store.append(RUN, started)
        unfinished = note_of(store, load_state(store, RUN))
    assert all("Unfinished" in text for text in documents(unfinished).values())


def test_records_for_programs_are_left_out_of_a_report() -> None:
    report = (
        'It is likely.\n\nWhat the notebook printed:\n\n{"record": 1, "bits": "0101"}\n\nThe end: {"p": 1}'
    )
    assert without_records(report).split() == ["It", "is", "likely.", "The", "end:", '{"p":', "1}"]
    assert without_records("{not a record") == "{not a record"


# --- the chart ------------------------------------------------------------------------------------------------------------


@given(ends=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5), p=st.floats(0, 1))
def test_every_bar_lies_on_the_axis_and_the_axis_in_0_to_1(ends: list[tuple[float, float]], p: float) -> None:
    drivers = Drivers(p, [Driver(id="P1", statement="s", p=p, if_false=a, if_true=b) for a, b in ends])
    low, high = drivers.axis
    assert 0.0 <= low < high <= 1.0
    assert all(low - 1e-6 <= end <= high + 1e-6 for pair in ends for end in pair)
    for driver in drivers.rows:
        for x, width in re.findall(r'x="([-\d.]+)"[^>]* width="([-\d.]+)"', driver_chart(drivers, driver)):
            assert -1.1 <= float(x) <= 400.1 and float(width) >= 0 and float(x) + float(width) <= 401.2


# --- nothing runs, fetches, or names another file -------------------------------------------------------------------------

#: Attributes that make a viewer ask somebody for something.
_FETCHING = {
    "href",
    "src",
    "srcset",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "ping",
    "xlink:href",
}


def test_the_page_is_one_file_without_script_link_or_name_of_another(note: Note) -> None:
    page = Page(note_html(note))
    assert not {"script", "link", "iframe", "object", "form"} & set(page.tags)
    ids = {value for _, name, value in page.attributes if name == "id"}
    places = {value for tag, name, value in page.attributes if (tag, name) == ("a", "href")}
    assert places and places <= {f"#{each}" for each in ids}, "every number leads to a place on this page"
    assert [
        row
        for row in page.attributes
        if row[1] in _FETCHING and row[0] != "a" and not row[2].startswith("data:image/png;base64,")
    ] == []
    assert not re.search(r"\.(ipynb|json|html|csv|zip)\b", page.text)
    assert "://" not in note_html(note)


def test_hostile_text_is_text_in_the_page(hostile: Note) -> None:
    page = Page(note_html(hostile))
    assert not {"script", "link", "iframe", "object", "embed", "a", "form", "input", "base", "math"} & set(
        page.tags
    )
    assert [row for row in page.attributes if row[1].startswith("on")] == []
    assert [
        row
        for row in page.attributes
        if row[1] in _FETCHING and not row[2].startswith("data:image/png;base64,")
    ] == []
    assert page.text.count("onerror") > 20  # the corpus is there, as text


def test_hostile_text_is_text_in_markdown(hostile: Note) -> None:
    """By a renderer that passes HTML on, as most do: what it makes of the note has only our own elements."""
    import mistune

    shown = str(
        mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])(
            note_markdown(hostile)
        )
    )
    page = Page(shown)
    assert not {
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "input",
        "svg",
        "style",
        "base",
        "meta",
    } & set(page.tags)
    assert [row for row in page.attributes if row[1].startswith("on")] == []
    addresses = [value for _, name, value in page.attributes if name == "href"]
    assert [value for value in addresses if not value.startswith(("http://", "https://"))] == []


def test_hostile_text_is_text_in_word(hostile: Note) -> None:
    import docx

    data = note_docx(hostile)
    docx.Document(io.BytesIO(data))  # it opens
    parts = docx_xml(data)
    document = ElementTree.fromstring(parts["word/document.xml"])
    elements = {element.tag.rpartition("}")[2] for element in document.iter()}
    assert not {"hyperlink", "instrText", "fldSimple", "object", "altChunk", "control"} & elements
    assert not any('TargetMode="External"' in text for text in parts.values())
    assert "onerror" in "".join(document.itertext())


@given(text=st.text(max_size=60) | st.sampled_from(sorted(corpus(CANARY).values())))
def test_words_in_markdown_are_one_line_without_an_element(text: str) -> None:
    import mistune

    shown = words(text)
    assert "\n" not in shown
    page = Page(str(mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])(shown)))
    assert set(page.tags) <= {"p"}


# --- plots ----------------------------------------------------------------------------------------------------------------


def notebook(path: Path, *outputs: dict[str, object], tags: list[str] | None = None) -> Path:
    import json

    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "## 4. Picture\n\nLeft the series."},
        {"cell_type": "code", "metadata": {"tags": tags or []}, "source": "", "outputs": list(outputs)},
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def png_output() -> dict[str, object]:
    import base64

    return {"output_type": "display_data", "data": {"image/png": base64.b64encode(figure_png()).decode()}}


def test_a_plot_has_the_words_before_it_as_caption_and_none_of_its_bytes(tmp_path: Path) -> None:
    (plot,) = proof_plots(notebook(tmp_path / "P1.ipynb", png_output()), "P1, it rains")
    assert plot.caption == "P1, it rains. Left the series."
    assert plot.png.startswith(b"\x89PNG") and plot.png != figure_png()


def test_what_is_no_picture_is_left_out(tmp_path: Path) -> None:
    broken = {"output_type": "display_data", "data": {"image/png": "AAAA", "image/svg+xml": "<svg onload=x>"}}
    cut = png_output()
    cut["data"] = {"image/png": str(cut["data"]["image/png"])[:400]}  # type: ignore[index]
    odd = {"output_type": "display_data", "data": {"image/png": 7}}
    assert proof_plots(notebook(tmp_path / "a.ipynb", broken, cut, odd), "P1") == []
    assert proof_plots(notebook(tmp_path / "b.ipynb", png_output(), tags=["superseded"]), "P1") == []
    assert len(proof_plots(notebook(tmp_path / "c.ipynb", *[png_output()] * 9), "P1")) == MOST_PLOTS
    (tmp_path / "d.ipynb").write_text("{")
    assert proof_plots(tmp_path / "d.ipynb", "P1") == []


# --- PDF ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorder() -> Iterator[Path]:
    """A program named chromium that writes down what it was called with, and prints nothing."""
    # Not in tmp_path, which only its owner may enter: as root the browser is started as nobody.
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        program = place / "bin" / "chromium"
        program.parent.mkdir()
        said = f'env > {place}/env\necho "$@" >> {place}/words\necho "no display" >&2\nexit 1\n'
        program.write_text(f"#!/bin/sh\n{said}")
        program.chmod(0o755)
        program.parent.chmod(0o755)
        place.chmod(0o777)
        yield place


def test_a_browser_gets_no_key_no_proxy_and_no_network(recorder: Path) -> None:
    path = f"{recorder}/bin:{os.environ['PATH']}"
    keys = {
        "PATH": path,
        "FRED_API_KEY": "secret",
        "OPENAI_API_KEY": "secret",
        "HTTPS_PROXY": "http://proxy.invalid",
    }
    with pytest.raises(CannotPrint, match="no display"):
        print_pdf("<p>x</p>", keys)
    environment = (recorder / "env").read_text()
    assert "secret" not in environment and "proxy" not in environment.lower()
    first = (recorder / "words").read_text().splitlines()[0]
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in first and "--no-proxy-server" in first
    assert "--no-sandbox" not in first  # its own sandbox is tried before anything else


# --- formats --------------------------------------------------------------------------------------------------------------


def test_a_format_is_named_or_is_the_suffix() -> None:
    assert format_of(Path("x.PDF"), None) == "pdf" and format_of(Path("x.htm"), None) == "html"
    assert format_of(Path("x.txt"), "csv") == "csv"
    for path, to in ((Path("x"), None), (None, None), (Path("x.odt"), None), (Path("x.pdf"), "word")):
        with pytest.raises(UsageError, match="html"):
            format_of(path, to)
