"""A folder of documents: parsed behind the seal, dated by a policy, searched as of the cutoff; a hostile file is one line."""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.catalogue import api_doc
from proxies.errors import Refused
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import own_folder
from proxies.vendors.own.own_source import EXCERPT, PageIndex
from tests.command_line import run_cli
from workbench.errors import UsageError
from workbench.sources import document_files
from workbench.sources.document_files import open_documents
from workbench.sources.own_store import list_sources, store_source
from workbench.sources.sealed_reader import read_sealed
from workbench.sources.source_attack import attack_source
from workbench.sources.source_check import check_source


async def asked(home: Path, cutoff: str, path: str, **params: object) -> list[dict[str, Any]]:
    broker = open_broker(ProxySettings(own_folder=own_folder(home), reader="model"))
    try:
        session = broker.session(Cutoff.parse(cutoff), MemoryLedger())
        address = Address(run="t", node="-", trial=0, attempt=0, stage="call", step=0, retry=0)
        return list((await session.call(path, params, address)).data)
    finally:
        await broker.aclose()


def pdf(*pages: str) -> bytes:
    """A PDF by hand: its text is what a parser has to find."""
    parts = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
        parts.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        parts.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
            % len(parts)
        )
        kids.append(b"%d 0 R" % len(parts))
    parts[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    ending = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(parts) + 1, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1) + table + ending


def word(text: str) -> bytes:
    file, out = docx.Document(), io.BytesIO()
    file.add_paragraph(text)
    file.save(out)
    return out.getvalue()


def excel(*row: object) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.append(list(row))
    book.save(out)
    return out.getvalue()


def bomb() -> bytes:
    """A Word file whose document unpacks to 2 GB."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(word("x"))) as honest,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        for name in honest.namelist():
            if name != "word/document.xml":
                file.writestr(name, honest.read(name))
        with file.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(128):
                part.write(b" " * (16 << 20))
    return out.getvalue()


NOTES = {
    "2018-03-02 outlook.md": b"# Outlook\n\nWe expect three hikes of the federal funds rate.\n",
    "2018-05 memo.docx": word("Inflation in May was above what the desk expected"),
    "2018-06-01 report.pdf": pdf("Rates outlook on page one", "Crude inventories fell on page two"),
    "20180701_orders.xlsx": excel("orders", 512),
    "sub/2018-09-02 note.html": b"<title>Autumn</title><body><script>steal()</script><p>A cut is unthinkable</p>",
}


def folder(tmp_path: Path, files: dict[str, bytes]) -> Path:
    place = tmp_path / "notes"
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


@pytest.fixture
def plain_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read text files as they are, so that what is tested beside the parser costs no kernel."""

    async def read(data: bytes, name: str, source: str, **_: object) -> Any:
        return {"pages": data.decode().split("\f"), "title": "", "moments": []}

    monkeypatch.setattr(document_files, "read_sealed", read)


async def test_every_kind_is_read_and_each_cutoff_searches_what_was_known(tmp_path: Path) -> None:
    new = await open_documents(
        tmp_path, "notes", folder(tmp_path, NOTES | {"undated.txt": b"x"}), dated="filename"
    )
    assert new.notes == ("left out: undated.txt: no single date in its name",)
    store_source(tmp_path, new)
    (row,) = list_sources(tmp_path)
    assert (row["rows"], row["counted"], row["first"], row["last"]) == (
        6,
        "pages",
        "2018-03-02",
        "2018-09-02",
    )
    texts = {path.name: path.read_bytes() for path in own_folder(tmp_path).rglob("*") if path.is_file()}
    assert not any(b"steal" in text for text in texts.values())

    found = await asked(tmp_path, "2018-06-30", "own/notes/search", query="outlook rates")
    assert {row["document"] for row in found} == {"2018-03-02 outlook.md", "2018-06-01 report.pdf"}
    assert found[0]["cite"] == f"own:notes/{found[0]['document']}, page 1 ({found[0]['date']})"
    assert await asked(tmp_path, "2018-06-01", "own/notes/search", query="rates outlook page") == [
        row for row in await asked(tmp_path, "2018-05-01", "own/notes/search", query="rates outlook page")
    ]
    # the memo of a month counts when the month is over
    assert not await asked(tmp_path, "2018-05-31", "own/notes/search", query="inflation")
    assert await asked(tmp_path, "2018-06-01", "own/notes/search", query="inflation")
    (page,) = await asked(tmp_path, "2018-06-30", "own/notes/pages", document="2018-06-01 report.pdf", page=2)
    assert (
        page["text"] == "Crude inventories fell on page two" and page["page"] == 2 and "__known" not in page
    )
    later, unheard_of = "sub/2018-09-02 note.html", "2018-01-01 nothing.md"
    for name in (later, unheard_of):
        assert await asked(tmp_path, "2018-06-30", "own/notes/pages", document=name) == []
    assert (await asked(tmp_path, "2018-10-01", "own/notes/search", query="unthinkable"))[0][
        "title"
    ] == "Autumn"
    (today,) = await asked(tmp_path, "now", "own/notes/search", query="unthinkable")
    assert set(today) == {"date", "document", "page", "title", "text", "cite"}


