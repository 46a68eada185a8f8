"""The law over searches and pages: worlds that agree on all that is dated before the cutoff give an agent the same, byte by byte."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from tests.fakes.web_upstream import FakeWeb, WebDesk, WebPage
from workbench.models.base import NodeRef
from workbench.search.leaf_web import open_web
from workbench.search.web_options import WebOptions

CUTOFF = "2024-06-01"
ENGINES = ("exa", "brave", "gdelt", "serper", "tavily", "searxng", "sec")
EARLY, LATE = ("2024-01-05", "2024-03-10", "2024-05-29"), ("2024-06-02", "2024-09-18", "2031-01-01")
LONG = (
    "<p>This copy is long enough to be taken for a page, and it was made on {} by the archive of the web.</p>"
)


def pages(days: tuple[str, ...], kind: str) -> st.SearchStrategy[list[WebPage]]:
    return st.lists(
        st.builds(
            WebPage,
            st.sampled_from([f"https://{kind}{n}.org/story" for n in range(3)]),
            st.sampled_from([f"{kind} rates", f"{kind} prices"]),
            st.sampled_from(days),
            st.sampled_from([f"{kind} text", f"{kind} rates and rates"]),
            st.sampled_from([(engine,) for engine in ENGINES]),
        ),
        max_size=6,
    )


copies = st.lists(
    st.sampled_from(["20240901000000", "20240602120000", "20300101000000"]), max_size=2, unique=True
)


async def shown(web: FakeWeb) -> list[Any]:
    desk = WebDesk(web, CUTOFF)
    leaf = open_web(
        call_api=desk, ask=None, node=NodeRef(id="P1", statement="Rates rise"), cutoff=Cutoff.parse(CUTOFF),
        options=WebOptions(engines=ENGINES),
    )  # fmt: skip
    out: list[Any] = [await leaf.search("rates", step=0)]
    for step, url in enumerate(
        ["https://early0.org/story", "https://late0.org/story", "https://never.org/story"], 1
    ):
        try:
            out.append(await leaf.open_page(url, step=step))
        except ProxyError as error:
            out.append((type(error), str(error)))
    await desk.broker.aclose()
    return out


@settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(pages(EARLY, "early"), pages(LATE, "late"), copies, st.booleans())
def test_what_comes_after_the_cutoff_changes_no_byte_of_searches_and_pages(
    early: list[WebPage], late: list[WebPage], later_copies: list[str], in_front: bool
) -> None:
    old = [("20240301000000", LONG.format("that day"))]
    new = [(when, LONG.format(when)) for when in later_copies]
    before = FakeWeb(list(early), copies={"https://early0.org/story": old})
    after = FakeWeb(
        [*late, *early] if in_front else [*early, *late],
        copies={"https://early0.org/story": [*old, *new], "https://late0.org/story": new},
    )
    one, other = asyncio.run(shown(before)), asyncio.run(shown(after))
    assert one == other
    assert one[1].source == "archive"
