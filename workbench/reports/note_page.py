"""Write the note as one HTML file: no script, no request, links only within itself; it opens anywhere and prints well.

Every text is escaped by the template. Reports are Markdown of a model's: they pass the sanitiser of proofs and then a second,
smaller allow-list, which has no links, pictures or attributes.
"""

import base64
import re
from functools import cache
from html import escape
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from sandbox.jupyter.sanitize import clean_markdown
from workbench.audit.vintages import vintage_plot
from workbench.engine.record.run_files import write_text_atomically
from workbench.engine.record.state import RunState
from workbench.formatting import meaning, percent
from workbench.reports.note_content import Driver, Note, note_of
from workbench.reports.note_evidence import NoteEvidence
from workbench.reports.note_plots import Plot
from workbench.store import Store
from workbench.templates import html_environment
from workbench.views.fan_chart import NO_SERIES, fan_key, fan_svg, fan_words
from workbench.views.trail import BEGINNING, linked_numbers

if TYPE_CHECKING:
    from jinja2 import Template


#: What a report may be made of in a note.
_TAGS = frozenset(
    [
        "p",
        "br",
        "hr",
        "strong",
        "b",
        "em",
        "i",
        "s",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "h3",
        "h4",
        "h5",
        "h6",
    ]
)
_ANCHOR = re.compile(r'<a(?: href="([^"]*)")?[^>]*>(.*?)</a>', re.DOTALL)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_HEADING = re.compile(r"(</?)h[1-6]>")
#: Width of the drawing of one driver, in the units of its view box.
_CHART = 400.0


def note_html(note: Note) -> str:
    """Render the note as an HTML document."""
    return _template().render(
        note=note,
        percent=percent,
        leaf_report=leaf_report,
        manifest=note.manifest_id[:19],
        vintage_plot=vintage_plot,
        beginning=BEGINNING,
        axis=chart_axis(note),
        chart=lambda driver: driver_chart(note, driver),
        picture=data_url,
        fan_svg=fan_svg,
        fan_words=fan_words,
        fan_key=fan_key,
        no_series=NO_SERIES,
    )


@cache
def _template() -> "Template":
    environment = html_environment("workbench.reports", dated=unbroken_dates, meaning=meaning)
    return environment.get_template("note.html.j2")


def unbroken_dates(text: str) -> Markup:
    """Escape a text as HTML in which no line breaks inside a date."""
    return Markup(_DATE.sub(r'<span class="d">\g<0></span>', escape(text, quote=True)))


def leaf_report_html(text: str) -> Markup:
    """Render a model's Markdown as words, lists and tables only; a link becomes its text and its address."""
    import nh3

    linked = _ANCHOR.sub(_with_address, clean_markdown(text))
    # Headings of a report lie below those of the note, whatever their rank in the report.
    return Markup(nh3.clean(_HEADING.sub(r"\1h4>", linked), tags=set(_TAGS), attributes={}, link_rel=None))


def leaf_report(leaf: NoteEvidence) -> Markup:
    """Render a leaf's report with links from its numbers to the cells on the same page that printed them."""
    html = leaf_report_html(leaf.report)
    # Cleaned first: what is put in around a number is ours.
    return html if leaf.trail is None else Markup(linked_numbers(html, leaf.trail, f"#{leaf.id}-"))


def _with_address(match: re.Match[str]) -> str:
    address, words = match[1], match[2]
    if not address or not address.startswith(("http://", "https://")) or address in words:
        return words
    return f"{words} ({escape(address, quote=True).replace('&amp;amp;', '&amp;')})"


def data_url(plot: Plot) -> str:
    """Encode a plot as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(plot.png).decode()}"


# --- the chart of the drivers ---------------------------------------------------------------------------------------------


def chart_axis(note: Note) -> tuple[float, float]:
    """Return the ends of the chart's axis: the drivers' ends widened to whole tenths, in [0, 1]."""
    ends = [end for driver in note.drivers for end in (driver.low, driver.high)]
    if not ends:
        return 0.0, 1.0
    # Rounded first: 0.3 / 0.1 is a little below 3, and would widen the axis by an empty tenth.
    high = min(1.0, max(0.1, ceil(round(10 * max(ends), 6)) / 10))
    return max(0.0, min(floor(round(10 * min(ends), 6)) / 10, high - 0.1)), high


def driver_chart(note: Note, driver: Driver) -> Markup:
    """Draw one bar of the tornado as inline SVG: the claim from the leaf false to the leaf true, and its value now."""
    low, high = chart_axis(note)
    start, end, now = (
        _CHART * (min(high, max(low, value)) - low) / (high - low)
        for value in (driver.low, driver.high, note.p or 0.0)
    )
    words = escape(
        f"{driver.statement}: the claim from {percent(driver.if_false)} if false to {percent(driver.if_true)} if true",
        quote=True,
    )
    lower, upper = ("true", "false") if driver.if_true < driver.if_false else ("false", "true")
    # Only numbers of ours and escaped words go in.
    return Markup(
        f'<svg class="bar" viewBox="0 0 {_CHART:g} 20" preserveAspectRatio="none" role="img" aria-label="{words}">'
        f'<rect class="track" x="0" y="9" width="{_CHART:g}" height="2"/>'
        f'<rect class="if-{lower}" x="{start:.1f}" y="3" width="{max(0.0, now - start):.1f}" height="14"/>'
        f'<rect class="if-{upper}" x="{now:.1f}" y="3" width="{max(0.0, end - now):.1f}" height="14"/>'
        f'<rect class="now" x="{now - 1:.1f}" y="0" width="2" height="20"/></svg>'
    )


def report_html(store: Store, state: RunState) -> str:
    """Render a run's note as one page; every text of a model is escaped or cleaned."""
    return note_html(note_of(store, state))


def write_report(store: Store, state: RunState) -> Path:
    """Write ``report.html`` into the run's folder and return its path."""
    path = store.folder(state.run_id) / "report.html"
    write_text_atomically(path, report_html(store, state))
    return path
