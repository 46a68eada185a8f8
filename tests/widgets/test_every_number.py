"""Screen = command line = export, for every number of a run, to the last digit; audit and badges word for word.

What the command line prints as JSON is the list of the numbers; each has to stand on the page (its digits in `data-value`
of what is shown rounded) and in each export that holds such numbers.
"""

import hashlib
import html
import io
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_json
from tests.fakes.browser import find_chromium
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.annotations.outcomes import record_outcome
from workbench.engine.manifest import run_manifest
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import manifest_id, put_tree, write_atomically
from workbench.formatting import percent
from workbench.packages.export import FORMATS, export_run
from workbench.propositions import Tree
from workbench.reports.note_pdf import print_pdf
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle
from workbench.synthesis.whatif.edits import SetValue
from workbench.views.run_view import load_run
from workbench.whatif.saved_scenarios import save_scenario
from workbench.widgets.proofs.proof_view import proof_document, trail_of
from workbench.widgets.run_page import Dashboard

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
_DIGITS = re.compile(r'(?:data-value|title)="([^"]*)"')
#: Exports that hold a note, and so every number; the others hold the tree, from which all else is computed.
NOTES = ("html", "md", "docx")


def numbers_in(text: str) -> set[float]:
    return {float(found) for found in _NUMBER.findall(text)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with uneven numbers everywhere: values, weights, a band of refits, two weighed scenarios, an outcome."""
    place = tmp_path_factory.mktemp("numbers")
    make_run(place / "home")
    with closing(Store(place / "home")) as store:
        store.append(RUN, ev.TreeEdited(tree=put_tree(store, uneven_tree()), base_seq=store.last_seq()))
        spread = ev.NumberSpread(mean=0.43111111, sd=0.0512345678, low=0.4, high=0.4577777)
        store.append(
            RUN, ev.NodeRefitted(node="P2", count=5, failed=1, value=spread, coefficients={"P2.1": spread})
        )
        for name, p, held in (("calm", 1 / 3, 0.3), ("storm", 2 / 7, 0.55)):
            save_scenario(
                store,
                RUN,
                name,
                [SetValue(node="P2.1", p=p), SetValue(node="P3", p=p / 3)],
                author="Ann",
                rationale="why not",
                probability=held,
            )
        record_outcome(store, RUN, "no", on="2018-12-31")
        manifest = run_manifest(store, load_state(store, RUN))
        write_atomically(store.folder(RUN) / "manifest.json", manifest)
    return place


def uneven_tree() -> Tree:
    """The sample's tree with values and weights that no rounded figure holds."""
    tree = demo_tree()
    for node in tree.leaves():
        belief = tree[node].belief
        assert belief is not None
        tree = tree.with_belief(node, replace(belief, p=belief.p + 1 / 7000))
    for node in ("P1", "P2", "P0"):
        rule = tree[node].rule
        assert isinstance(rule, LinearRule)
        weights = {child: weight * 0.97 / 1.03 for child, weight in rule.weights.items()}
        tree = settle(tree.with_rule(node, LinearRule(rule.intercept + 1 / 300, weights), tree[node].belief))
    return tree


def said(folder: Path, *words: str) -> Any:
    return run_json(folder, *words)


@pytest.fixture(scope="module")
def tree_numbers(folder: Path) -> dict[str, float]:
    """Values and coefficients of every proposition, by name: ``show --json``."""
    numbers: dict[str, float] = {}
    for node in said(folder, "show", RUN)["nodes"]:
        numbers[f"p of {node['id']}"] = node["p"]
        rule = node["rule"] or {}
        numbers.update({f"weight of {child}": weight for child, weight in rule.get("weights", {}).items()})
        if "intercept" in rule:
            numbers[f"constant of {node['id']}"] = rule["intercept"]
    return numbers


@pytest.fixture(scope="module")
def derived_numbers(folder: Path) -> dict[str, float]:
    """What is computed from the tree: base rate, tornado, contributions, reach, scenarios and their mix."""
    numbers = {"base rate": said(folder, "show", RUN)["base_rate"]}
    report = said(folder, "sensitivity", RUN, "--report")
    numbers["reach, low"], numbers["reach, high"] = report["reachable"]
    for row in report["tornado"]:
        for name in ("low", "high", "path_weight", "contribution"):
            numbers[f"{name} of {row['id']}"] = row[name]
    table = said(folder, "scenarios", RUN)
    numbers.update({f"scenario {row['name']}": row["root"] for row in table["scenarios"]})
    numbers["mix"] = table["mix"]["root"]
    return numbers


@pytest.fixture(scope="module")
def band(folder: Path) -> tuple[float, float]:
    found = load_run(folder / "home", RUN).band()
    assert found is not None
    return found.low, found.high


def panels_of(page: Dashboard) -> Iterator[str]:
    """The page's HTML with each proposition selected once, and everything unfolded."""
    page.drivers.chart.on_open("drivers")
    yield from (
        page.header.value,
        page.drivers.chart.value,
        page.side_panels.table.value,
        page.side_panels.book.compared.value,
    )
    for node in page.session.tree.ids():
        page.tree.selected = node
        yield page.side_panels.detail.value


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Dashboard]:
    yield Dashboard(load_run(folder / "home", RUN))


