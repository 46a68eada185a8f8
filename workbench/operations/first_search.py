"""The one search of a claim before anything is asked of it: on the run's own bill, as of its cutoff, and resumed with the run."""

from __future__ import annotations

from proxies.errors import ProxyError
from workbench.agents.errors import AgentGaveUp
from workbench.engine.ownership import own_run
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import cut_claim
from workbench.errors import BudgetStop, UsageError
from workbench.operations.base import Home
from workbench.questions.question import Question
from workbench.store import events as ev
from workbench.studies.contexts.collection import Wanted, engines_here, one_search, open_gatherer


async def search_first(home: Home, run_id: str) -> None:
    """Search for what is new about the claim of a run that is to know it and does not yet; one that knows is left as it is.

    Raises `BudgetStop, ModelError`: The run goes on here next time, and nothing that was answered is bought again.
    """
    if not _due(home.state(run_id)):
        return
    with own_run(home.store.folder(run_id)):
        state = home.state(run_id)
        if not _due(state):
            return
        try:
            found = await _found(home, state)
        except BudgetStop as stop:
            home.store.append(run_id, ev.RunStopped(why="budget", detail=str(stop)))
            raise
        except (UsageError, ProxyError, AgentGaveUp) as error:
            found = ev.NewsSearched(reason=" ".join(str(error).split()).rstrip(".")[:300])
        home.store.append(run_id, found)
    home.say(home.state(run_id).news_line())


def _due(state: RunState) -> bool:
    settings = state.settings
    known = state.news is not None or bool(settings.context.news) or state.follows is not None
    return settings.search_first and not (known or state.finished or settings.stays_here)


async def _found(home: Home, state: RunState) -> ev.NewsSearched:
    settings, cutoff = state.settings, state.parsed_cutoff()
    if not engines_here(home.store, home.environ, cutoff):
        return ev.NewsSearched(reason="no search source works here at this cutoff")
    options = one_search(
        settings.model,
        api_base=settings.api_base,
        prices=settings.prices,
        budget_usd=settings.budget_usd,
        account=state.run_id,
    )
    question = Question(id="news", title=state.statement, criteria=settings.context.criteria)
    async with open_gatherer(home.store, "claims", environ=home.environ, options=options) as gatherer:
        context = await gatherer.gather(Wanted(question, cutoff))
    known = settings.with_news(context.text) if context.sources else settings
    news = cut_claim(state.statement, cutoff, known)[1].context.news
    return ev.NewsSearched(news=home.store.put_body(news.encode()), sources=len(context.sources))
