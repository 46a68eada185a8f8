"""What a driver rests on: its numbers followed to the cells that printed them and the rows that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.formatting import percent
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Facts, Raw, Table, cell_of, columns, words_of
from workbench.operations.fields import RunName


class Evidence(Operation):
    """Show the evidence of a driver: the cell behind each number of its report, and each cell's data calls."""

    places = ("run", "node")
    short = ("call",)

    run: RunName
    node: str
    """A driver with a conclusion."""
    call: int | None = None
    """Print the raw answer of this data call, as the cell read it."""
    trial: int = 1
    """Which trial of the driver."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the evidence of a trial.

        ``numbers`` are those of the report that a cell printed, each with that cell; ``accounting`` are the base rate and the other
        figures that a notebook's conclusion states, with the cell that printed each, null for one from no cell; ``cells`` name their
        data calls, and in ``findings`` what a reader should know of them; ``calls`` say what was asked and sent, what the cutoff did
        to it, and the hash of the answer, which ``call`` returns. ``by_chance`` says between what chance alone may move a driver that
        rests on past windows; null for others. ``findings`` of the driver itself say that it read no data, and what of its conclusion
        does not hold to its notebook or to itself.
        """
        from workbench.audit.data_read import leaves_without_data
        from workbench.audit.run_findings import run_findings
        from workbench.engine.record.run_files import manifest_id
        from workbench.views.trail import evidence_trail, raw_answer
        from workbench.whatif.band import past_windows

        state = home.state(self.run)
        if self.call is not None:
            raw = raw_answer(home.store, state, self.node, self.call, self.trial)
            return {"call": self.call, "answer": raw.decode("utf-8", "replace")}
        trail = evidence_trail(home.store, state, self.node, self.trial)
        belief = state.trial(self.node, self.trial).belief
        assert belief is not None, "a trail is of a concluded trial"
        windows = past_windows(state.tree, [self.node]).get(self.node)
        findings = run_findings(state, leaves_without_data(home.store, state))
        proposition = state.tree[self.node]
        return {
            "run_id": state.run_id,
            "manifest_id": manifest_id(home.store, state.run_id),
            "statement": proposition.statement,
            "p": belief.p,
            **trail.to_json(),
            "findings": [row for row in findings if row["node"] == self.node],
            "by_chance": None if windows is None else windows.to_json(proposition.p or 0.0),
            "earlier": [row.to_json() for row in state.earlier.get(self.node, [])],
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the report, then where each number comes from and what was asked; hashes stand last."""
        from workbench.audit.run_findings import finding_lines

        if self.call is not None:
            yield Raw(f"{document['answer']}\n".encode())
            return
        statement = document["statement"]
        yield f"{document['node']}  {percent(document['p'])}  {statement}\n"
        yield from (f"{line}\n" for line in finding_lines(document["findings"]))
        yield document["report"].removeprefix(f"**{statement}**").lstrip().replace("**", "").replace("`", "")
        if document["by_chance"] is not None:
            yield f"\n{document['by_chance']['line']}"
        if document["accounting"]:
            rows = [{**row, "cell": row["cell"] or "from no cell"} for row in document["accounting"]]
            yield columns(rows, figure="name", value="value g", cell="cell")
        quoted: dict[str, list[str]] = {}
        for number in document["numbers"]:
            quoted.setdefault(number["cell"], []).append(number["text"])
        yield Table(
            ["cell", "", "numbers", "data calls", "findings"],
            [
                [
                    cell["id"],
                    (cell["title"] or cell["first_line"])[:60],
                    *map(cell_of, (quoted.get(cell["id"], []), cell["calls"], cell["findings"])),
                ]
                for cell in document["cells"]
            ],
        )
        for call in document["calls"]:
            facts = {**call, "answer": f"--call {call['number']}"}
            yield Facts(
                [(words_of(name), cell_of(fact)) for name, fact in facts.items() if fact not in (None, [], 0)]
            )
        if document["earlier"]:
            yield columns(
                document["earlier"],
                before="reopened_utc", p="p %", key_factor="key_factor", reason="reason",
            )  # fmt: skip
        yield f"Trial {document['trial']}, attempt {document['attempt']}, manifest {document['manifest_id'] or 'none'}."
