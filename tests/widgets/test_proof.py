"""The proof view takes notebooks from a sealed kernel that may have been told to attack the screen."""

import json
import re
from base64 import b64decode, b64encode
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from sandbox.jupyter.sanitize import clean_html
from tests.fakes.html_reader import Page
from tests.fakes.screens import figure_png, proof_notebook
from workbench.errors import UsageError
from workbench.widgets.proofs.proof_view import (
    CONTENT_SECURITY_POLICY,
    frame,
    message_document,
    proof_document,
)

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script><circle r="4"/></svg>'
)

ATTACKS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    '<img src="https://evil.example/pixel.png">',
    '<img src="data:text/html;base64,PHNjcmlwdD4=">',
    '<img srcset="https://evil.example/a 2x">',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="jAvAsCrIpT&colon;alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<a href="vbscript:x">x</a>',
    '<iframe src="https://evil.example"></iframe>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<object data="x.swf"></object><embed src="x.swf">',
    '<form action="https://evil.example"><input name=a><button>go</button></form>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<base href="https://evil.example/">',
    '<link rel="stylesheet" href="https://evil.example/x.css">',
    "<style>body{background:url(https://evil.example)}</style>",
    '<p style="background:url(https://evil.example)">x</p>',
    '<div id="loading" class="wb-header">x</div>',
    SVG,
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    '<details open ontoggle="alert(1)"><summary>x</summary></details>',
    "<table><tr><td onclick=alert(1) background=//evil.example>1</td></tr></table>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<template><script>alert(1)</script></template>",
    '<video src="https://evil.example/a.mp4" autoplay onplay=alert(1)></video>',
    '"><script>alert(1)</script>',
    "</body></html><script>alert(1)</script>",
]  # fmt: skip

ALLOWED_URL = re.compile(r"(data:image/(png|jpeg|gif|webp|svg\+xml);base64,|https?:|mailto:|#)")


ACTIVE = [
    "script",
    "iframe",
    "object",
    "embed",
    "form",
    "input",
    "button",
    "link",
    "svg",
    "math",
    "video",
    "template",
]


def active(document: str) -> list[str]:
    """What a browser would see as active in a document, or would fetch for it."""
    page = Page(document)
    return [
        *(f"<{tag}>" for tag in page.tags if tag in ACTIVE),
        *(
            f"{tag}[{name}={value}]"
            for tag, name, value in page.attributes
            if name.startswith("on")
            or name in {"srcdoc", "srcset", "action", "background", "formaction"}
            or (name in {"href", "src"} and not ALLOWED_URL.match(value))
            or (tag == "img" and name == "src" and not value.startswith("data:image/"))
        ),
    ]


def images(document: str) -> list[str]:
    return [value for tag, name, value in Page(document).attributes if (tag, name) == ("img", "src")]


def notebook_of(tmp_path: Path, *cells: dict[str, Any]) -> Path:
    path = tmp_path / "P1.ipynb"
    path.write_text(
        json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
        encoding="utf-8",
    )
    return path


def code(*outputs: dict[str, Any], source: str = "x", **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": source,
        "metadata": metadata,
        "outputs": list(outputs),
        "execution_count": 1,
    }


def display(**data: Any) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {key.replace("__", "/"): value for key, value in data.items()},
        "metadata": {},
    }


def body_of(document: str) -> str:
    return document.split("<body", 1)[1]


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_inert_wherever_a_notebook_can_put_it(tmp_path: Path, attack: str) -> None:
    frame_of_cells = f"<table><tr><td>{attack}</td></tr></table>"
    path = notebook_of(
        tmp_path,
        {"cell_type": "markdown", "source": attack, "metadata": {}},
        {
            "cell_type": "markdown",
            "source": f"# {attack}\n\n| a |\n|---|\n| {attack} |\n\n- {attack}",
            "metadata": {},
        },
        {"cell_type": "raw", "source": attack, "metadata": {}},
        {"cell_type": attack, "source": attack, "metadata": {}},
        code(
            {"output_type": "stream", "name": attack, "text": attack},
            {"output_type": "error", "ename": attack, "evalue": attack, "traceback": [attack]},
            display(text__html=attack, text__plain=attack),
            display(text__html=frame_of_cells),
            display(text__markdown=attack),
            display(text__latex=attack),
            display(**{"image__svg+xml": SVG}),
            display(image__png=attack),
            display(image__png='AAAA" onerror="alert(1)'),
            display(**{f"application__{attack}": attack}),
            source=attack,
        ),
        code(
            {"output_type": "error", "ename": attack, "evalue": "", "traceback": []},
            source=attack,
            tags=["superseded"],
        ),
    )
    assert active(body_of(proof_document(path))) == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_cleaner_alone_makes_every_attack_inert(attack: str) -> None:
    assert active(clean_html(attack)) == []


def test_the_inspector_sees_an_attack_that_is_not_cleaned() -> None:
    # positive control: the tests above can fail
    seen = [attack for attack in ATTACKS if active(attack)]
    assert len(seen) >= 20


def test_markdown_links_and_images_lead_nowhere(tmp_path: Path) -> None:
    source = "[a](javascript:alert(1)) ![b](https://evil.example/p.png) ![c](file:///etc/passwd) <https://example.org>"
    document = proof_document(
        notebook_of(tmp_path, {"cell_type": "markdown", "source": source, "metadata": {}})
    )
    assert (
        active(body_of(document)) == [] and "evil.example" not in document and "/etc/passwd" not in document
    )