def missing(wanted: dict[str, float], there: set[float]) -> dict[str, float]:
    return {name: number for name, number in wanted.items() if number not in there}


def test_there_are_numbers_to_compare(
    tree_numbers: dict[str, float], derived_numbers: dict[str, float], band: tuple[float, float]
) -> None:
    everything = [*tree_numbers.values(), *derived_numbers.values(), *band]
    assert len(everything) > 50 and None not in everything
    assert sum(len(repr(number)) > 10 for number in everything) > 20, (
        "digits that a rounded figure would lose"
    )


def test_the_page_has_every_number_in_full_beside_its_rounded_form(
    page: Dashboard,
    tree_numbers: dict[str, float],
    derived_numbers: dict[str, float],
    band: tuple[float, float],
) -> None:
    whole = "".join(panels_of(page))
    digits = " ; ".join(html.unescape(text) for text in _DIGITS.findall(whole))
    # The rows of the tree are drawn by the browser, from these.
    rows = {row["p"] for row in page.session.rows.values() if row["p"] is not None}
    assert missing({**tree_numbers, **derived_numbers}, numbers_in(digits) | rows) == {}
    assert set(band) <= numbers_in(digits)
    assert {row["text"] for row in page.session.rows.values()} == {
        percent(number) for name, number in tree_numbers.items() if name.startswith("p of")
    }
    pairs = re.findall(r'data-value="([-\d.e]+)"[^>]*>([\d.]+%)<', whole)
    assert pairs and all(percent(float(number)) == shown for number, shown in pairs)
    assert percent(band[0]) in whole and percent(band[1]) in whole


@pytest.mark.parametrize("form", NOTES)
def test_every_note_has_every_number_in_full(
    folder: Path,
    form: str,
    tree_numbers: dict[str, float],
    derived_numbers: dict[str, float],
    band: tuple[float, float],
) -> None:
    with closing(Store(folder / "home")) as store:
        data = export_run(store, RUN, form)[0]
    if form == "docx":
        xml = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml").decode()
        text = re.sub(r"<[^>]+>", " ", xml)
    else:
        # Markdown escapes what could be a mark, never a digit.
        text = re.sub(r"<(style|script)[^>]*>.*?</\1>|<[^>]+>", " ", data.decode(), flags=re.DOTALL)
    there = numbers_in(html.unescape(text))
    assert missing({**tree_numbers, **derived_numbers}, there) == {}
    assert set(band) <= there
    for number in (tree_numbers["p of P0"], derived_numbers["base rate"], derived_numbers["scenario calm"]):
        assert percent(number) in text


def test_an_edit_has_the_same_numbers_on_the_page_and_at_the_terminal(page: Dashboard, folder: Path) -> None:
    edits = {"P2.1": 0.123456789, "P1": 2 / 3}
    for node, p in edits.items():
        page.session.edit(node, repr(p))
    answer = said(
        folder, "whatif", RUN, *(word for node, p in edits.items() for word in ("--set", f"{node}={p!r}"))
    )
    digits = numbers_in(" ; ".join(_DIGITS.findall(page.side_panels.table.value)))
    moved = [row[side] for row in answer["changed"] for side in ("before", "after")]
    assert page.session.now.after == answer["after"] and len(moved) >= 6
    assert set(moved) <= digits
    page.session.reset_all()


