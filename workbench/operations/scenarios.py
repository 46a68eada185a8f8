"""Saved what-ifs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from workbench.formatting import percent
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table, columns
from workbench.operations.fields import Author, Names, NumberText, RunName
from workbench.requests import Says


class Scenarios(Operation):
    """Put the saved what-ifs side by side, with their probability-weighted mix; change, copy or close one."""

    places = ("run", "names")
    short = ("undo", "redo", "close", "rename", "duplicate", "annotate", "weigh")

    run: RunName
    names: Names = []
    """Compare these only; all without."""
    undo: str | None = None
    """Take back the scenario's last edit."""
    redo: str | None = None
    """Put back the edit last undone."""
    close: str | None = None
    """Close the scenario; its records stay on the log."""
    rename: Annotated[
        dict[str, str], Says(text="Another name; its records stay on the log.", form="OLD=NEW")
    ] = {}
    duplicate: Annotated[
        dict[str, str], Says(text="The same edits once more, not weighed.", form="NAME=COPY")
    ] = {}
    annotate: Annotated[
        dict[str, str], Says(text="What the scenario supposes, and why.", form="NAME=TEXT")
    ] = {}
    weigh: Annotated[
        dict[str, NumberText], Says(text="The probability of the scenario, for the mix.", form="NAME=P")
    ] = {}
    base_seq: int | None = None
    """The scenario's record that undo, redo or close was decided on (its seq in --json)."""
    author: Author = ""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the scenarios after the changes; ``root`` of each is in [0, 1] or None, and ``mix`` weighs them by their probabilities."""
        from workbench.store import utc_now
        from workbench.whatif import saved_scenarios as saved
        from workbench.whatif.tree_documents import scenario_table
        from workbench.whatif.typed_values import parse_probability

        store, run_id = home.store, home.store.resolve_run(self.run)
        # One transaction: if the second change is refused, the first is not kept either.
        with store.transaction():
            for action in ("undo", "redo", "close"):
                if (name := getattr(self, action)) is not None:
                    saved.change_scenario(
                        store, run_id, action, name, author=self.author, base_seq=self.base_seq
                    )
            for closes, names in ((True, self.rename), (False, self.duplicate)):
                for name, new in names.items():
                    saved.copy_scenario(store, run_id, name, new, author=self.author, closes=closes)
            for name, text in self.annotate.items():
                saved.change_scenario(store, run_id, "annotate", name, author=self.author, rationale=text)
            for name, p in self.weigh.items():
                saved.save_scenario(
                    store, run_id, name, (), author=self.author, probability=parse_probability(p)
                )
        state = home.state(run_id)
        return {"run_id": run_id, **scenario_table(state.tree, state.scenarios, self.names, now=utc_now())}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the claim in each scenario, then every driver that differs."""
        scenarios, mix = document["scenarios"], document["mix"]
        rows = [{"name": "base", **document["base"]}, *scenarios]
        if mix is not None:
            shares = ", ".join(f"{name} {percent(share)}" for name, share in mix["weights"].items())
            rows.append({"name": "mix", "root": mix["root"], "rationale": shares})
        yield columns(
            rows, scenario="name", claim="root %", probability="probability %", stale="stale", expired="expired", rationale="rationale"
        )  # fmt: skip
        if not scenarios:
            yield Remark(
                f"no scenario is open: `workbench whatif {document['run_id']} --set NODE=P --scenario NAME` makes one"
            )
            return
        for row in scenarios:
            if "band" in row:
                yield f"{row['name']}: {row['band']['line']}"
        names = [row["name"] for row in scenarios]
        yield Table(
            ["driver", "base", *names, "statement"],
            [
                [
                    row["id"],
                    percent(row["base"]),
                    *(percent(row["scenarios"][name]) for name in names),
                    row["statement"],
                ]
                for row in document["nodes"]
            ],
        )