def test_the_frame_runs_no_scripts_and_carries_the_document_whole(tmp_path: Path) -> None:
    document = proof_document(
        notebook_of(tmp_path, {"cell_type": "markdown", "source": 'a "quoted" <b>word</b>', "metadata": {}})
    )
    html = frame(document, title='P1"><script>')
    match = re.fullmatch(
        r'<iframe class="wb-frame" sandbox="" referrerpolicy="no-referrer" title="([^"]*)" srcdoc="([^"]*)"></iframe>',
        html,
    )
    assert match is not None
    assert unescape(match[2]) == document
    assert "<script" not in html


def test_the_page_forbids_scripts_and_fetches_by_policy() -> None:
    document = message_document("nothing")
    assert f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">' in document
    assert (
        CONTENT_SECURITY_POLICY.startswith("default-src 'none'")
        and "script-src" not in CONTENT_SECURITY_POLICY
    )
    # the policy stands before anything it should rule
    assert document.index("Content-Security-Policy") < document.index("<style") < document.index("<body")


def test_figures_stay_as_the_kernel_drew_them(tmp_path: Path) -> None:
    png = figure_png()
    path = notebook_of(
        tmp_path, code(display(image__png=b64encode(png).decode() + "\n", text__plain="<Figure>"))
    )
    (source,) = images(body_of(proof_document(path)))
    assert b64decode(source.removeprefix("data:image/png;base64,")) == png


def test_an_svg_becomes_an_image(tmp_path: Path) -> None:
    path = notebook_of(
        tmp_path, code(display(**{"image__svg+xml": ["<svg>", "<script>alert(1)</script>", "</svg>"]}))
    )
    (source,) = images(body_of(proof_document(path)))
    assert source.startswith("data:image/svg+xml;base64,")


def test_scripted_output_falls_back_to_its_text(tmp_path: Path) -> None:
    path = notebook_of(
        tmp_path,
        code(display(text__html="<script>plot()</script><style>p{}</style>", text__plain="Chart(3)")),
    )
    assert '<pre class="value">Chart(3)</pre>' in proof_document(path)


@pytest.mark.parametrize("mime", ["application/javascript", "application/vnd.jupyter.widget-view+json"])
def test_scripts_and_widget_views_are_dropped_and_said_to_be(tmp_path: Path, mime: str) -> None:
    path = notebook_of(tmp_path, code(display(**{mime.replace("/", "__"): {"model_id": "abc-secret"}})))
    document = proof_document(path)
    assert f"An interactive output is not shown here ({mime})" in document and "abc-secret" not in document


def test_superseded_cells_are_folded_and_name_their_error(tmp_path: Path) -> None:
    path = tmp_path / "P1.ipynb"
    import nbformat

    nbformat.write(proof_notebook("P1", "The index rises", 0.6, "It rose."), path)
    document = proof_document(path)
    assert (
        len(
            re.findall(
                '<details class="superseded" id="[a-z0-9-]+"><summary>Earlier attempt, TypeError</summary>',
                document,
            )
        )
        == 1
    )
    assert "<strong>60%</strong>" in document and "2,718.37" in document


def test_long_output_is_cut_and_says_so(tmp_path: Path) -> None:
    path = notebook_of(tmp_path, code({"output_type": "stream", "name": "stdout", "text": "x" * 50_000}))
    assert "... 30,000 more characters in the notebook" in proof_document(path)


def test_a_data_frame_keeps_its_cells(tmp_path: Path) -> None:
    import pandas

    html = pandas.DataFrame({"close": [2718.37], "note": ["<img src=x onerror=alert(1)>"]}).to_html()
    raw = pandas.DataFrame({"note": ["<img src=x onerror=alert(1)>"]}).to_html(escape=False)
    document = proof_document(notebook_of(tmp_path, code(display(text__html=html), display(text__html=raw))))
    assert "<td>2718.37</td>" in document and active(body_of(document)) == []


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "no notebook at"),
        ("{", "cannot be read as a notebook"),
        ("[]", "is not a notebook of format 4"),
        ('{"worksheets": []}', "is not a notebook of format 4"),
        ("\udcff", "cannot be read as a notebook"),
    ],
)
def test_what_is_no_notebook_is_refused_in_one_line(tmp_path: Path, content: str | None, line: str) -> None:
    path = tmp_path / "P1.ipynb"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=line):
        proof_document(path)


@pytest.mark.parametrize(
    "cell",
    [
        {},
        {"cell_type": "code"},
        {
            "cell_type": "code",
            "outputs": [None, 3, {"output_type": "display_data", "data": []}],
            "metadata": {"tags": 4},
        },
        {
            "cell_type": "code",
            "outputs": [{"output_type": "error", "traceback": "x", "ename": ["a"]}],
            "source": ["a", "b"],
        },
        {"cell_type": "markdown", "source": {"a": 1}},
    ],
)
def test_a_bent_notebook_is_shown_as_far_as_it_can_be(tmp_path: Path, cell: dict[str, Any]) -> None:
    path = notebook_of(tmp_path, cell, {"cell_type": "markdown", "source": "the end", "metadata": {}})
    assert "the end" in proof_document(path)
