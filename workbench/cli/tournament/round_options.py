"""What the commands of a night share: rules from options, a sitting that signals can stop, and how it ends."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import typer

from workbench.cli.common import one_line, say
from workbench.cli.science.science_options import listed
from workbench.cli.signals import stop_signals
from workbench.engine.run_settings import check_level
from workbench.engine.worker_place import worker_place
from workbench.errors import STOPPED, BudgetStop, ProviderError, UsageError
from workbench.expected_errors import exit_code
from workbench.models.model_list import require_key
from workbench.studies.arms.run_arms import settings_for_arms
from workbench.studies.rounds.round_state import RoundRules, arms_of
from workbench.studies.rounds.round_work import RoundWork

T = TypeVar("T")


class StoppedByHand(typer.Exit):
    """A signal ended the work: whoever does several things one after another ends too."""


_OFFLINE = "offline/analyst"


def rules_of(
    settings: Mapping[str, Any],
    *,
    quick: str | None,
    trials: int | None,
    promote: int,
    tree_grounder: str | None,
    depth: int | None,
    contexts: str,
    size: int | None,
    skill: float,
    engines: str | None = None,
    own_record: bool = True,
) -> "tuple[RoundRules, float | None]":
    """The rules of a round and its budget, from options as they came; what a run refuses is refused here."""
    common = settings_for_arms(settings)
    trials, depth = trials or common.pop("trials", None), depth or common.pop("depth", None)
    tree_grounder = tree_grounder or common.pop("grounder", None)
    budget = common.pop("budget_usd", None)
    model = common.pop("model", _OFFLINE)
    if model.startswith("offline/"):
        # It computes, so that it says the same each time, and it thinks nowhere but in notebooks.
        quick, trials = quick or "notebook", trials or 1
    elif not common.get("api_base"):
        require_key(model, os.environ)
    tree = {"kind": tree_grounder, "depth": depth}
    rules = RoundRules(
        quick=quick or "zero-shot",
        model=model,
        trials=trials or 3,
        promote=promote,
        tree={name: value for name, value in tree.items() if value is not None},
        settings=common,
        contexts=contexts,
        engines=listed(engines) if engines else None,
        size=size,
        skill=skill,
        own_record=own_record,
    )
    arms_of(rules)
    if budget is not None and not budget > 0:
        raise UsageError(f"--budget-usd must be above 0, not {budget:g}")
    return rules, budget


def rules_with(rules: RoundRules, settings: Mapping[str, Any]) -> RoundRules:
    """Return the rules of a round with other settings of its arms; raises ``UsageError`` for what a run refuses."""
    values = settings_for_arms(settings)
    model, trials = values.pop("model", rules.model), values.pop("trials", rules.trials)
    changed = replace(rules, model=model, trials=trials, settings={**rules.settings, **values})
    arms_of(changed)
    return changed


def work_session(*, isolation: str | None, workers: str | None, quiet: bool = False) -> "RoundWork":
    """The surroundings of one session in this process."""
    if isolation is not None:
        check_level(isolation)
    return RoundWork(
        environ=os.environ,
        isolation=isolation,
        workers=worker_place(workers),
        say=(lambda line: None) if quiet else say,
    )


def work(doing: Callable[[], Awaitable[T]], goes_on: str) -> T:
    """Do it until it ends, or leave with the exit code of what stopped it and a line that says how it goes on."""

    async def interruptible() -> T:
        task = asyncio.current_task()
        assert task is not None
        for number in stop_signals():
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await doing()

    try:
        return asyncio.run(interruptible())
    except (BudgetStop, ProviderError) as error:
        say(f"workbench: {one_line(error)} (`{goes_on}` goes on)")
        raise typer.Exit(exit_code(error)) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        say(f"workbench: stopped by hand; `{goes_on}` goes on")
        raise StoppedByHand(STOPPED) from None
