"""Write the reading of a claim, and whether it can be treated, as lines for a person."""

from collections.abc import Mapping
from typing import Any

from proxies.remedies import Option, Terms, shell_terms


def reading_lines(document: Mapping[str, Any], terms: Terms = shell_terms) -> list[str]:
    """Return the lines of a document for a person; ``terms`` words what would help, as its screen does it.

    >>> from datetime import date
    >>> from workbench.questions.readings.read import read
    >>> from proxies.asof.clock import Cutoff
    >>> from workbench.offline.claim_coverage import reading_document
    >>> found = read("VIX above 20 on 2018-12-31", date(2018, 6, 30))
    >>> reading_lines(reading_document(found, Cutoff.parse("2018-06-30"), "offline/analyst"))
    ['Read as: The VIX closes above 20 on 2018-12-31']
    """
    best = document["best"]
    lines = [f"Read {f'by {by} ' if (by := best['read_by']) else ''}as: {best['statement']}"] if best else []
    if not best and document["found"]:
        lines.append("Found: " + ", ".join(f"{slot} {words!r}" for slot, words in document["found"].items()))
    if document["leftover"]:
        lines.append("Not understood: " + ", ".join(document["leftover"]))
    if document["missing"]:
        lines.append("Missing: " + ", ".join(document["missing"]))
    if document["form"] and not document["coverage"]["treatable"]:
        lines.append(f"Write it as: {document['form']['sentence']}")
    of_model = bool(document["others"]) and document["others"][0]["read_by"]
    if document["others"]:
        several = f"Read by {of_model} as:" if of_model else "It can be read in several ways:"
        lines.append(several if not best else "Or:")
        lines += [
            f"  {number}) {reading['statement']}"
            for number, reading in enumerate(document["others"], start=1 + bool(best))
        ]
    if of_model:
        lines.append(f"Take it with {terms(Option('reading', '1'))}.")
    lines += [f"  {note}" for note in document["notes"]]
    coverage = document["coverage"]
    if not coverage["treatable"] and (best or document["form"]):
        lines.append(f"Not possible: {coverage['reason']}")
        lines += [f"Possible with {terms(Option(name, value))}" for name, value in coverage["fix"].items()]
    elif best and coverage["reason"]:
        lines.append(coverage["reason"])
    return lines
