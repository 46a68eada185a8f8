"""W6 on the page of a run: comments pinned, the checklist, the sign-off; as the command line has them, on every page and in the package."""

from contextlib import closing
from pathlib import Path
from typing import Any

from tests.command_line import run_cli, run_json
from tests.fakes.screens import RUN, asked, make_run
from workbench.annotations.entries import CHECKLIST
from workbench.packages.export import export_run
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import load_run
from workbench.widgets.run_page import Dashboard


def opened(command_home: Path) -> Dashboard:
    return Dashboard(load_run(command_home / "home", RUN))


def signed(command_home: Path) -> list[Any]:
    with closing(Store(command_home / "home")) as store:
        return [stored.event for stored in store.events(RUN, kinds=("review.signed",))]


def comment(page: Dashboard, text: str) -> str:
    return asked(page.side_panels.review.forms[0], text=text)


def sign(page: Dashboard, *done: str, **typed: str) -> str:
    form = page.side_panels.review.forms[1]
    for key in done or CHECKLIST:
        form.inputs["done"].boxes[key].value = True
    return asked(form, **typed)


def test_a_review_from_comment_to_hash_is_that_of_the_command_line(command_home: Path) -> None:
    page = opened(command_home)
    page.tree.selected = "P2.1"
    page.side_panels.review.forms[0].inputs["author"].value = "Bo"
    assert page.side_panels.author.value == "Bo"  # a name is typed once
    assert comment(page, "Why <b>200</b> days?") == "" == sign(page)
    (event,) = signed(command_home)
    assert (event.author, event.verdict, all(event.checklist.values())) == ("Bo", "accept", True)
    assert event.attested in page.side_panels.review.standing.value
    assert "Why &lt;b&gt;200&lt;/b&gt; days?" in page.side_panels.review.standing.value
    assert 'data-select="P2.1"' in page.side_panels.review.standing.value
    (row,) = run_json(command_home, "sign-off", RUN)["sign_offs"]
    assert (row["attested"], row["fault"], row["later"]) == (event.attested, None, [])
    assert f"Accepted by Bo on {row['at_utc'][:10]}" in run_cli(command_home, "show", RUN).stdout
    with closing(Store(command_home / "home")) as store:
        for form in ("html", "md"):
            assert "Accepted by Bo" in export_run(store, RUN, form)[0].decode()


def test_an_acceptance_with_an_open_point_or_without_a_name_is_refused(command_home: Path) -> None:
    page = opened(command_home)
    assert "your name" in sign(page)
    boxes = page.side_panels.review.forms[1].inputs["done"].boxes
    boxes["leaks"].value = False
    refused = asked(page.side_panels.review.forms[1], author="Bo")
    assert "leaks is missing" in refused and "--" not in refused and signed(command_home) == []
    assert asked(page.side_panels.review.forms[1], verdict="return") == ""
    (event,) = signed(command_home)
    assert event.verdict == "return" and not event.checklist["leaks"] and event.checklist["rules"]
    assert "open: leaks" in page.side_panels.review.standing.value
    assert not any(box.value for box in boxes.values())


def test_what_is_said_after_a_sign_off_is_shown_as_not_covered_on_another_page_too(
    command_home: Path,
) -> None:
    page, other = opened(command_home), opened(command_home)
    sign(page, author="Bo")
    assert "Nobody has signed" in other.side_panels.review.standing.value
    rows = other.session.rows
    other.look()
    assert (
        "Accepted by Bo" in other.side_panels.review.standing.value
        and "added since" not in other.side_panels.review.standing.value
    )
    assert other.session.rows is rows  # what people say moves no number
    comment(other, "late")
    for each in (page, other):
        each.look()
        assert "added since, not covered: comment" in each.side_panels.review.standing.value


def test_what_contradicts_a_sign_off_is_shown_loud(command_home: Path) -> None:
    page = opened(command_home)
    sign(page, author="Bo")
    (event,) = signed(command_home)
    forged = event.model_dump(exclude={"kind"}) | {"author": "Eve"}
    with closing(Store(command_home / "home")) as store:
        store.append(RUN, ev.ReviewSigned.model_validate(forged))
    page.look()
    assert "does not hold: its hash does not fit" in page.side_panels.review.standing.value


def test_a_run_without_a_probability_cannot_be_signed(tmp_path: Path) -> None:
    make_run(tmp_path / "home")
    other = "20180630-140000-abcd"
    with closing(Store(tmp_path / "home")) as store:
        first = store.events(RUN)[0].event
        store.append(other, first)
    page = Dashboard(load_run(tmp_path / "home", other))
    assert page.side_panels.review.forms[1].ask.disabled
    page.poller.stop()
