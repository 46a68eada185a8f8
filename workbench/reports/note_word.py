"""Write the note as a Word document, for readers who edit it; python-docx is imported with this module.

Word shows text and runs nothing of it: every text goes in as a run of characters, never as XML or as a field.
"""

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import docx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt, RGBColor
from PIL import Image, ImageDraw, ImageFont

from workbench.audit.vintages import MOST_PERIODS, Vintage, vintage_words
from workbench.formatting import counted, percent
from workbench.reports.note_content import Note
from workbench.reports.note_page import chart_axis
from workbench.reports.note_plots import Plot
from workbench.science.plots import figure_bytes
from workbench.terminal import printable
from workbench.views.fan_chart import NO_SERIES, fan_figure, fan_key, fan_words

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

_BULLET = re.compile(r"^\s*[-*+]\s+")
_HEADING = re.compile(r"^#{1,6}\s+")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_ACCENT, _SOFT, _INK, _ALARM = (0x1F, 0x5F, 0x8F), (0x56, 0x61, 0x6F), (0x1B, 0x24, 0x30), (0x9C, 0x2B, 0x1E)
_LINE, _FALSE, _TRUE = (0xDD, 0xE3, 0xE9), (0xB4, 0x55, 0x2D), (0x1F, 0x6F, 0x8F)
_WIDTH = 17.0  # cm of text on a page of A4
#: cm of a picture at most: a higher one would be cut off at the end of its page, or leave half of one empty.
_HEIGHT = 12.0
#: The same on a note of one page.
_LOW = 5.5


def note_docx(note: Note) -> bytes:
    """Write the note as the bytes of a .docx file."""
    document = _empty_document(note)
    _headline(document, note)
    _fan(document, note)
    if note.one_page:
        _drivers(document, note)
        _soft(document, f"Tree, evidence and audit are in the whole note (workbench export {note.run_id}).")
        return _saved(document)
    _tree(document, note)
    _drivers(document, note)
    _scenarios(document, note)
    _evidence(document, note)
    document.add_heading("Audit", 1)
    _table(document, ("check", "verdict", "what it says"), note.checks, (4.0, 1.8, 11.2))
    _review(document, note)
    if note.readings:
        document.add_heading("Data that was read", 1)
        rows = [
            (
                reading.path,
                reading.asked_for,
                reading.nodes,
                reading.as_of,
                str(reading.dropped),
                reading.residual,
            )
            for reading in note.readings
        ]
        head = ("source", "asked for", "by", "as of", "rows withheld", "risk of later knowledge")
        _table(document, head, rows, (4.6, 3.4, 2.8, 2.8, 1.7, 1.7))
    document.add_heading("What it rests on", 1)
    _table(document, (), [("manifest id", note.manifest_id), *note.facts], (4.0, 13.0))
    document.add_heading("Every number in full", 1)
    _table(document, ("of", "with all digits"), note.figures, (4.0, 13.0))
    if note.compared:
        document.add_heading("Appendix: shown for comparison", 1)
        _soft(document, "Other forecasts beside the answer of a driver. They have no weight in it.")
        _table(document, (), note.compared, (2.4, 14.6))
    if note.transcript:
        document.add_heading("Appendix: every model call", 1)
    for heading, parts in note.transcript:
        document.add_heading(_xml_text(heading), 2)
        for name, text in parts:
            _soft(document, name)
            document.add_paragraph("\n".join(map(_xml_text, text.split("\n"))))
    return _saved(document)


def _saved(document: "Document") -> bytes:
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def _xml_text(text: str) -> str:
    # XML holds no control characters and no halves of surrogate pairs; python-docx makes elements of \t and \n.
    return printable(text, keep="").strip()


def _empty_document(note: Note) -> "Document":
    document = docx.Document()
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21.0), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.0)
    section.top_margin = section.bottom_margin = Cm(2.0)
    document.styles["Normal"].font.name = "Calibri"
    document.styles["Normal"].font.size = Pt(10.5)
    _pale_grid(document)
    for name, points in (("Title", 16), ("Heading 1", 14), ("Heading 2", 11.5), ("Heading 3", 11)):
        style = document.styles[name]
        style.font.name, style.font.size = "Calibri", Pt(points)
        style.font.color.rgb = RGBColor(*_INK)
    properties = document.core_properties
    properties.title, properties.author = _xml_text(note.statement)[:250], ""
    properties.subject, properties.comments = f"run {note.run_id}", note.manifest_id
    # The template's own dates are of 2013.
    properties.created = properties.modified = datetime.now(UTC)
    footer = section.footer.paragraphs[0]
    footer.text = f"Run {note.run_id}, {note.mark}, page "
    _page_number(footer)
    return document


