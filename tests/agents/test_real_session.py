"""The notebook grounder in a real kernel: the failing cell is mended, and a kill after any line of the journal is survived."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from proxies.broker import ProxySettings, open_broker
from proxies.catalogue import load_catalogue
from proxies.ledger import Address, Answer, MemoryLedger
from sandbox import Sandbox, Session, SessionSpec
from sandbox.record.journal import read_journal
from tests.agents.scripted import CUTOFF, LedgerAsker
from tests.agents.test_fake_server import HttpAsker
from tests.fakes.leaf import make_leaf_task
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.agents.base import Grounding
from workbench.agents.registry import open_grounder
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.models.base import NodeRef

LEAF = NodeRef(id="P1.1", statement="The S&P 500 closes above 2650 on 2018-08-31")


def cells(path: Path) -> list[tuple[str, str, bool, str]]:
    """Kind, source, superseded and text of a journal's cells."""
    return [
        (cell.kind, cell.source, cell.superseded, cell.result.text() if cell.result else "")
        for cell in read_journal(path)
    ]


@pytest.mark.long
async def test_a_leaf_in_a_real_kernel_survives_a_kill_after_any_line(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    catalogue = load_catalogue()
    broker = open_broker(ProxySettings.from_environment({}))
    data = broker.session(CUTOFF, MemoryLedger())

    async def call(path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        place = Address(run="r", node=LEAF.id, trial=1, attempt=1, stage="cell", step=cell, retry=nth)
        return await data.call(path, params, place)

    box = Sandbox()
    level = (await box.probe()).level

    async def ground(name: str, ask: Any) -> tuple[Grounding, Path]:
        spec = SessionSpec(
            name="P1.1.1.1",
            journal=tmp_path / f"{name}.jsonl",
            notebook=tmp_path / f"{name}.ipynb",
            isolation=level,
        )
        session: Session = await box.open(spec, call)
        task = make_leaf_task(
            LEAF, cutoff=CUTOFF, ask=ask, session=session, data=CatalogueGuide.of(catalogue)
        )
        try:
            result = await open_grounder().ground(task)
        finally:
            await session.close()
        assert isinstance(result, Grounding), result
        return result, spec.journal

    try:
        policy = Policy(fails_once={LEAF.id}, reads_docs={LEAF.id}, steps=3, p={LEAF.id: 0.58})
        with OpenAIServer(policy) as server:
            ledger = LedgerAsker(HttpAsker(server.url))
            first, journal = await ground("whole", ledger)
            asked = ledger.asked_on
            assert (first.belief.p, dict(first.trace)) == (0.58, {"steps": 3, "failed_cells": 2})
            whole = cells(journal)
            assert [superseded for kind, _, superseded, _ in whole if kind == "code"] == [
                True,
                True,
                False,
                False,
                False,
            ]
            assert "last 2018-06-29 2718.37" in whole[3][3]
            documented = server.by_stage("step")[1].messages[-1]
            assert documented["role"] == "tool" and "embedded/series/observations" in documented["content"]
            pictures = [
                turn for turn in server.by_stage("step")[-1].messages if isinstance(turn["content"], list)
            ]
            assert len(pictures) == 1

            lines = journal.read_bytes().splitlines(keepends=True)
            # every line in the long suite, a few of them otherwise
            for kept in range(1, len(lines), 1 if request.config.getoption("--soak") else 6):
                name = f"cut{kept}"
                (tmp_path / f"{name}.jsonl").write_bytes(b"".join(lines[:kept]))
                again, cut = await ground(name, ledger)
                assert again == first, f"after line {kept}"
                assert cells(cut) == whole, f"after line {kept}"
                notebook = nbformat.read(cut.with_suffix(".ipynb"), as_version=4)
                nbformat.validate(notebook)
                await asyncio.sleep(0)
            assert ledger.asked_on == asked, "a reply on record was asked for again"
    finally:
        await box.aclose()
        await broker.aclose()