async def test_what_is_written_later_changes_neither_order_nor_bytes(
    tmp_path: Path, plain_reader: None
) -> None:
    early = {
        f"2018-01-{day:02d}.txt": f"rates {'rise ' * day} and oil {day}".encode() for day in range(1, 20)
    }
    late = {f"2018-03-{day:02d}.txt": b"rates rates oil oil rise gold" * day for day in range(1, 9)}
    answers = []
    for home, files in ((tmp_path / "one", early), (tmp_path / "two", early | late)):
        home.mkdir()
        store_source(home, await open_documents(home, "notes", folder(home, files), dated="filename"))
        words = ("rates", "oil rise", "gold")
        answers.append(
            [await asked(home, "2018-02-01", "own/notes/search", query=word, limit=50) for word in words]
        )
    assert answers[0] == answers[1] and [len(rows) for rows in answers[0]] == [19, 19, 0]
    report = await attack_source(tmp_path / "two", "notes")
    assert report["summary"] == "notes: nothing leaks", report["findings"]


async def test_check_names_documents_that_were_changed_after_their_day(tmp_path: Path) -> None:
    files = {"2018-03-02.html": b'<meta name="date" content="2019-02-03T10:00:00Z"><body>known since</body>'}
    place = folder(tmp_path, files | {"2018-03-03.md": b"fine"})
    store_source(tmp_path, await open_documents(tmp_path, "notes", place, dated="filename"))
    (found,) = (await check_source(tmp_path, "notes"))["findings"]
    assert found["kind"] == "leaks" and "2018-03-02.html on 2019-02-03" in found["words"]
    again = await open_documents(tmp_path, "notes", place, dated="metadata")
    store_source(tmp_path, again)
    assert again.manifest.first == "2019-02-03" and "2018-03-03.md: the file names no day" in again.notes[0]
    assert not (await check_source(tmp_path, "notes"))["findings"]


@pytest.mark.long
async def test_hostile_files_are_a_line_each_and_the_honest_one_is_added(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    place = folder(
        tmp_path,
        {
            "2018-01-01 bomb.docx": bomb(),
            "2018-01-02 rubbish.pdf": b"%PDF-1.4 rubbish",
            "2018-01-03 secret.pdf": b"",
            "2018-01-04 fine.md": b"An honest sentence.",
            "2018-01-05 line\nbreak.md": b"x",
            "2018-01-06 laughs.html": f"<!DOCTYPE x [{laughs}]><body>&l11;</body>".encode(),
        },
    )
    (place / "2018-01-07 link.md").symlink_to("/etc/passwd")
    (place / "elsewhere").symlink_to("/etc")
    os.mkfifo(place / "2018-01-08 pipe.md")
    with (place / "2018-01-09 huge.pdf").open("wb") as file:
        file.truncate(60_000_000)
    new = await open_documents(tmp_path, "notes", place, dated="filename")
    assert set(new.rows["document"]) == {"2018-01-04 fine.md", "2018-01-06 laughs.html"}
    (note,) = new.notes
    for word_ in (
        "bomb.docx cannot be parsed",
        "rubbish.pdf cannot be parsed",
        "secret.pdf",
        "plain name",
        "more than 50 MB",
    ):
        assert word_ in note, note
    assert "root:" not in new.rows.to_string() and "\n" not in note


async def test_a_parser_that_was_taken_over_hands_over_text_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        document_files.PARSERS,
        ".md",
        'answer = {"pages": ["a\\x00", 5, {"x": 1}], "title": 7, "moments": ["9999-99-99", {}]}',
    )
    place = folder(tmp_path, {"2018-01-04 fine.md": b"x"})
    new = await open_documents(tmp_path, "notes", place, dated="filename")
    assert list(new.rows["text"]) == ["a "] and list(new.rows["title"]) == [""]
    sees = f'import os\nanswer = [os.environ.get("HOME") == {os.environ.get("HOME")!r}, os.path.exists({str(place)!r})]'
    assert await read_sealed(b"x", "x", sees, packages=()) == [False, False]
    assert await read_sealed(b"x", "x", "answer = len(data)", packages=()) == 1


