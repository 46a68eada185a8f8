"""Studies of arms on an exam: run, looked at, reported, and those that come with the workbench."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import UsageError
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, blocks_of
from workbench.operations.fields import SettingPairs
from workbench.operations.model_work import ModelWork, may_buy_again
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.studies.study_plan import StudyPlan
    from workbench.studies.study_state import StudyState

StudyFile = Annotated[Path, Says(text="The study: a YAML file (docs/use/studies.md).", form="FILE")]


class RunStudy(ModelWork):
    """Run or continue a study. Finished forecasts are not made again. The leak audit and the report come last."""

    places = ("file",)
    short = ("settings", "plan_only")

    file: StudyFile
    plan_only: bool = False
    """Check the file, print the cost forecast, ask nobody."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the study's results and their folder, or its expected cost."""
        from workbench.studies.leak_audit import audit_study
        from workbench.studies.runner import StudyRunner

        place = self.place()
        changes, level = self.changes()
        plan, state = _planned(home, self.file, changes)
        lines, expected, budget = plan.cost_lines(), plan.expected_usd(), plan.spec.budget_usd
        if budget is not None and expected is not None and expected > budget:
            lines.append(
                f"the forecast is above the budget of ${budget:g}: the study will stop there and can go on with more"
            )
        if self.plan_only:
            forecasts = len(plan.cells())
            return {"study": plan.spec.name, "forecasts": forecasts, "expected_usd": expected, "cost": lines}
        for line in lines:
            home.say(line)
        again = may_buy_again(home, state.open_runs() if state else [])
        state = await StudyRunner(
            home.store, plan, environ=home.environ, isolation=level, workers=place, say=home.say, rebuy=again
        ).work()
        if state.audited is None:
            state = audit_study(home.store, plan, state)
        return _reported(home, plan, state)

    def show(self, document: dict[str, Any]) -> Iterable[Block]:
        """Return what the study says, or will cost."""
        return document["cost"] if self.plan_only else _said(document)

    def goes_on(self) -> str:
        """Return the same command."""
        return f"workbench experiment run {self.file}"


class _OfStudy(Operation):
    places = ("file",)

    file: StudyFile
    settings: SettingPairs = []

    def planned(self, home: Home) -> tuple[StudyPlan, StudyState | None]:
        from workbench.engine.named_settings import read_settings

        return _planned(home, self.file, read_settings(self.settings))


class StudyStatus(_OfStudy):
    """Show the progress of a study: forecasts made, missing and planned, by arm, and their cost so far."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the counts of each arm, and in ``state`` one sentence."""
        from workbench.studies.study_plan import status_document

        return status_document(*self.planned(home))


class StudyReport(_OfStudy):
    """Write the report of a finished study again: tables, page, notebook. Results are locked until the leak audit is done."""

    output: Annotated[
        Path | None, Says(text="Folder; the study's own without it.", form="FOLDER", short="o")
    ] = None

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the study's results and their folder."""
        from workbench.studies.study_state import load_study

        plan, state = self.planned(home)
        return _reported(home, plan, state or load_study(home.store, plan.spec.name), self.output)

    def show(self, document: dict[str, Any]) -> Iterable[Block]:
        """Return what the study says."""
        return _said(document)


class ReadyStudies(Operation):
    """List the studies that come with the workbench, or write one to a file."""

    places = ("name",)

    name: str | None = None
    """One of them; all are listed without it."""
    output: Annotated[
        Path | None, Says(text="File to write; its questions go beside it.", form="FILE", short="o")
    ] = None

    def answer(self, home: Home) -> list[Any]:
        """Return the studies with what has to be filled in, or the files that were written."""
        from workbench.studies.ready_studies import needs_of, ready_studies, write_ready

        if self.name is None:
            return [
                {
                    "study": name,
                    "fill_in": needs_of(name) or "nothing: it runs as it is",
                    "what_it_asks": note,
                }
                for name, note in ready_studies().items()
            ]
        if self.output is None:
            raise UsageError(f"name a file to write: `workbench experiment ready {self.name} -o FILE`")
        return [str(path) for path in write_ready(self.name, self.output)]

    def show(self, document: list[Any]) -> Iterable[Block]:
        """Return them."""
        return document if self.name else blocks_of(document)


def _planned(home: Home, file: Path, changes: Mapping[str, Any]) -> tuple[StudyPlan, StudyState | None]:
    """Read and check a study; raises ``StudyError`` with every mistake."""
    from workbench.studies.arms.run_arms import with_settings
    from workbench.studies.study_file import read_study
    from workbench.studies.study_plan import plan_study
    from workbench.studies.study_state import SORT, load_study

    spec = with_settings(read_study(file), changes)
    state = load_study(home.store, spec.name) if spec.name in home.store.streams(SORT) else None
    return plan_study(home.store, spec, state), state


def _reported(home: Home, plan: StudyPlan, state: StudyState, folder: Path | None = None) -> dict[str, Any]:
    from workbench.studies.study_report import write_study

    folder = folder or home.folder / "studies" / plan.spec.name
    return {**write_study(home.store, plan, state, folder), "folder": str(folder)}


def _said(document: Mapping[str, Any]) -> Iterator[Block]:
    yield from document["summary"]
    yield f"{document['folder']}/report.html"
