"""How the answer comes about, as HTML: bars from the base rate to it; and what a reader has to keep in mind."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from workbench.audit.data_read import DATA_READ, no_data_by_line
from workbench.formatting import counted, sandbox_words
from workbench.propositions import NodeId, Tree
from workbench.views.answer import Part, Waterfall, short_name
from workbench.widgets.page_terms import line_on_page
from workbench.widgets.panels import other_findings, rendered

if TYPE_CHECKING:
    from workbench.audit.run_audit import Badge


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A row of the waterfall: from where to where it leads, as shares of the axis; ``points`` None at its two ends.

    The axis is cut, so that an end has no length: its ``left`` is the level, and ``width`` 0.
    """

    name: str
    node: str | None
    p: float | None
    usual: float | None
    left: float
    width: float
    points: float | None


#: Bars between the two ends: they stand beside the chart of the series.
_BARS = 6
#: Drivers that a fold lists: the panel is made anew at every edit, and the tree marks all of them.
_LISTED = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """What a reader has to keep in mind, with the drivers that it is about where they are several: id and name, and how many more."""

    line: str
    drivers: tuple[tuple[NodeId, str], ...] = ()
    more: int = 0


def finding_caveats(findings: Sequence[Mapping[str, str]], tree: Tree) -> list[Caveat]:
    """Return what checks found as caveats: the drivers that read no data first."""
    unread = no_data_by_line({row["node"]: row["words"] for row in findings if row["check"] == DATA_READ})
    return [
        *(
            Caveat(
                line=line,
                drivers=tuple(
                    (node, short_name(tree[node], tree.root.statement))
                    for node in nodes[:_LISTED]
                    if node in tree
                )
                if len(nodes) > 1
                else (),
                more=max(0, len(nodes) - _LISTED),
            )
            for line, nodes in unread.items()
        ),
        *(Caveat(line=line) for line in other_findings(findings)),
    ]


#: By badge, what it says where it holds.
_HOLDS = {
    "Verified": "evidence recomputed",
    "Leak audit": "no data from after the cutoff",
    "Coherence": "no contradictions",
}


def checks(
    document: Mapping[str, Any],
    *,
    badges: "Sequence[Badge]" = (),
    caveats: Sequence[Caveat] = (),
    edited: bool = False,
) -> str:
    """Return one line of what was checked; behind it every check, what to keep in mind, and the facts of the run."""
    findings = document.get("findings")
    return rendered(
        "checks",
        done=document.get("state") == "done",
        badges=badges,
        holds=_HOLDS,
        caveats=[(line_on_page(each.line), each.drivers, each.more) for each in caveats],
        edited=edited,
        facts=[
            ("Cutoff", str(document.get("cutoff", ""))),
            ("Model", str(document.get("model") or "not recorded")),
            ("Sandbox", sandbox_words(document.get("isolation"))),
            ("Calls", _calls(document)),
            ("Run", str(document.get("run_id", ""))),
            ("Track record", (document.get("record") or {}).get("line", "")),
            ("Findings", "being read" if findings is None else " ".join(other_findings(findings))),
        ],
    )


def _calls(document: Mapping[str, Any]) -> str:
    cost = document.get("cost_usd")
    price = "cost unknown" if cost is None else f"USD {cost:.2f}"
    return f"{document.get('model_calls', 0)} model, {document.get('api_calls', 0)} data, {price}"


def way(
    steps: Waterfall | None,
    *,
    arithmetic: str | None,
    mark: str = "",
    answered: bool = True,
) -> str:
    """Return how the answer comes about: bars from the base rate over the drivers to it, and the rule when unfolded.

    ``answered`` says whether the claim has a probability yet: else the bars lead to the simulation of its series.
    """
    return rendered(
        "way",
        bars=waterfall_bars(steps, end="model" if answered else "simulation") if steps is not None else [],
        set_by_series=steps is not None and steps.set_by_series,
        arithmetic=arithmetic,
        mark=mark,
        answered=answered,
    )


def waterfall_bars(steps: Waterfall, *, end: str = "model") -> list[Bar]:
    """Return the bars of a waterfall on an axis that holds what they cover, and no more; the smallest parts are one bar."""
    parts = [*steps.parts]
    if len(parts) > _BARS:
        smaller = parts[_BARS - 1 :]
        name = f"the {counted(len(smaller), 'smaller part')} together"
        parts[_BARS - 1 :] = [Part(name=name, points=fsum(part.points for part in smaller))]
    stations = [*itertools.accumulate((part.points for part in parts), initial=steps.start)]
    low, high = min(stations), max(stations)
    margin = max(0.12 * (high - low), 0.005)
    low, span = low - margin, high - low + 2 * margin

    def level(name: str, at: float) -> Bar:
        return Bar(name=name, node=None, p=at, usual=None, left=(at - low) / span, width=0.0, points=None)

    bars = [
        Bar(
            name=part.name,
            node=part.node,
            p=part.p,
            usual=part.usual if steps.from_base_rate else None,
            left=(min(ends) - low) / span,
            width=abs(part.points) / span,
            points=part.points,
        )
        for part, ends in zip(parts, itertools.pairwise(stations), strict=True)
    ]
    return [level(steps.start_words, steps.start), *bars, level(end, steps.end)]
