"""Grounders without a notebook: one asks the model, one asks a data source, one asks nobody, one is broken."""

from itertools import pairwise

from stranger.evidence import note
from workbench.agents.base import Grounding
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.registry import no_options
from workbench.models.base import Message, ModelRequest
from workbench.propositions import Belief


class GuessGrounder:
    """Takes the model's first words for a probability."""

    def __init__(self, settings, options):
        no_options("stranger-guess", options)

    async def ground(self, task):
        request = ModelRequest(
            messages=(Message(role="user", content=f"How likely: {task.node.statement}"),),
            stage="stranger-guess",
            cutoff=task.cutoff.text,
            nodes=(task.node,),
        )
        reply = await task.ask(request, stage="stranger-guess", step=0, retry=0)
        belief = Belief(p=float(reply.text), key_factor="a guess", report=f"The model said {reply.text}.")
        return Grounding(belief=belief, evidence=note(reply.text), trace={"steps": 1})


class SeriesGrounder:
    """The share of days on which a series rose, among the last ``days``; its only setting."""

    def __init__(self, settings, options):
        self.days = int(options.pop("days", 20))
        no_options("stranger-series", options)

    async def ground(self, task):
        answer = await task.call_api("embedded/series/observations", {"series_id": "SP500"}, step=0)
        values = [row["value"] for row in answer.data][-self.days - 1 :]
        p = sum(later > earlier for earlier, later in pairwise(values)) / self.days
        steps = (
            TraceStep(
                title="Read the index", text=f"{len(values)} closes", answers=(answer.meta["content_hash"],)
            ),
            TraceStep(title="Count the days on which it rose", text=f"{p:.0%} of {self.days}", p=p),
        )
        return Grounding(
            belief=Belief(p=p, key_factor="days up", report=f"It rose on {p:.0%} of the days."),
            evidence=Evidence(steps=steps),
            trace={"steps": 2},
        )


class StepsGrounder:
    """Looks at a series and guesses, ``steps`` times in a row; believes the mean."""

    def __init__(self, settings, options):
        self.steps = int(options.pop("steps", 3))
        no_options("stranger-steps", options)

    async def ground(self, task):
        guesses, rows = [], []
        for step in range(self.steps):
            answer = await task.call_api(
                "embedded/series/observations",
                {"series_id": "SP500", "start": f"2018-0{step + 1}-01"},
                step=step,
            )
            request = ModelRequest(
                messages=(
                    Message(
                        role="user",
                        content=f"After {guesses}, {len(answer.data)} closes: {task.node.statement}",
                    ),
                ),
                stage="stranger-guess",
                cutoff=task.cutoff.text,
                nodes=(task.node,),
            )
            reply = await task.ask(request, stage="stranger-guess", step=step, retry=0)
            guesses.append(float(reply.text))
            rows.append(answer.meta["content_hash"])
        p = sum(guesses) / len(guesses)
        steps = (TraceStep(title="Guess again and again", text=f"{guesses}", p=p, answers=tuple(rows)),)
        return Grounding(
            belief=Belief(p=p, key_factor="guesses", report=f"Guesses: {guesses}."),
            evidence=Evidence(steps=steps),
            trace={"steps": self.steps},
        )


class ConstantGrounder:
    """Says ``p``, 0.5 unless set, with a report of ``report_bytes``; asks nobody."""

    def __init__(self, settings, options):
        self.p = float(options.pop("p", 0.5))
        self.report_bytes = int(options.pop("report_bytes", 0))
        no_options("stranger-constant", options)

    async def ground(self, task):
        report = f"{task.node.id}: always the same. ".ljust(self.report_bytes, ".")
        evidence = Evidence(steps=(TraceStep(title="Say it", text="No data was read.", p=self.p),))
        return Grounding(belief=Belief(p=self.p, key_factor="constant", report=report), evidence=evidence)


class BrokenGrounder:
    """Raises what its author did not foresee."""

    def __init__(self, settings, options):
        no_options("stranger-broken", options)

    async def ground(self, task):
        raise KeyError("a key that is not there")


class UnreadableGrounder:
    """The function of its evidence is registered nowhere."""

    def __init__(self, settings, options):
        no_options("stranger-unreadable", options)

    async def ground(self, task):
        return Grounding(belief=Belief(p=0.5), evidence=note("0.5", "stranger-nowhere"))


class FragileGrounder(GuessGrounder):
    """Guesses; the evidence of P1 breaks at the step that ``breaks`` names."""

    def __init__(self, settings, options):
        self.breaks = options.pop("breaks")
        no_options("stranger-fragile", options)

    async def ground(self, task):
        guess = await super().ground(task)
        breaks = self.breaks if task.node.id == "P1" else ""
        return Grounding(
            belief=guess.belief,
            evidence=note(guess.evidence.basis["words"], "stranger-fragile", breaks=breaks),
        )
