"""Write the note as Markdown for a mail or a wiki, without a picture, link or tag of a stranger's."""

import re
from collections.abc import Sequence

from sandbox.record.passive import passive_markdown
from workbench.audit.vintages import vintage_words
from workbench.formatting import counted, percent, quoted
from workbench.reports.note_content import Note
from workbench.terminal import printable
from workbench.views.fan_chart import NO_SERIES, fan_words, places

#: Marks that mean something anywhere in a line; an ampersand only where it begins an entity. GitHub sets $...$ as a formula.
_MARKS = re.compile(r"([\\`*_\[\]<|~$]|&(?=#?\w+;))")
#: Marks that mean something at the start of a line only.
_LINE_START = re.compile(r"^(?:([-+#>=])|(\d{1,9})([.)])(?=\s|$))")
#: Columns and rows of the fan of the series as a table; about so many rows.
FAN_SHARES, _FAN_ROWS = ("0.05", "0.25", "0.5", "0.75", "0.95"), 5
#: Periods of a series in a table of its revisions, the latest.
_VINTAGES = 12
_ADDRESS = re.compile(r"(https?)://", re.IGNORECASE)


def note_markdown(note: Note) -> str:
    """Write the note as Markdown."""
    lines = [f"# {words(note.statement)}", "", f"{note.judged}.", ""]
    for line in note.warnings:
        lines += [f"**{words(line)}**", ""]
    lines += [words(note.sentence), ""] if note.sentence else []
    lines += [f"**{note.headline}**", ""]
    lines += [f"Band: {words(note.band_words)}", ""] if note.band_words else []
    if note.record:
        lines += [f"Record: {words(note.record)}", ""]
    if note.outcome:
        lines += [words(note.outcome), ""]
    for line in note.summary[:2] if note.one_page else note.summary:
        lines += [words(line), ""]
    lines += ["## The series", ""]
    if note.fan is None:
        lines += [NO_SERIES, ""]
    elif not note.fan["fan"]:
        past = note.fan["past"]
        lines += [f"{words(fan_words(note.fan))} ({note.mark}).", ""]
        # the newest last, and from there back in even steps
        steps = past[:: -max(1, len(past) // _FAN_ROWS)][_FAN_ROWS::-1]
        lines += _table(
            ("day", "value"), [(row["day"], quoted(row["value"], places(note.fan))) for row in steps]
        )
    else:
        lines += [f"{words(fan_words(note.fan))} ({note.mark}).", ""]
        days = note.fan["fan"][:: max(1, len(note.fan["fan"]) // _FAN_ROWS)]
        last = note.fan["fan"][-1]
        lines += _table(
            ("day", *(f"{float(share):.0%}" for share in FAN_SHARES)),
            [
                (row["day"], *(quoted(row[share], places(note.fan)) for share in FAN_SHARES))
                for row in (*(day for day in days if day is not last), last)
            ],
        )
    if not note.one_page:
        lines += ["## The tree", "", *_tree(note)]
    if note.drivers:
        lines += [
            "## What it hinges on",
            "",
            f"Where the claim would stand if one driver turned out false or true ({note.mark}).",
            "",
        ]
        lines += _table(
            ("", "driver", "p", "if false", "if true"),
            [
                (
                    driver.id,
                    driver.statement,
                    percent(driver.p),
                    percent(driver.if_false),
                    percent(driver.if_true),
                )
                for driver in note.drivers
            ],
        )
    if note.one_page:
        more = f"Tree, evidence and audit are in the whole note (`workbench export {note.run_id}`)."
        return "\n".join([*lines, more]) + "\n"
    if note.scenarios:
        lines += ["## Scenarios", ""]
        lines += _table(
            ("scenario", "claim", "from the base", "probability", "why", "what it changes", "by"),
            [
                (
                    scenario.name,
                    percent(scenario.root),
                    scenario.gap,
                    scenario.probability,
                    scenario.why,
                    "; ".join(scenario.edits),
                    scenario.author,
                )
                for scenario in note.scenarios
            ],
        )
        lines += [words(note.mix), ""] if note.mix else []
    lines += ["## Evidence", "", *_evidence(note)]
    lines += ["## Audit", "", *_table(("check", "", "what it says"), note.checks)]
    review = (
        ("Sign-off", note.sign_offs),
        ("Checklist", [f"{'done' if done else 'OPEN'}: {text}" for text, done in note.checklist]),
        ("Comments", note.comments),
        ("Estimates", note.estimates),
        ("Notes", note.notes),
    )
    if any(entries for _, entries in review):
        lines += ["## Review", ""]
    for title, entries in review:
        if entries:
            lines += [f"### {title}", "", *(f"- {words(entry)}" for entry in entries), ""]
    if note.readings:
        lines += ["## Data that was read", ""]
        lines += _table(
            ("source", "asked for", "by", "as of", "rows withheld", "risk of later knowledge"),
            [
                (
                    reading.path,
                    reading.asked_for,
                    reading.nodes,
                    reading.as_of,
                    str(reading.dropped),
                    reading.residual,
                )
                for reading in note.readings
            ],
        )
    facts = [("manifest id", note.manifest_id), *note.facts]
    lines += ["## What it rests on", "", *_table(("", ""), facts)]
    lines += ["## Every number in full", "", *_table(("of", "with all digits"), note.figures)]
    if note.compared:
        lines += ["## Appendix: shown for comparison, with no weight in the answer", ""]
        lines += [*(f"- {leaf}: {words(line)}" for leaf, line in note.compared), ""]
    if note.transcript:
        lines += ["## Appendix: every model call", ""]
    for heading, parts in note.transcript:
        lines += [f"### {words(heading)}", ""]
        for name, text in parts:
            # Indented by four: a block that shows what it holds, whatever marks and fences stand in it.
            block = [f"    {line}".rstrip() for line in printable(text).split("\n")]
            lines += [f"*{words(name)}*", "", *block, ""]
    return "\n".join(lines).rstrip() + "\n"


def words(text: str) -> str:
    r"""Escape a text for Markdown: every mark is shown, and an address is no link.

    >>> print(words("<b>x</b> [y](javascript:z) 1 + 2"))
    \<b>x\</b> \[y\](javascript:z) 1 + 2
    """
    plain = " ".join(printable(text).split())
    escaped = _LINE_START.sub(_escaped_start, _MARKS.sub(r"\\\1", plain))
    return _ADDRESS.sub(r"\1&#58;//", escaped)  # viewers make a link of a bare address


def _escaped_start(match: re.Match[str]) -> str:
    mark, number, point = match.groups()
    return f"\\{mark}" if mark else f"{number}\\{point}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(map(words, row))} |" for row in rows), ""]


def _tree(note: Note) -> list[str]:
    lines = []
    for row in note.rows:
        indent = "  " * row.depth
        parts = [f"**{row.id}** {percent(row.p)} {words(row.statement)}"]
        parts += [f"= {words(row.rule)}"] if row.rule else []
        parts += map(words, row.remarks)
        # A backslash ends a line where two spaces would be lost in an editor.
        lines.append(f"{indent}- " + f"\\\n{indent}  ".join(parts))
    if note.rows_left_out:
        lines.append(f"\n{note.rows_left_out} drivers that move the claim less are not listed.")
    return [*lines, ""]


def _evidence(note: Note) -> list[str]:
    lines = []
    for leaf in note.evidence:
        lines += [f"### {leaf.id} {words(leaf.statement)}: {percent(leaf.p)}", ""]
        lines += [f"**{words(leaf.key_factor)}**", ""] if leaf.key_factor else []
        lines += [f"**READ NO DATA: {words(leaf.without_data)}**", ""] if leaf.without_data else []
        lines += [leaf.spread, ""] if leaf.spread else []
        # A quotation, so that headings and rules of a report stay inside it.
        report = passive_markdown(printable(leaf.report))
        lines += [*(f"> {line}".rstrip() for line in report.splitlines()), ""] if report else []
        lines += [f"Plot in the proof: {words(f'{plot.caption} [{note.mark}]')}\n" for plot in leaf.plots]
        for vintages in leaf.vintages:
            lines += [f"How its figures were revised: {words(vintage_words(vintages))} [{note.mark}]", ""]
            lines += _table(
                ("period", "first print", "known since", "at the cutoff", "known since"),
                [
                    (
                        str(vintage.period),
                        f"{vintage.first:g}",
                        str(vintage.first_known),
                        f"{vintage.last:g}",
                        str(vintage.last_known),
                    )
                    for vintage in vintages[-_VINTAGES:]
                ],
            )
    if note.evidence_left_out:
        lines += [
            f"{counted(len(note.evidence_left_out), 'more driver')}, which move the claim less, are left out here.",
            "",
        ]
    return lines
