"""A review comes back: comments and sign-offs of a colleague's home are taken into the run that was sent there."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.annotations.entries import add_comment, add_note, sign_off
from workbench.annotations.estimates import give_estimate
from workbench.annotations.outcomes import record_outcome
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.packages.export import export_run
from workbench.packages.package import PackageAltered, import_package
from workbench.packages.returned_review import take_review
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import view
from workbench.views.wording import remark_line, sign_off_line
from workbench.widgets.panels import rendered


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Store]:
    make_small_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as store:
        add_comment(store, RUN, "P1", "why this?", author="Ann")
        yield store


@pytest.fixture
def reviewer(author: Store, tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "colleague" / "home")) as store:
        import_package(store, packed(author, tmp_path / "sent.zip"))
        yield store


def packed(store: Store, path: Path) -> Path:
    path.write_bytes(export_run(store, RUN, "zip")[0])
    return path


def test_comments_and_sign_off_come_back_with_the_hash_they_were_signed_with(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    add_comment(reviewer, RUN, "P2", "too thin", author="Bo")
    add_note(reviewer, RUN, "for my own files", tags=["bo"])
    record_outcome(reviewer, RUN, "yes", on="2018-12-31")
    attested = sign_off(reviewer, RUN, author="Bo", done=["all"])
    before = view(author, RUN).document()
    taken = take_review(author, packed(reviewer, tmp_path / "back.zip"))
    assert [each.text for each in taken.comments] == ["too thin"]
    document = view(author, RUN).document()
    (row,) = document["sign_offs"]
    assert (row["attested"], row["fault"], row["later"]) == (attested, None, [])
    assert "came back in package" in sign_off_line(row)
    assert [(each["node"], each["author"], each["text"]) for each in document["comments"]] == [
        ("P1", "Ann", "why this?"),
        ("P2", "Bo", "too thin"),
    ]
    # The run is as it was, it is nobody's import, and what the reviewer keeps for himself stays there.
    for name in ("root", "imported", "manifest_id", "notes", "tags", "outcome"):
        assert document[name] == before[name], name
    note = export_run(author, RUN, "md")[0].decode()
    assert "too thin" in note and f"Accepted by Bo on {row['at_utc'][:10]}" in note
    with pytest.raises(UsageError, match="no new comment, sign-off"):
        take_review(author, tmp_path / "back.zip")


def test_it_travels_on_and_a_second_review_adds_to_it(author: Store, reviewer: Store, tmp_path: Path) -> None:
    sign_off(reviewer, RUN, author="Bo", verdict="return", done=["verified"])
    take_review(author, packed(reviewer, tmp_path / "back.zip"))
    add_comment(author, RUN, "P1", "mended", author="Ann")
    with closing(Store(tmp_path / "third" / "home")) as third:
        import_package(third, packed(author, tmp_path / "again.zip"))
        assert [row["later"] for row in view(third, RUN).document()["sign_offs"]] == [["comment.added"]]
        attested = sign_off(third, RUN, author="Cy", done=["all"])
        taken = take_review(author, packed(third, tmp_path / "back2.zip"), run_id=RUN)
    assert [each.attested for each in taken.sign_offs] == [attested] and taken.comments == ()
    assert [row["author"] for row in view(author, RUN).document()["sign_offs"]] == ["Bo", "Cy"]


def test_a_package_of_another_log_is_refused_and_leaves_nothing(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    """The same run id, and a run that was worked on elsewhere."""
    make_small_run(tmp_path / "other", cutoff="2018-05-31")
    sign_off(reviewer, RUN, author="Bo", done=["all"])
    back = packed(reviewer, tmp_path / "back.zip")
    with closing(Store(tmp_path / "other")) as other:
        head = other.log_head(RUN)
        with pytest.raises(UsageError, match="differ from event"):
            take_review(other, back)
        assert other.log_head(RUN) == head
    with (
        closing(Store(tmp_path / "empty")) as empty,
        pytest.raises(UsageError, match="not in this home"),
    ):
        take_review(empty, back)
    with pytest.raises(UsageError, match="not of 20180630-120000-0bed"):
        take_review(author, back, run_id="20180630-120000-0bed")
    for name in ("none.zip", "n" * 5_000):
        with pytest.raises(UsageError, match="not a package"):
            take_review(author, tmp_path / name)
    assert not list(author.home.glob(".import-*"))


def test_a_forged_sign_off_and_altered_evidence_are_refused(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    facts = dict.fromkeys(("tree", "comments", "attested"), "sha256:" + "0" * 64)
    reviewer.append(
        RUN, ev.ReviewSigned(author="Eve", verdict="accept", checklist={}, head="0" * 64, **facts)
    )
    head = author.log_head(RUN)
    with pytest.raises(UsageError, match=r"by Eve .* does not hold"):
        take_review(author, packed(reviewer, tmp_path / "forged.zip"))
    path = reviewer.folder(RUN) / "sessions" / "P1.1.1.jsonl"
    path.write_text(path.read_text().replace("2\\n", "3\\n"))
    with pytest.raises(PackageAltered):
        take_review(author, packed(reviewer, tmp_path / "altered.zip"))
    assert author.log_head(RUN) == head


@pytest.mark.parametrize(
    "words",
    [
        {"text": "\x1b[2J"},
        {"author": "\u202eeve"},
        {"node": "P1; rm"},
        {"at_utc": "now"},
        {"at_utc": "٢٠٢٦-01-01T00:00:00Z"},
        {"at_utc": "2026-01-01T00:00:00Z\n"},
    ],
)
def test_a_returned_review_of_a_stranger_cannot_steer_a_terminal(
    author: Store, tmp_path: Path, words: dict[str, str]
) -> None:
    comment = {"node": "P1", "text": "fine", "author": "Eve", "at_utc": "2018-07-01T00:00:00Z", **words}
    if "text" in words or "author" in words:
        package = "sha256:" + "0" * 64
        author.append(
            RUN, ev.ReviewReturned(package=package, shared=1, comments=(ev.ReturnedComment(**comment),))
        )
        with closing(Store(tmp_path / "o")) as other:
            import_package(other, packed(author, tmp_path / "x.zip"))
            said = [
                words
                for row in view(other, RUN).document()["comments"]
                for words in (row["text"], row["author"])
            ]
            assert len(said) == 4 and all(each.isprintable() for each in said), said
    else:
        with pytest.raises(ValueError, match="pattern"):
            ev.ReturnedComment(**comment)


def test_the_command_says_what_came_back_and_how_where_the_run_is_here(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    add_comment(reviewer, RUN, "P0", "and the base rate?", author="Bo")
    back = packed(reviewer, tmp_path / "back.zip")
    refused = run_cli(tmp_path, "import", str(back))
    assert refused.returncode == 2 and "--review" in refused.stderr and "\n" not in refused.stderr.strip()
    done = run_cli(tmp_path, "import", str(back), "--review", "--json")
    document = json.loads(done.stdout)
    assert document["run_id"] == RUN and [each["node"] for each in document["comments"]] == ["P0"]
    assert len(load_state(author, RUN).annotations.comments) == 2


def test_a_comment_that_came_back_under_another_persons_name_says_that_a_package_brought_it(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    add_comment(reviewer, RUN, "P1", "I take that back", author="Ann")
    take_review(author, packed(reviewer, tmp_path / "back.zip"))
    own, brought = load_state(author, RUN).annotations.comments
    assert own.author == brought.author == "Ann"
    assert "came back in package sha256:" in remark_line(brought) and "came back" not in remark_line(own)
    assert "came back in package sha256:" in export_run(author, RUN, "md")[0].decode()
    form = rendered("review", comments=load_state(author, RUN).annotations.comments, rows=[])
    assert form.count("came back in package") == 1


def test_a_review_of_a_log_that_goes_on_otherwise_or_lends_a_name_is_refused(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    """Each is one change to an honest review; nothing of any is taken in."""
    add_comment(reviewer, RUN, "P2", "too thin", author="Bo")
    sign_off(reviewer, RUN, author="Bo", done=["all"])
    honest = [stored.event for stored in reviewer.events(RUN)]
    signed = next(event for event in honest if isinstance(event, ev.ReviewSigned))
    facts = dict.fromkeys(("tree", "comments", "attested"), "sha256:" + "0" * 64)
    boss = ev.ReturnedSignOff(
        author="Boss", verdict="accept", checklist={}, head="0" * 64, at_utc="2026-01-01T00:00:00Z", **facts
    )
    forged = {
        "another answer": ev.RunFinished(p=0.99),
        "a run that failed": ev.RunStopped(why="failure", detail="x"),
        "a sign-off under another name": signed.model_copy(update={"author": "Boss"}),
        "a sign-off of a third home": ev.ReviewReturned(
            package="sha256:" + "0" * 64, shared=1, comments=(), sign_offs=(boss,)
        ),
    }
    head = author.log_head(RUN)
    package = packed(reviewer, tmp_path / "honest.zip")
    for name, event in forged.items():
        with closing(Store(tmp_path / name.replace(" ", "-"))) as other:
            import_package(other, package)
            other.append(RUN, event)
            with pytest.raises((UsageError, PackageAltered)):
                take_review(author, packed(other, tmp_path / "forged.zip"))
        assert author.log_head(RUN) == head, name
    assert take_review(author, package).sign_offs


@pytest.mark.parametrize(
    ("forged", "says"),
    [
        (
            ev.CommentAdded(node="P1", text="x" * 3_000_000, author="Bo"),
            "by Bo has 3000000 characters, at most",
        ),
        (
            ev.CommentAdded(node="P7.3", text="y", author="Bo"),
            "a comment by Bo is on P7.3, which the run does not have",
        ),
        (
            ev.EstimateGiven(node="P7.3", p=0.5, why="y", author="Bo"),
            "an estimate by Bo is on P7.3, which the run does not have",
        ),
        (
            ev.EstimateGiven(node="P1", p=0.5, author="(all pooled)"),
            "an estimate is under the name (all pooled)",
        ),
        (ev.CommentAdded(node="P1", text="y", author="B" * 5_000), "a name has 5000 characters, at most 200"),
    ],
    ids=["3 MB", "a driver that is not there", "an estimate of one", "the name of all", "a long name"],
)
def test_a_comment_that_nobody_could_have_typed_is_one_line_and_nothing_is_taken_or_lost(
    forged: ev.Annotation, says: str, author: Store, reviewer: Store, tmp_path: Path
) -> None:
    add_comment(reviewer, RUN, "P2", "too thin", author="Bo")
    honest = packed(reviewer, tmp_path / "honest.zip")
    reviewer.append(RUN, forged)
    packed(reviewer, tmp_path / "back.zip")
    head, before = author.log_head(RUN), view(author, RUN).document()
    done = run_cli(tmp_path, "import", "--review", "back.zip")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1, done
    assert says in done.stderr
    assert author.log_head(RUN) == head and view(author, RUN).document() == before
    assert [each.text for each in take_review(author, honest).comments] == ["too thin"]


def test_an_estimate_in_a_package_never_speaks_for_who_has_spoken_here(
    author: Store, reviewer: Store, tmp_path: Path
) -> None:
    """Names are typed: a reviewer may write Ann's, in any spelling, with any day."""
    give_estimate(author, RUN, "P0", "0.3", author="Ann", why="mine")
    give_estimate(author, RUN, "P1", "0.4", author="Ann")
    give_estimate(author, RUN, "P1", None, author="Ann")
    for node, name, p in (
        ("P0", "Ann", 0.99),
        ("P0", "\uff21NN", 0.98),
        ("P1", "ann", 0.97),
        ("P2", "Ann", 0.6),
    ):
        reviewer.append(RUN, ev.EstimateGiven(node=node, p=p, author=name))
    give_estimate(reviewer, RUN, "P0", "0.7", author="Bo")
    taken = take_review(author, packed(reviewer, tmp_path / "back.zip"))
    said = load_state(author, RUN).annotations
    assert len(taken.estimates) == 5 and len(said.estimates) == 8, "all of it stands on record"
    assert [(each.author, each.p) for each in said.standing("P0")] == [("Ann", 0.3), ("Bo", 0.7)]
    assert said.standing("P1") == (), "what she took back stays so"
    # where she has not spoken, the package's word counts, and says whose it is
    (lent,) = said.standing("P2")
    assert (lent.author, lent.p, lent.package[:7]) == ("Ann", 0.6, "sha256:")
    give_estimate(author, RUN, "P2", "0.2", author="Ann")
    assert [each.p for each in load_state(author, RUN).annotations.standing("P2")] == [0.2]