def _pale_grid(document: "Document") -> None:
    """Draw tables with pale lines between rows only; the template's grid is a black box around every cell."""
    borders = document.styles["Table Grid"].element.find(f".//{qn('w:tblBorders')}")
    for side in list(borders):
        borders.remove(side)
    for name in ("top", "bottom", "insideH"):
        line = OxmlElement(f"w:{name}")
        for key, value in (("val", "single"), ("sz", "4"), ("space", "0"), ("color", "DDE3E9")):
            line.set(qn(f"w:{key}"), value)
        borders.append(line)


def _page_number(paragraph: "Paragraph") -> None:
    """Add Word's own counter: a field, which has no door of its own in python-docx."""
    field = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), "PAGE")
    paragraph._p.append(field)


def _headline(document: "Document", note: Note) -> None:
    # A title: beside headings of its own level a list of headings would have the claim as one part of itself.
    document.add_heading(_xml_text(note.statement), 0)
    _soft(document, note.judged)
    for line in note.warnings:
        run = document.add_paragraph().add_run(_xml_text(line))
        run.bold, run.font.color.rgb = True, RGBColor(*_ALARM)
    if note.sentence:
        document.add_paragraph().add_run(_xml_text(note.sentence)).font.size = Pt(12)
    big = document.add_paragraph().add_run(percent(note.p))
    big.bold, big.font.size, big.font.color.rgb = True, Pt(30), RGBColor(*_ACCENT)
    facts = []
    if note.base_rate is not None:
        beside = f"; the claim lies {note.gap} from it" if note.gap else ""
        facts.append(("base rate", f"{percent(note.base_rate)}{beside}"))
    if note.band_words:
        facts.append(("band", note.band_words))
    if note.record is not None:
        facts.append(("record", note.record))
    if note.outcome:
        facts.append(("outcome", note.outcome.removeprefix("Outcome: ")))
    if facts:
        _table(document, (), facts, (4.0, 13.0))
    for line in note.summary[:2] if note.one_page else note.summary:
        document.add_paragraph(_xml_text(line))


def _fan(document: "Document", note: Note) -> None:
    document.add_heading("The series", 1)
    if note.fan is None:
        _soft(document, NO_SERIES)
        return
    png = figure_bytes(fan_figure(note.fan))
    with Image.open(io.BytesIO(png)) as picture:
        plot = Plot(
            png=png,
            caption=f"{fan_words(note.fan)}. {fan_key(note.fan)}",
            width=picture.width,
            height=picture.height,
        )
    _picture(document, plot, note.mark, captioned=True, highest=_LOW if note.one_page else _HEIGHT)


def _soft(document: "Document", text: str) -> None:
    document.add_paragraph().add_run(_xml_text(text)).font.color.rgb = RGBColor(*_SOFT)


def _table(
    document: "Document", head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[float]
) -> Any:
    """Add a table with its header row repeated on every page, and no row cut in two by a page's end; widths in cm."""
    table = document.add_table(rows=0, cols=len(widths))
    table.style = document.styles["Table Grid"]
    table.autofit = False
    # Word goes by the cells' widths, LibreOffice by the columns'.
    for column, width in zip(table.columns, widths, strict=True):
        column.width = Cm(width)
    for number, values in enumerate([head, *rows] if head else rows):
        row = table.add_row()
        properties = row._tr.get_or_add_trPr()
        properties.append(OxmlElement("w:cantSplit"))
        if head and number == 0:
            properties.append(OxmlElement("w:tblHeader"))
        for cell, value, width in zip(row.cells, values, widths, strict=True):
            cell.width = Cm(width)
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_after = Pt(0)
            run = paragraph.add_run(_xml_text(value))
            run.font.size = Pt(9)
            run.bold = bool(head) and number == 0
    document.add_paragraph().paragraph_format.space_after = Pt(0)
    return table


