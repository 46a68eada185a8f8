"""Write the note as one HTML file: no script, no request, links only within itself; it opens anywhere and prints well.

Every text is escaped by the template. Reports are Markdown of a model's: they pass the sanitiser of proofs and then a second,
smaller allow-list, which has no links, pictures or attributes.
"""

import base64
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from sandbox.jupyter.sanitize import clean_markdown
from workbench.audit.vintages import vintage_plot
from workbench.engine.record.run_files import write_text_atomically
from workbench.engine.record.state import RunState
from workbench.formatting import meaning, percent
from workbench.reports.note_content import note_of
from workbench.reports.note_plots import Plot
from workbench.reports.note_tree import Driver, Drivers, Note, Report
from workbench.store import Store
from workbench.templates import html_environment
from workbench.views.fan_chart import fan_key, fan_svg, fan_words
from workbench.views.trail import BEGINNING, linked_numbers

if TYPE_CHECKING:
    from jinja2 import Template


#: What a report may be made of in a note.
_TAGS = {
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
}
_ANCHOR = re.compile(r'<a(?: href="([^"]*)")?[^>]*>(.*?)</a>', re.DOTALL)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_HEADING = re.compile(r"(</?)h[1-6]>")
#: Width of the drawing of one driver, in the units of its view box.
_CHART = 400.0


def note_html(note: Note) -> str:
    """Render the note as an HTML document."""
    return _template().render(note=note)


@cache
def _template() -> "Template":
    environment = html_environment("workbench.reports", dated=unbroken_dates, defined=_defined)
    environment.globals.update(
        percent=percent,
        report_html=report_markup,
        vintage_plot=vintage_plot,
        beginning=BEGINNING,
        driver_chart=driver_chart,
        data_url=data_url,
        fan_svg=fan_svg,
        fan_words=fan_words,
        fan_key=fan_key,
    )
    return environment.get_template("note.html.j2")


def unbroken_dates(text: str) -> Markup:
    """Escape a text as HTML in which no line breaks inside a date."""
    return Markup(_DATE.sub(r'<span class="d">\g<0></span>', escape(text, quote=True)))


def _defined(html: Markup) -> Markup:
    """Put the definition of the score behind its name, for a hover."""
    word = "Brier Index"
    return html.replace(word, Markup('<abbr title="{}">{}</abbr>').format(meaning(word), word), 1)


def leaf_report_html(text: str) -> Markup:
    """Render a model's Markdown as words, lists and tables only; a link becomes its text and its address."""
    import nh3

    linked = _ANCHOR.sub(_with_address, clean_markdown(text))
    # Headings of a report lie below those of the note, whatever their rank in the report.
    return Markup(nh3.clean(_HEADING.sub(r"\1h4>", linked), tags=_TAGS, attributes={}, link_rel=None))


def report_markup(report: Report) -> Markup:
    """Render a leaf's report with links from its numbers to the cells on the same page that printed them."""
    html = leaf_report_html(report.text)
    # Cleaned first: what is put in around a number is ours.
    return html if report.trail is None else Markup(linked_numbers(html, report.trail, f"#{report.node}-"))


def _with_address(match: re.Match[str]) -> str:
    address, words = match[1], match[2]
    if not address or not address.startswith(("http://", "https://")) or address in words:
        return words
    return f"{words} ({escape(address, quote=True).replace('&amp;amp;', '&amp;')})"


def data_url(plot: Plot) -> str:
    """Encode a plot as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(plot.png).decode()}"


def driver_chart(drivers: Drivers, driver: Driver) -> Markup:
    """Draw one bar of the tornado as inline SVG: the claim from the leaf false to the leaf true, and its value now."""
    low, high = drivers.axis
    ends = sorted(((driver.if_false, "false"), (driver.if_true, "true")))
    start, end, now = (
        _CHART * (min(high, max(low, value)) - low) / (high - low)
        for value in (ends[0][0], ends[1][0], drivers.p)
    )
    words = escape(
        f"{driver.statement}: the claim from {percent(driver.if_false)} if false to {percent(driver.if_true)} if true",
        quote=True,
    )
    # Only numbers of ours and escaped words go in.
    return Markup(
        f'<svg class="bar" viewBox="0 0 {_CHART:g} 20" preserveAspectRatio="none" role="img" aria-label="{words}">'
        f'<rect class="track" x="0" y="9" width="{_CHART:g}" height="2"/>'
        f'<rect class="if-{ends[0][1]}" x="{start:.1f}" y="3" width="{max(0.0, now - start):.1f}" height="14"/>'
        f'<rect class="if-{ends[1][1]}" x="{now:.1f}" y="3" width="{max(0.0, end - now):.1f}" height="14"/>'
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
