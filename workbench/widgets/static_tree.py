"""The tree as plain HTML: for saved notebooks, nbconvert, GitHub, and every page where no kernel answers."""

from html import escape

from workbench.propositions import Tree
from workbench.widgets.session import Row, WhatIfSession

# Styles stand on the elements: GitHub and mail drop style sheets, and then this is still a readable table.
_CELL = "padding:4px 10px 4px 0;border-bottom:1px solid #d9e0e6;vertical-align:top;text-align:"
_MUTED = "opacity:.7;font-size:11.5px"


def tree_html(tree: Tree | WhatIfSession) -> str:
    """Return the tree as one HTML table: id, statement, rule or key factor, probability, and the base where it differs.

    All text is escaped; there are no scripts.
    """
    session = tree if isinstance(tree, WhatIfSession) else WhatIfSession(tree)
    body = "".join(_line(row) for row in session.rows.values())
    head = "".join(
        f'<th style="{_CELL}{side};font-weight:600">{name}</th>'
        for name, side in (("", "left"), ("Proposition", "left"), ("Probability", "right"))
    )
    return (
        '<table class="wb-static" style="border-collapse:collapse;font-size:13px;line-height:1.4;'
        'font-variant-numeric:tabular-nums;max-width:960px">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _line(row: Row) -> str:
    indent = "&nbsp;" * (4 * row["level"])
    sign = {"Positive": " +", "Negative": " &minus;"}.get(row["polarity"] or "", "")
    marks = "".join(f' <em style="font-size:11.5px">({mark["name"]})</em>' for mark in row["marks"])
    note = f'<br><span style="{_MUTED}">{escape(row["note"])}</span>' if row["note"] else ""
    before = f'<br><s style="{_MUTED}">{row["base_text"]}</s>' if row["moved"] else ""
    return (
        f'<tr><td style="{_CELL}left;white-space:nowrap">{indent}<code>{row["id"]}</code>{sign}</td>'
        f'<td style="{_CELL}left">{escape(row["statement"])}{marks}{note}</td>'
        f'<td style="{_CELL}right;white-space:nowrap"><strong>{row["text"]}</strong>{before}</td></tr>'
    )
