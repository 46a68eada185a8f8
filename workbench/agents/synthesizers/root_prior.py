"""How often claims like this come true: asked of the claim alone, before its children are seen, and kept beside what they give."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.agents.conversation import ask_once
from workbench.agents.replies.reply_schemas import CONCLUSION
from workbench.agents.replies.stage_replies import parse_conclusion
from workbench.models.base import Asker, NodeRef
from workbench.prompts import prompts_of
from workbench.propositions.values import logit

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings

#: Stage of its ledger address.
STAGE = "prior"
#: Distance in logits from which a value deserves a second look: 5 % against 19 %, 50 % against 82 %.
FAR = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A claim's own prior: the share, of how many cases (None: not said), which cases, and the reasoning."""

    p: float
    n: int | None
    cases: str
    report: str

    def far_from(self, p: float) -> bool:
        """Whether a value lies so far off that one of the two should be looked at again.

        >>> Prior(p=0.05, n=None, cases="", report="").far_from(0.4)
        True
        """
        return abs(logit(p) - logit(self.p)) > FAR

    def doubt(self, node: str, p: float) -> str:
        """Say to whoever combined the children how far they have led."""
        return (
            f"Before its children were seen, {node} was given {self.p:.3g} ({self.cases.rstrip('.')}). Your numbers give {p:.3g}."
            " Say which children justify so long a way, or give weights that go less far."
        )

    def for_report(self) -> str:
        """The prior as it stands at the end of the root's report: in words, and as the record that `root_prior` reads."""
        of = f" of {self.n} cases" if self.n else ""
        record = json.dumps({"prior": self.p, "n": self.n, "cases": self.cases})
        return f"**Before its drivers were seen.** Claims like this come true {self.p:.3g}{of}: {self.cases} {self.report}\n\nAs a record:\n\n{record}"


async def state_prior(statement: NodeRef, *, cutoff: Cutoff, ask: Asker, settings: AgentSettings) -> Prior:
    """Return the prior of a claim; raises as `Conversation.exchange`."""
    said = await ask_once(
        ask,
        STAGE,
        parse_conclusion,
        about=f"{statement.id}: {statement.statement}",
        nodes=(statement,),
        cutoff=cutoff,
        settings=settings,
        reply_format=prompts_of(ask).render("prior_reply"),
        schema=CONCLUSION,
        keeps_prose=True,
    )
    report = said.report.removesuffix(said.numbers.lines(said.p)).strip()
    return Prior(p=said.p, n=said.numbers.n, cases=said.key_factor, report=report)
