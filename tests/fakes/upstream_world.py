"""Every vendor at once: answers for each endpoint of the catalogue, in which each fact bears a hidden label.

A world is made of moments around a cutoff. For each moment the emulator writes a row as that vendor would, and
labels it by *its own* account of when the fact was out (tests/fakes/upstream_facts.py): known before the cutoff, known
after it, or too close to call where a careful broker may leave it out. Labels are tokens inside the rows. None of this
uses the broker's policies, stamps or codecs.
"""

from dataclasses import dataclass

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_world_fmp import FmpAnswers
from tests.fakes.upstream_world_macro import MacroAnswers
from tests.fakes.upstream_world_markets import MarketAnswers
from tests.fakes.upstream_world_sec import SecAnswers
from tests.fakes.upstream_world_web import WebAnswers
from tests.fakes.upstream_world_yahoo import YahooAnswers

JUNK = [
    "",
    None,
    "n/a",
    "2024-13-45",
    "01/05/2031",
    "1st Jan 2031",
    "0000-00-00",
    "99999999999999999999",
    [],
    {},
    True,
    -1.5,
]

# one thing is asked for, and is refused when it came later
SINGLE = frozenset({"kalshi/market", "polymarket/market", "polymarket/event"})


@dataclass
class World(FmpAnswers, MacroAnswers, WebAnswers, MarketAnswers, YahooAnswers, SecAnswers):
    """One state of all vendors around a cutoff.

    ``moments`` are when facts come out; ``early`` and ``late`` collect the tokens handed out, by what they are.
    """

    def answer(self, seen: Seen) -> Sent:
        self.seen.append(seen)
        if self.snapshot:
            return Sent({"token": self.later(), "results": [{"title": self.later()}], "book": self.later()})
        if self.path in SINGLE:
            self.moments = self.moments[:1]
        _, source, rest = (seen.path + "/").split("/", 2)
        return getattr(self, f"_{source}")(rest.rstrip("/"), seen)
