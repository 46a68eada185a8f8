"""Questions forecast again as their set was forecast last, and numbers forecast without a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from workbench.errors import PROVIDER, STOPPED, UsageError, command
from workbench.formatting import counted
from workbench.operations.base import Home
from workbench.operations.blocks import Block, Remark, columns
from workbench.operations.fields import Count, Dollars
from workbench.operations.model_work import ModelWork, may_buy_again
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.questions.question import Question
    from workbench.store import Store
    from workbench.studies.rounds.round_state import RoundRules
    from workbench.studies.rounds.round_work import RoundWork


class Forecast(ModelWork):
    """Forecast questions again with the rules of their set's last round, without trees. An unfinished round is finished first.

    With --due a named set without a round gets its first, as `tournament run` begins one with the same --set.

    With --quantiles: numeric questions that ask for a value of a series get quantiles by the key-free forecaster, for
    `questions score SET --quantiles`.
    """

    places = ("references",)
    short = ("settings", "due", "budget_usd", "plan_only", "quantiles", "cutoff")
    unlisted = ("quiet",)

    references: Annotated[
        list[str],
        Says(text="Sets, or single questions; with --due all sets that had a round.", form="SET[/QUESTION]"),
    ] = []
    due: bool = False
    """Only questions whose next review has come, by the halving schedule."""
    gap_hours: Annotated[float, Field(ge=0)] = 1.0
    """Least hours between two forecasts."""
    most: Count = 8
    """Most forecasts of one question."""
    budget_usd: Dollars = None
    """Most US dollars for each set; as last time without it."""
    plan_only: bool = False
    """Name the questions and ask nobody."""
    quantiles: Path | None = None
    """Write the key-free forecaster's quantiles of the sets' numeric questions to this CSV instead; no model is asked."""
    cutoff: Annotated[
        str,
        Says(text="With --quantiles: their cutoff; each question's own day when not given.", form="DATE"),
    ] = ""
    quiet: Annotated[
        bool, Says(text="Say nothing unless something was forecast or went wrong.", short="q")
    ] = False

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the rounds of each set and why a set could not go on; or the quantiles."""
        from workbench.expected_errors import EXPECTED, exit_code
        from workbench.operations.rounds import sitting
        from workbench.studies.rounds.round_state import load_round, rounds_of

        if self.quantiles is not None:
            return await self._quantiles(home, self.quantiles)
        if self.cutoff:
            raise UsageError("--cutoff needs --quantiles: models forecast a round as of now")
        changes, level = self.changes(budget_usd=self.budget_usd)
        work = sitting(home, self, level, quiet=self.quiet)
        now = datetime.now(UTC)
        named: dict[str, list[str]] = {}
        for reference in self.references:
            set_name, _, question = reference.partition("/")
            named.setdefault(set_name, []).extend([question] if question else [])
        if not named and not self.due:
            raise UsageError("name SET or SET/QUESTION to forecast, or --due for all that are due for review")
        named = named or {load_round(home.store, night).set_name: [] for night in rounds_of(home.store)}
        done, failed = [], []
        for set_name, questions in named.items():
            if not (self.due or rounds_of(home.store, set_name)):
                raise UsageError(
                    f"set {set_name} has no earlier round to repeat: run `workbench tournament run {set_name}`, or add --due"
                )
            if self.plan_only:
                chosen, since = self._chosen(home.store, set_name, questions, now)
                done.append({"set": set_name, "questions": chosen, "due_since": since})
                continue
            # One set that cannot go on, or that another process is at, is no reason to leave the others of a cron line undone.
            try:
                done.append(await self._of_set(home, set_name, questions, work, changes, now))
            except EXPECTED as error:
                reason = " ".join(str(error).split())
                failed.append({"set": set_name, "reason": reason, "exit": exit_code(error)})
        return {"sets": done, "failed": failed}

    def _chosen(
        self, store: Store, set_name: str, questions: list[str], now: datetime
    ) -> tuple[list[str] | None, dict[str, str]]:
        """Return ids, None for all open ones, and since when those that are due have been so."""
        from workbench.questions.sets.schedule import HalvingSchedule
        from workbench.studies.rounds.round_work import due_questions

        if not self.due:
            return questions or None, {}
        schedule = HalvingSchedule(least_gap=timedelta(hours=self.gap_hours), most=self.most)
        waiting = due_questions(store, set_name, now, schedule)
        chosen = [name for name in waiting if not questions or name in questions]
        return chosen, {name: waiting[name].isoformat(timespec="minutes") for name in chosen}

    async def _of_set(
        self,
        home: Home,
        set_name: str,
        questions: list[str],
        work: RoundWork,
        changes: Mapping[str, Any],
        now: datetime,
    ) -> dict[str, Any]:
        from proxies.asof.clock import Cutoff
        from workbench.studies.rounds import round_work as steps
        from workbench.studies.rounds.round_page import write_round
        from workbench.studies.rounds.round_state import load_round, rounds_of

        store, nights = home.store, []
        budget_usd = changes.get("budget_usd")
        with steps.own_set(store, set_name):
            begun = steps.unfinished_round(store, set_name)
            if begun is not None:
                again = may_buy_again(home, begun.study.open_runs())
                begun = steps.with_budget(store, begun, budget_usd, None)
                nights.append(await steps.finish_round(store, begun, replace(work, rebuy=again)))
                write_round(store, nights[-1])
            # Only now, with the set held: what another process forecast a moment ago is not due any more.
            chosen, _ = self._chosen(store, set_name, questions, now)
            # What an unfinished round was about is forecast now.
            left = chosen if begun is None else [each for each in chosen or () if each not in begun.questions]
            if left != []:
                rounds = rounds_of(store, set_name)
                last = load_round(store, rounds[-1]) if rounds else None
                night = await steps.open_round(
                    store,
                    set_name,
                    self._first_rules(home, set_name)
                    if last is None
                    else rules_with(replace(last.rules, promote=0, size=None), changes),
                    Cutoff.parse("now", now=now),
                    work,
                    only=left,
                    budget_usd=last.budget_usd if last and budget_usd is None else budget_usd,
                    concurrency=last.concurrency if last else 4,
                )
                nights.append(await steps.finish_round(store, night, work))
                write_round(store, nights[-1])
        rows = [
            {
                "night": night.name,
                "forecasts": len(night.study.forecasts),
                "missing": len(night.study.missing),
            }
            for night in nights
        ]
        return {"set": set_name, "questions": chosen, "nights": rows}

    def _first_rules(self, home: Home, set_name: str) -> RoundRules:
        """Return the rules of a set's first round, as `tournament run` makes them of the same settings."""
        from proxies.asof.clock import Cutoff
        from workbench.operations.rounds import RunRound, with_news

        rules, _, _ = RunRound(name=set_name, settings=self.settings, isolation=self.isolation).planned(home)
        return with_news(
            home, rules, Cutoff.parse("now"), without=command("tournament run", f"{set_name} --contexts none")
        )

    async def _quantiles(self, home: Home, path: Path) -> dict[str, Any]:
        from proxies.asof.clock import Cutoff
        from workbench.backtests.question_quantiles import METHOD, SHARES, SeriesReader, target_forecasts
        from workbench.forecasts.ensemble import Ensemble
        from workbench.operations.forecast_files import write_csv
        from workbench.questions.sets.question_sets import load_set
        from workbench.science.quantile_tables import QUANTILE_COLUMNS, quantile_rows

        if not self.references:
            raise UsageError("name SET or SET/QUESTION before --quantiles FILE")
        questions: list[Question] = []
        for reference in self.references:
            set_name, _, question = reference.partition("/")
            entry = load_set(home.store, set_name)
            questions += [entry[question]] if question else entry.questions.values()
        cutoff = Cutoff.parse(self.cutoff) if self.cutoff else None
        found, left_out = await target_forecasts(
            questions, SeriesReader(home.broker("model")), Ensemble(), cutoff=cutoff
        )
        if not found:
            why = f": {left_out[0][0]}: {left_out[0][1]}" if left_out else ": no question is numeric"
            raise UsageError(f"no question asks for a quantity of a series{why}")
        rows = [row for each in found for row in quantile_rows(METHOD, each.target, SHARES, each.values)]
        write_csv(path, QUANTILE_COLUMNS, rows)
        return {
            "method": METHOD,
            "file": str(path),
            "forecasts": [
                {
                    "event_id": each.target,
                    "series": each.series,
                    "statistic": each.statistic,
                    "cutoff": each.cutoff,
                    "quantiles": {
                        f"{share:g}": float(value) for share, value in zip(SHARES, each.values, strict=True)
                    },
                }
                for each in found
            ],
            "left_out": [{"id": name, "reason": reason} for name, reason in left_out],
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a line for each round, or for each question that would be forecast; of numbers their middle and ends."""
        if self.quantiles is not None:
            rows = ({**row, **row["quantiles"]} for row in document["forecasts"])
            levels = {"5%": "0.05 level", "50%": "0.5 level", "95%": "0.95 level"}
            yield columns(
                rows, number="event_id", series="series", statistic="statistic", cutoff="cutoff", **levels
            )
            yield from (Remark(f"left out: {row['id']}: {row['reason']}") for row in document["left_out"])
            yield f"{document['file']}: {counted(len(document['forecasts']), 'forecast')}, method {document['method']}"
            return
        for row in document["failed"]:
            goes_on = (
                f" (`workbench forecast {row['set']}` goes on)" if row["exit"] in (STOPPED, PROVIDER) else ""
            )
            yield Remark(f"workbench: {row['reason']}{goes_on}")
        lines = [line for row in document["sets"] for line in _lines(row)]
        yield from lines
        if not (lines or self.quiet or document["failed"]):
            yield Remark("no question is due")

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return that of the first set that could not go on."""
        failed = document.get("failed")
        return failed[0]["exit"] if failed else 0


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    if "nights" in row:
        for night in row["nights"]:
            yield f"{night['night']}: {counted(night['forecasts'], 'forecast')}, {night['missing']} missing"
    elif row["questions"] is None:
        yield f"{row['set']}/(all open questions)"
    else:
        for question in row["questions"]:
            yield f"{row['set']}/{question}  due since {row['due_since'].get(question, '-')}"


def rules_with(rules: RoundRules, settings: Mapping[str, Any]) -> RoundRules:
    """Return the rules of a round with other settings of its arms; raises ``UsageError`` for what a run refuses."""
    from workbench.studies.arms.run_arms import settings_for_arms
    from workbench.studies.rounds.round_state import ROUND_PRESETS, arms_of

    values = settings_for_arms(settings)
    values.pop("budget_usd", None)
    preset = values.pop("preset", rules.preset)
    bought = {} if preset == rules.preset else ROUND_PRESETS.get(preset, ROUND_PRESETS["product"])
    changed = replace(
        rules,
        model=values.pop("model", rules.model),
        trials=values.pop("trials", rules.trials),
        preset=preset,
        settings={**rules.settings, **values},
        **{name: value for name, value in bought.items() if name != "promote"},
    )
    arms_of(changed)
    return changed
