"""Write the note as a Word document, for readers who edit it; python-docx is imported with this module.

Word shows text and runs nothing of it: every text goes in as a run of characters, never as XML or as a field.
"""

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt, RGBColor

from workbench.audit.vintages import MOST_PERIODS, Vintage, vintage_words
from workbench.formatting import percent
from workbench.reports.note_tree import (
    Block,
    Cell,
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
    table_rows,
)
from workbench.science.plots import figure_bytes, load_matplotlib
from workbench.terminal import printable
from workbench.views.fan_chart import fan_figure, fan_key, fan_words

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph
    from matplotlib.figure import Figure

_BULLET = re.compile(r"^\s*[-*+]\s+")
_HEADING = re.compile(r"^#{1,6}\s+")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_ACCENT, _SOFT, _INK, _ALARM = (
    RGBColor(*bytes.fromhex(ink)) for ink in ("1F5F8F", "56616F", "1B2430", "9C2B1E")
)
_FALSE, _TRUE, _GREY = "#b4552d", "#1f6f8f", "#56616f"
_WIDTH = 17.0  # cm of text on a page of A4
#: cm of a picture at most: a higher one would be cut off at the end of its page, or leave half of one empty.
_HEIGHT = 12.0
#: The same on a note of one page.
_LOW = 5.5


def note_docx(note: Note) -> bytes:
    """Write the note as the bytes of a .docx file."""
    document = _empty_document(note)
    # A title: beside headings of its own level a list of headings would have the claim as one part of itself.
    document.add_heading(_xml_text(note.title), 0)
    for block in note.blocks:
        _add(document, block, note)
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def _add(document: "Document", block: Block, note: Note) -> None:
    match block:
        case Heading(text, level, node):
            document.add_heading(_xml_text(f"{node} {text}"), level)
        case Text(text, tone):
            _paragraph(document, text, tone)
        case Headline(p, facts):
            big = document.add_paragraph().add_run(p)
            big.bold, big.font.size, big.font.color.rgb = True, Pt(30), _ACCENT
            _table(document, Table((), table_rows(facts), (0.2, 0.8)))
        case Series(fan):
            words = f"{fan_words(fan)}. {fan_key(fan)}"
            _picture(document, figure_bytes(fan_figure(fan)), words, note)
        case Drivers():
            key = f"brown: the claim if the driver is false, blue: if it is true; it is at {percent(block.p)} now"
            rows = [
                (row.id, row.statement, *map(percent, (row.p, row.if_false, row.if_true)))
                for row in block.rows
            ]
            _picture(
                document, figure_bytes(_tornado(block)), f"How far each driver moves the claim; {key}.", note
            )
            head = ("id", "driver", "p", "if false", "if true")
            _table(document, Table(head, table_rows(rows), (0.14, 0.5, 0.12, 0.12, 0.12), numbers=(2, 3, 4)))
        case Table():
            _table(document, block)
        case Items(lines):
            for line in lines:
                document.add_paragraph(_xml_text(line), style="List Bullet")
        case Report(text):
            _add_report(document, text)
        case Picture(plot):
            _picture(document, plot.png, plot.caption, note)
        case Revisions(vintages):
            _picture(document, figure_bytes(_revisions(vintages)), vintage_words(vintages), note)
        case Verbatim(name, text):
            _paragraph(document, name, "soft")
            document.add_paragraph("\n".join(map(_xml_text, text.split("\n"))))


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
        style.font.color.rgb = _INK
    properties = document.core_properties
    properties.title, properties.author = _xml_text(note.title)[:250], ""
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


def _paragraph(document: "Document", text: str, tone: str = "") -> None:
    run = document.add_paragraph().add_run(_xml_text(text))
    run.bold = tone in ("alarm", "strong")
    if tone == "sentence":
        run.font.size = Pt(12)
    elif tone in ("soft", "alarm"):
        run.font.color.rgb = _SOFT if tone == "soft" else _ALARM


def _table(document: "Document", block: Table) -> None:
    """Add a table with its header row repeated on every page, and no row cut in two by a page's end."""
    table = document.add_table(rows=0, cols=len(block.widths))
    table.style = document.styles["Table Grid"]
    table.autofit = False
    widths = [Cm(_WIDTH * width) for width in block.widths]
    # Word goes by the cells' widths, LibreOffice by the columns'.
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    head = table_rows([block.head]) if block.head else []
    for number, cells in enumerate([*head, *block.rows]):
        row = table.add_row()
        properties = row._tr.get_or_add_trPr()
        properties.append(OxmlElement("w:cantSplit"))
        is_head = bool(head) and number == 0
        if is_head:
            properties.append(OxmlElement("w:tblHeader"))
        for place, (target, cell, width) in enumerate(zip(row.cells, cells, widths, strict=True)):
            target.width = width
            _fill(target.paragraphs[0], cell, bold=is_head)
            if place in block.numbers:
                target.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT
    document.add_paragraph().paragraph_format.space_after = Pt(0)


def _fill(paragraph: "Paragraph", cell: Cell, *, bold: bool) -> None:
    paragraph.paragraph_format.space_after = Pt(0)
    paragraph.paragraph_format.left_indent = Cm(0.35 * min(cell.depth, 6))
    runs = [paragraph.add_run(_xml_text(" ".join(filter(None, (cell.id, cell.text)))))]
    runs[0].bold = bold
    for line in (*cell.below, ", ".join(name for name, _ in cell.links)):
        if line:
            runs.append(paragraph.add_run(f"\n{_xml_text(line)}"))
            runs[-1].font.color.rgb = _SOFT
    for run in runs:
        run.font.size = Pt(9)


def _picture(document: "Document", png: bytes, words: str, note: Note) -> None:
    shape = document.add_picture(io.BytesIO(png), width=Cm(_WIDTH))
    highest = Cm(_LOW if note.one_page else _HEIGHT)
    if shape.height > highest:
        shape.width, shape.height = round(shape.width * highest / shape.height), highest
    document.paragraphs[-1].paragraph_format.keep_with_next = True
    # The alternative text; python-docx has no door for it.
    shape._inline.docPr.set("descr", _xml_text(words))
    _paragraph(document, f"{words} [{note.mark}]", "soft")


def _axes(height: float) -> "tuple[Figure, Any]":
    load_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure, axes


def _tornado(drivers: Drivers) -> "Figure":
    """Draw the chart of the drivers as a picture: not every Word draws SVG."""
    figure, axes = _axes(0.7 + 0.32 * len(drivers.rows))
    for ends, colour in (("if_false", _FALSE), ("if_true", _TRUE)):
        widths = [getattr(row, ends) - drivers.p for row in drivers.rows]
        axes.barh(range(len(widths)), widths, left=drivers.p, height=0.6, color=colour)
    axes.axvline(drivers.p, color="black")
    axes.set_yticks(range(len(drivers.rows)), [row.id for row in drivers.rows])
    axes.invert_yaxis()
    axes.set_xlim(*drivers.axis)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return figure


def _revisions(vintages: Sequence[Vintage]) -> "Figure":
    figure, axes = _axes(2.8)
    recent = vintages[-MOST_PERIODS:]
    revised = [vintage for vintage in recent if vintage.value != vintage.last]
    days = [vintage.period for vintage in recent]
    axes.plot(days, [vintage.last for vintage in recent], color=_GREY, linewidth=1.2)
    axes.plot(days, [vintage.value for vintage in recent], color=_TRUE)
    axes.plot([row.period for row in revised], [row.last for row in revised], "o", color=_GREY, markersize=4)
    return figure


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