@pytest.mark.long
@pytest.mark.browser
def test_the_pdf_has_every_number_in_full_and_as_the_screens_show_it(
    folder: Path,
    tree_numbers: dict[str, float],
    derived_numbers: dict[str, float],
    band: tuple[float, float],
) -> None:
    """Read back from the printed pages by a reader that knows nothing of the note."""
    if find_chromium() is None:
        pytest.skip("no Chromium")
    from pypdf import PdfReader

    with closing(Store(folder / "home")) as store:
        data, notes = export_run(store, RUN, "pdf", environ=os.environ)
        page = export_run(store, RUN, "html")[0].decode()
        manifest = manifest_id(store, RUN)
    assert data.rstrip().endswith(b"%%EOF") and notes == ()
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    text = "\n".join(pages)
    assert missing({**tree_numbers, **derived_numbers}, numbers_in(text)) == {}
    assert set(band) <= numbers_in(text)
    # Every percentage and every change of the page, as often as the page has it, a chart's ends and labels included.
    # An answer as the cell read it is folded, and stays off the paper.
    page = re.sub(r'<details class="raw">.*?</details>', " ", page, flags=re.DOTALL)
    shown = re.sub(r"<(style|script)[^>]*>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    figures = re.compile(r"[+\u2212]?\d+\.\d%|[+\u2212]\d+\.\d points")
    on_screen = Counter(figures.findall(" ".join(html.unescape(shown).split())))
    assert Counter(figures.findall(" ".join(text.split()))) == on_screen
    assert on_screen.total() > 50
    assert manifest is not None and manifest in "".join(text.split())
    assert all(manifest[:19] in "".join(page.split()) for page in pages), "each page, when it is cut out"


@pytest.mark.long
@pytest.mark.browser
def test_no_letters_are_joined_in_the_pdf(folder: Path) -> None:
    """A hash with ff in it is found by a search, in the text and at the foot of each page."""
    if find_chromium() is None:
        pytest.skip("no Chromium")
    from pypdf import PdfReader

    with closing(Store(folder / "home")) as store:
        page = export_run(store, RUN, "html")[0].decode()
        manifest = manifest_id(store, RUN)
    assert manifest is not None
    data = print_pdf(page.replace(manifest[:19], "sha256:ffaffbcffiff"), os.environ)
    texts = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    assert all("sha256:ffaffbcffiff" in text for text in texts)
    assert not any(re.search("[\ufb00-\ufb06]", text) for text in texts)


FORMATS_WITH_FIGURES = ("html", "md", "docx", "ipynb")


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "pdf"])
def test_every_export_and_every_figure_in_it_carries_the_manifest_id(folder: Path, form: str) -> None:
    with closing(Store(folder / "home")) as store:
        data = export_run(store, RUN, form, misfit="project")[0]
        manifest = manifest_id(store, RUN)
    assert manifest is not None
    if form == "zip":
        package = zipfile.ZipFile(io.BytesIO(data))
        # The package carries the file itself, whose hash the id is, and no figure outside its proofs.
        assert f"sha256:{hashlib.sha256(package.read('run/manifest.json')).hexdigest()}" == manifest
        return
    elif form == "docx":
        text = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml").decode()
    else:
        text = data.decode()
    assert manifest in text
    figures = figures_of(text, form)
    assert len(figures) >= (6 if form in FORMATS_WITH_FIGURES else 0)
    for figure in figures:
        assert manifest[:19] in figure, figure[:300]


def figures_of(text: str, form: str) -> list[str]:
    """Each figure of a document with what stands at it: its caption, or for a chart of bars its section."""
    if form == "html":
        bars = [part for part in re.split(r"<h2>", text) if 'class="bar"' in part]
        return [*re.findall(r"<figure>.*?</figure>|<svg class=.vintages.*?</svg>", text, re.DOTALL), *bars]
    if form == "md":
        return re.findall(r"^Plot in the proof: .*$", text, re.MULTILINE)
    if form == "docx":
        return [part[:6000] for part in text.split("<w:drawing>")[1:]]
    if form == "ipynb":
        # A proof's figures stand below its heading, which names the manifest.
        proofs = "\n".join(
            "".join(cell["source"]) if cell["cell_type"] == "markdown" else json.dumps(cell)
            for cell in json.loads(text)["cells"]
        )
        return [part for part in re.split(r"^## (?=P\d)", proofs, flags=re.MULTILINE) if "image/png" in part]
    return []


def test_the_figures_on_a_page_of_a_proof_carry_the_manifest_id(folder: Path) -> None:
    run = load_run(folder / "home", RUN)
    document = proof_document(run.notebook("P1.1") or Path(), trail=trail_of(run, "P1.1"))
    captions = re.findall(r"<figcaption>.*?</figcaption>", document, re.DOTALL)
    assert captions and run.manifest_id is not None
    assert all(f"[manifest {run.manifest_id[:19]}]" in caption for caption in captions)


def test_the_chart_of_the_page_carries_the_manifest_id(page: Dashboard) -> None:
    mark = page.run.mark
    assert mark.startswith("manifest sha256:") and mark in page.drivers.chart.value
