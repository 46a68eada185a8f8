"""How a synthesizer is shown an inner node and its children, and how its equation is spelt for the answer."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.propositions import NodeId, Polarity, Proposition

#: Characters of a child's report and key factor in its parent's prompt; a report of a megabyte would fill a model's context.
LONGEST_REPORT = 12_000
LONGEST_KEY_FACTOR = 600


def child_block(node: Proposition, child: Proposition) -> str:
    """What a synthesizer is shown of a child: id, polarity, statement, p, key factor, and its report."""
    assert child.belief is not None
    lines = [
        f"{child.id} ({_polarity(node, child.id)}): {child.statement}",
        f"p = {child.belief.p!r}",
        f"Key factor: {_capped(child.belief.key_factor, LONGEST_KEY_FACTOR, child.id) or '(none given)'}",
        f'<report of="{child.id}">',
        _capped(child.belief.report, LONGEST_REPORT, child.id) or "(no report)",
        "</report>",
    ]
    return "\n".join(lines)


def _capped(text: str, most: int, node: NodeId) -> str:
    """A text as another prompt takes it; what is left out is said, and where it stands."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n({len(text) - most} more characters stand in the evidence of {node})"


def equation_to_fill(node: Proposition, children: Sequence[Proposition]) -> str:
    """The linear rule of a node with names for its numbers: ``p(P0) = b0 + w1 × p(P1) + w2 × (1 − p(P2))``."""
    terms = ["b0"]
    for number, child in enumerate(children, 1):
        against = node.polarities.get(child.id) is Polarity.NEGATIVE
        terms.append(f"w{number} × " + (f"(1 − p({child.id}))" if against else f"p({child.id})"))
    return f"p({node.id}) = {' + '.join(terms)}"


def probabilities(children: Sequence[Proposition]) -> dict[NodeId, float]:
    """Soft truth values by id."""
    return {child.id: child.belief.p for child in children if child.belief is not None}


def in_brief(node: Proposition, children: Sequence[Proposition]) -> str:
    """Return the node and a line for each child with its p, as a repeated ask says them again."""
    lines = [f"{node.id}: {node.statement}"]
    for child in children:
        p = probabilities([child])[child.id]
        lines.append(f"- {child.id} ({_polarity(node, child.id)}), p = {p!r}: {child.statement}")
    return "\n".join(lines)


def _polarity(node: Proposition, child: NodeId) -> str:
    polarity = node.polarities.get(child)
    return "no polarity stated" if polarity is None else str(polarity)