def _tree(document: "Document", note: Note) -> None:
    document.add_heading("The tree", 1)
    _soft(document, "A driver follows from those indented below it, by the sum or formula under it.")
    rows = []
    for row in note.rows:
        rule = f"  = {row.rule}" if row.rule else ""
        rows.append((row.id, f"{row.statement}{rule}", percent(row.p)))
    table = _table(document, ("id", "claim and drivers", "p"), rows, (2.8, 12.4, 1.8))
    for cells, row in zip(table.rows[1:], note.rows, strict=True):
        # The statement, not the id: of the id's column a deep tree would leave the room of one letter.
        cells.cells[1].paragraphs[0].paragraph_format.left_indent = Cm(0.35 * min(row.depth, 6))
    if note.rows_left_out:
        _soft(document, f"{note.rows_left_out} drivers that move the claim less are not listed.")


def _drivers(document: "Document", note: Note) -> None:
    if not note.drivers:
        return
    document.add_heading("What it hinges on", 1)
    _soft(
        document,
        "Where the claim would stand if one driver turned out false or true and all others stayed as they are.",
    )
    _picture(document, _tornado(note), note.mark)
    rows = [
        (driver.id, driver.statement, percent(driver.p), percent(driver.if_false), percent(driver.if_true))
        for driver in note.drivers
    ]
    _table(document, ("id", "driver", "p", "if false", "if true"), rows, (2.4, 8.6, 2.0, 2.0, 2.0))


