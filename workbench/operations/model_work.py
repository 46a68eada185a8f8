"""What requests have in common that make runs, or go on with them: their settings, their surroundings, and what they may buy again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import Command, Option, UsageError, command
from workbench.operations.base import Home, Operation
from workbench.operations.fields import Level, SettingPairs, WorkerText

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.engine.worker_place import WorkerPlace


class Sandboxed(Operation):
    """Work in sandboxes, of this process or of others."""

    workers: WorkerText = None
    isolation: Level = None

    def place(self) -> WorkerPlace | None:
        """Return where evidence is collected; None for this process."""
        from workbench.engine.worker_place import worker_place

        return worker_place(self.workers)


class ModelWork(Sandboxed):
    """Work of models with settings by name."""

    settings: SettingPairs = []

    def changes(self, **options: Any) -> tuple[dict[str, Any], str | None]:
        """Return the settings that are changed, among them those of options, and the level of this sitting's own kernels."""
        from workbench.engine.named_settings import without_level

        return without_level(named_settings(self.settings, **options), self.isolation)


def named_settings(pairs: Sequence[str], **options: Any) -> dict[str, Any]:
    """Return the settings that were named, and those of options that were used."""
    from workbench.engine.named_settings import merged, read_settings

    used = {name: value for name, value in options.items() if value is not None and value != {}}
    return merged(used, read_settings(pairs))


def finds_news(home: Home, cutoff: Cutoff, without: Option | Command) -> bool:
    """Say whether a search source works here; where none does, ask a person whether to forecast without news.

    Raises ``UsageError`` that names the option to do ``without``, where nobody says yes: no model has been asked by then.
    """
    from workbench.studies.contexts.collection import engines_here

    if engines_here(home.store, home.environ, cutoff):
        return True
    if not home.agrees(
        "No search source works here, so that forecasts would know no news. Forecast without?"
    ):
        raise UsageError(
            "no search source works here, so that forecasts would know no news: ", command("doctor"),
            " says which keys are set, ", without, " does without",
        )  # fmt: skip
    return False


def may_buy_again(home: Home, runs: Sequence[str]) -> bool:
    """Say what going on with runs buys again because requests on record cannot be made any more, and ask; whether it may.

    Raises ``UsageError`` where nobody says yes: no model has been asked by then.
    """
    from workbench.engine.run_prompts import rebuys

    dues = rebuys(home.store, runs)
    for due in dues:
        home.say(due.line)
    if dues and not home.agrees("Go on?"):
        raise UsageError("nothing was bought: ", Option("yes"), " continues anyway")
    return home.yes or bool(dues)
