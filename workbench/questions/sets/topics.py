"""Topics of questions: one of a fixed list each, so that scores of different sets can be set side by side (`--by topic`).

By rule a topic is the first whose words stand in a question's title or category; a model reads the question instead, where one is
asked. Paper B sorts its questions by a model in the same way (App. H.2); the list is ours.
"""

import re
from collections.abc import Mapping

from workbench.questions.question import Question
from workbench.questions.sets.question_sets import SORT, load_set
from workbench.store import Store
from workbench.store import events as ev

#: Topic -> words that tell it. Order decides where words of several topics stand in a title: the narrow topics come first.
TOPICS: Mapping[str, list[str]] = {
    topic: words.split(", ")
    for topic, words in {
        "crypto": "bitcoin, btc, ethereum, eth, crypto, stablecoin, solana, token",
        "climate and weather": "temperature, rain, snow, hurricane, storm, climate, emissions, drought, wildfire, weather, °c, °f",
        "health": "virus, vaccine, pandemic, disease, fda, covid, measles, h5n1, drug, hospital, mortality",
        "sports": "match, game, league, cup, championship, tournament, nba, nfl, mlb, nhl, olympic, olympics, premier league, goal, season, team, coach, grand prix",
        "entertainment": "film, movie, oscar, grammy, album, song, box office, netflix, celebrity, tv, spotify",
        "technology": "ai, openai, model release, chip, semiconductor, software, launch, spacex, robot, app store",
        "economics": "inflation, cpi, gdp, unemployment, payrolls, fed, interest rate, rate cut, recession, central bank, ecb, tariff, deficit, dgs10, treasury, yield",
        "finance": "s&p, nasdaq, dow, stock, share price, shares, ipo, earnings, market cap, vix, wti, oil, gold, close, closes, exchange rate, price",
        "geopolitics": "war, ceasefire, nato, invade, invasion, sanctions, nuclear, military, troops, missile, hostage, territory, fatalities, un security council",
        "politics": "election, president, prime minister, parliament, senate, congress, vote, party, minister, governor, bill, supreme court, impeach, nominee, approval rating, trump",
        "science": "study, nasa, telescope, physics, asteroid, nobel, paper, arxiv, earthquake, volcano",
        "society": "population, immigration, crime, education, university, court, lawsuit, strike, pope, wikipedia",
    }.items()
}
#: What no word tells.
OTHER = "other"
#: The column that a topic stands in, of events and of `--by`.
COLUMN = "topic"
NAMES = (*TOPICS, OTHER)


def topic_by_rule(question: Question) -> str:
    """The topic whose words stand in a question's title, else in its category; ``other`` without any.

    >>> topic_by_rule(Question(id="q", title="Will the Fed announce a rate cut in June?"))
    'economics'
    """
    for text in (question.title, question.category):
        plain = text.casefold()
        for topic, words in TOPICS.items():
            if any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", plain) for word in words):
                return topic
    return OTHER


def record_topics(store: Store, name: str, topics: Mapping[str, str]) -> int:
    """Put topics on record, those that differ from what stands; return how many."""
    with store.transaction():
        # without the outcomes of `load_set`, which are events of their own
        stored = {
            each.event.node: dict(each.event.question)
            for each in store.events(f"{SORT}:{name}", kinds=["question.added"])
            if isinstance(each.event, ev.QuestionAdded)
        }
        entries = load_set(store, name).questions
        changed = [
            question for question, topic in topics.items() if entries[question].extra.get(COLUMN) != topic
        ]
        for question in changed:
            document = stored[question]
            document["extra"] = {**document.get("extra", {}), COLUMN: topics[question]}
            store.append(f"{SORT}:{name}", ev.QuestionAdded(node=question, question=document))
    return len(changed)