def _tornado(note: Note) -> Plot:
    """Draw the chart of the drivers as a picture: not every Word draws SVG.

    By Pillow: matplotlib reads a ``matplotlibrc`` of the folder that somebody stands in, which may be a stranger's.
    """
    low, high = chart_axis(note)
    left, width, step = 150, 1300, 46
    height = step * (len(note.drivers) + 2)
    picture = Image.new("RGB", (left + width + 60, height), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(24)

    def across(value: float) -> float:
        return left + width * (min(high, max(low, value)) - low) / (high - low)

    now = across(note.p or 0.0)
    for place, driver in enumerate(note.drivers):
        top = step * (place + 0.5)
        draw.text((left - 20, top), driver.id, fill=_INK, font=font, anchor="rm")
        draw.line(((left, top), (left + width, top)), fill=_LINE, width=2)
        for end, colour in ((driver.if_false, _FALSE), (driver.if_true, _TRUE)):
            first, last = sorted((across(end), now))
            draw.rectangle((first, top - 14, last, top + 14), fill=colour)
    bottom = step * len(note.drivers)
    draw.line(((now, 4), (now, bottom)), fill=_INK, width=4)
    for value in (low, high):
        draw.text((across(value), bottom + 8), percent(value), fill=_SOFT, font=font, anchor="ma")
    key = f"now {percent(note.p)}; brown: the claim if the driver is false, blue: if it is true"
    draw.text((left + width / 2, bottom + 46), key, fill=_SOFT, font=font, anchor="ma")
    target = io.BytesIO()
    picture.save(target, "PNG")
    caption = "; ".join(
        f"{driver.statement}: {percent(driver.if_false)} if false, {percent(driver.if_true)} if true"
        for driver in note.drivers
    )
    caption = f"How far each driver moves the claim. {caption}"
    return Plot(png=target.getvalue(), caption=caption, width=picture.width, height=picture.height)


def _revisions(vintages: Sequence[Vintage]) -> Plot:
    left, width, top, height = 120, 1300, 30, 340
    picture = Image.new("RGB", (left + width + 60, top + height + 70), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(24)
    recent = vintages[-MOST_PERIODS:]
    values = [value for vintage in recent for value in (vintage.first, vintage.last)]
    low, high = min(values), max(values)
    days = max(1, (recent[-1].period - recent[0].period).days)

    def point(vintage: Vintage, value: float) -> tuple[float, float]:
        across = left + width * (vintage.period - recent[0].period).days / days
        return across, top + height * (1 - (value - low) / ((high - low) or 1.0))

    draw.line([point(vintage, vintage.last) for vintage in recent], fill=_SOFT, width=3)
    draw.line([point(vintage, vintage.first) for vintage in recent], fill=_TRUE, width=4)
    for vintage in recent:
        if vintage.first != vintage.last:
            x, y = point(vintage, vintage.last)
            draw.ellipse((x - 6, y - 6, x + 6, y + 6), fill=_SOFT)
    for value in (low, high):
        height_of = top + (height if value == low else 0)
        draw.text((left - 16, height_of), f"{value:g}", fill=_SOFT, font=font, anchor="rm")
    for vintage, anchor in ((recent[0], "la"), (recent[-1], "ra")):
        draw.text(
            (point(vintage, low)[0], top + height + 24),
            str(vintage.period),
            fill=_SOFT,
            font=font,
            anchor=anchor,
        )
    target = io.BytesIO()
    picture.save(target, "PNG")
    return Plot(
        png=target.getvalue(), caption=vintage_words(vintages), width=picture.width, height=picture.height
    )


def _picture(
    document: "Document", plot: Plot, mark: str, *, captioned: bool = False, highest: float = _HEIGHT
) -> None:
    width = min(_WIDTH, highest * plot.width / plot.height)
    shape = document.add_picture(io.BytesIO(plot.png), width=Cm(width))
    document.paragraphs[-1].paragraph_format.keep_with_next = True
    shape._inline.docPr.set(
        "descr", _xml_text(plot.caption)
    )  # the alternative text; python-docx has no door for it
    _soft(document, f"{plot.caption} [{mark}]" if captioned else f"[{mark}]")


def _scenarios(document: "Document", note: Note) -> None:
    if not note.scenarios:
        return
    document.add_heading("Scenarios", 1)
    rows = [("base", percent(note.p), "", "", "nothing is changed")]
    for scenario in note.scenarios:
        why = "; ".join(part for part in (scenario.why, *scenario.edits, scenario.author) if part)
        rows.append((scenario.name, percent(scenario.root), scenario.gap, scenario.probability, why))
    head = ("scenario", "claim", "from the base", "probability", "why, and what it changes")
    _table(document, head, rows, (3.0, 1.7, 2.6, 1.9, 7.8))
    if note.mix:
        document.add_paragraph(_xml_text(note.mix))


def _evidence(document: "Document", note: Note) -> None:
    document.add_heading("Evidence", 1)
    for leaf in note.evidence:
        document.add_heading(_xml_text(f"{leaf.id} {leaf.statement}: {percent(leaf.p)}"), 2)
        if leaf.verified is not None:
            result = (
                "was run a second time and showed the same" if leaf.verified else "DIFFERS from its record"
            )
            _soft(document, f"The proof {result}.")
        if leaf.without_data:
            _soft(document, f"READ NO DATA: {leaf.without_data}")
        if leaf.spread:
            _soft(document, leaf.spread)
        if leaf.key_factor:
            document.add_paragraph().add_run(_xml_text(leaf.key_factor)).bold = True
        _add_report(document, leaf.report)
        for plot in leaf.plots:
            _picture(document, plot, note.mark, captioned=True)
        for vintages in leaf.vintages:
            _picture(document, _revisions(vintages), note.mark, captioned=True)
    if note.evidence_left_out:
        _soft(
            document,
            f"{counted(len(note.evidence_left_out), 'more driver')}, which move the claim less, are left out here.",
        )


def _add_report(document: "Document", text: str) -> None:
    """Add a report's paragraphs and list items; of its Markdown only bold is drawn."""
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line.strip()]
        if any(_BULLET.match(line) for line in lines):
            for line in lines:
                style = "List Bullet" if _BULLET.match(line) else None
                _runs(document.add_paragraph(style=style), _BULLET.sub("", line))
        elif any("|" in line for line in lines):  # a table of Markdown: its lines as they are
            for line in lines:
                _runs(document.add_paragraph(), line)
        elif lines:
            _runs(document.add_paragraph(), _HEADING.sub("", " ".join(lines)))


def _runs(paragraph: "Paragraph", text: str) -> None:
    # Every second part of the split is what stood between the asterisks.
    for number, part in enumerate(_BOLD.split(printable(text, keep=""))):
        if part:
            paragraph.add_run(part).bold = number % 2 == 1


def _review(document: "Document", note: Note) -> None:
    checklist = [f"{'done' if done else 'OPEN'}: {text}" for text, done in note.checklist]
    parts = (
        ("Sign-off", note.sign_offs),
        ("Checklist", checklist),
        ("Comments", note.comments),
        ("Estimates", note.estimates),
        ("Notes", note.notes),
    )
    if any(lines for _, lines in parts):
        document.add_heading("Review", 1)
    for title, lines in parts:
        if lines:
            document.add_heading(title, 2)
            for line in lines:
                document.add_paragraph(_xml_text(line), style="List Bullet")