async def test_a_list_gives_the_days_and_names_only_what_is_there(tmp_path: Path, plain_reader: None) -> None:
    place = folder(tmp_path, {"a.md": b"alpha", "b.md": b"beta"})
    days = tmp_path / "days.csv"
    days.write_text("file,day\na.md,2018-01-05\n")
    new = await open_documents(tmp_path, "notes", place, dated=str(days))
    assert new.manifest.first == "2018-01-05" and "b.md: the list does not name it" in new.notes[0]
    days.write_text("file,day\na.md,2018-01-05\nc.md,2018-01-06\n")
    with pytest.raises(UsageError, match=r"days.csv names 'c.md', which is no document"):
        await open_documents(tmp_path, "notes", place, dated=str(days))
    days.write_text("file,day\na.md,05/01/2018\n")
    with pytest.raises(UsageError, match="line 2: '05/01/2018' is no day"):
        await open_documents(tmp_path, "notes", place, dated=str(days))
    for wrong in ("guess", str(tmp_path / "none.csv")):
        with pytest.raises(UsageError):
            await open_documents(tmp_path, "notes", place, dated=wrong)
    with pytest.raises(UsageError, match="no folder"):
        await open_documents(tmp_path, "notes", tmp_path / "nowhere", dated="filename")


async def test_documents_are_no_series_and_share_none_keeps_them_from_models(
    tmp_path: Path, plain_reader: None
) -> None:
    place = folder(tmp_path, {"2018-01-04.md": b"alpha"})
    store_source(tmp_path, await open_documents(tmp_path, "notes", place, dated="filename", share="none"))
    with pytest.raises(Refused, match="no language model may see it"):
        await asked(tmp_path, "2018-06-30", "own/notes/search", query="alpha")
    person = open_broker(ProxySettings(own_folder=own_folder(tmp_path), reader="person"))
    said = api_doc(person.catalogue, ["own/notes/search", "own/notes/pages"])
    assert "never an instruction" in said and "end of the day that its file name says" in said
    await person.aclose()


def test_the_command_shows_asks_and_answers(tmp_path: Path) -> None:
    place = folder(
        tmp_path, {"2018-01-04 a.md": b"The desk expects gold to rise", "2018-09-04 b.md": b"gold fell"}
    )
    done = run_cli(tmp_path, "source", "add-documents", "notes", str(place), "--dated", "filename", "--yes")
    assert done.returncode == 0, done.stderr
    assert "2 pages, 2018-01-04 to 2018-09-04" in done.stdout and "left out" not in done.stderr
    call = run_cli(tmp_path, "call", "own/notes/search", "query=gold", "--cutoff", "2018-06-30")
    assert [row["document"] for row in json.loads(call.stdout)["data"]] == ["2018-01-04 a.md"], (
        call.stdout + call.stderr
    )
    listed = run_cli(tmp_path, "source", "list")
    assert "2 pages" in listed.stdout and "2 documents" in listed.stdout
    rows = run_cli(
        tmp_path, "source", "add", "notes", str(place / "2018-01-04 a.md"), "--date", "d", "--lag", "1d"
    )
    assert rows.returncode == 2 and "holds documents" in rows.stderr


def test_an_excerpt_shows_where_the_words_are() -> None:
    text = "nothing here " * 200 + "the federal funds rate rose to its target " + "nothing there " * 200
    index = PageIndex([text, "other"])
    (place,) = index.best("Federal rates", 5)
    shown = index.excerpt(text, "federal rates")
    assert place == 0 and "federal funds rate rose" in shown and len(shown) < EXCERPT + 20
    assert index.best("unheard of words", 5) == [] and index.best("", 5) == []
