"""``questions classify``: topics of a set's questions, by rule or by a model; scores then go ``--by topic``."""

import asyncio
from collections import Counter
from typing import Annotated

import typer

from proxies.asof.clock import Cutoff
from workbench.agents.topic_sorter import BATCH, classify_questions
from workbench.cli.common import (
    ApiBase,
    AsJson,
    Prices,
    command,
    echo,
    emit_json,
    open_store,
    say,
    unlisted,
)
from workbench.cli.table import show_table
from workbench.engine.access.own_web import own_asker
from workbench.engine.named_settings import read_prices
from workbench.models.base import Asker
from workbench.questions.sets.question_sets import QuestionSet, load_set
from workbench.questions.sets.topics import COLUMN, NAMES, record_topics, topic_by_rule


@command
def classify(
    name: Annotated[str, typer.Argument(metavar="SET", help="Name of a set.")],
    model: Annotated[
        str | None, typer.Option(help="Reads the questions; without one their words decide.")
    ] = None,
    api_base: ApiBase = None,
    price: Prices = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most US dollars.")] = None,
    again: Annotated[bool, unlisted("--again", help="Also questions that have a topic.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give each question one topic of a fixed list; stored with the set, usable as `--by topic`."""
    store = open_store()
    questions = load_set(store, name)
    chosen = [
        question.id for question in questions.questions.values() if again or COLUMN not in question.extra
    ]
    if model is None:
        changed = record_topics(store, name, {each: topic_by_rule(questions[each]) for each in chosen})
    else:
        ask = own_asker(
            store,
            model,
            api_base,
            run=f"topics:{name}",
            budget_usd=budget_usd,
            prices=read_prices(price or ()),
        )
        changed = 0
        for topics in asyncio.run(_by_model(questions, chosen, NAMES, ask)):
            changed += record_topics(store, name, topics)
    counts = Counter(
        question.extra.get(COLUMN, "none") for question in load_set(store, name).questions.values()
    )
    if as_json:
        emit_json({"set": name, "changed": changed, "topics": dict(counts.most_common())})
        return
    show_table(["topic", "questions"], [[topic, count] for topic, count in counts.most_common()])
    say(f"{changed} topics are new or changed; `questions score {name} --by {COLUMN}`")
    echo(f"set {name}: by {model or 'rule'}")


async def _by_model(
    questions: QuestionSet, chosen: list[str], names: tuple[str, ...], ask: Asker
) -> list[dict[str, str]]:
    # A fixed day: the same questions are the same request, which is not paid for twice.
    cutoff = Cutoff.parse("2100-01-01")
    batches = [chosen[start : start + BATCH] for start in range(0, len(chosen), BATCH)]
    sorted_batches = []
    for batch in batches:
        titles = [questions[each].title for each in batch]
        topics = await classify_questions(titles, names, cutoff=cutoff, ask=ask)
        sorted_batches.append(dict(zip(batch, topics, strict=True)))
    return sorted_batches
