import base64
import html as htmllib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.jupyter.sanitize import clean_bundle, clean_html, clean_markdown, clean_output, clean_svg

HOSTILE = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//example.org/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<img src=https://example.org/beacon.png>",
    "<img srcset='https://example.org/b 1x'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html;base64,PHNjcmlwdD4='>x</a>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x /></svg>",
    "<math><mtext><script>alert(1)</script></mtext></math>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='x.swf'></object><embed src=x>",
    "<form action=https://example.org><input name=q><button>go</button></form>",
    "<style>body{background:url(https://example.org/b)}</style>",
    "<div style='background:url(https://example.org/b)'>x</div>",
    "<div style='position:fixed;inset:0;width:100%'>x</div>",
    "<div style='background:u\\72l(https://example.org/b)'>x</div>",
    "<div data-commandlinker-command='terminal:create-new'>x</div>",
    "<div id='main' class='jp-Notebook'>x</div>",
    "<base href=https://example.org/><meta http-equiv=refresh content='0;url=https://example.org'>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<video src=https://example.org/v autoplay></video><audio src=x></audio>",
    "<details ontoggle=alert(1) open>x</details>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<table background=https://example.org/b><tr><td background=x>1</td></tr></table>",
)
FORBIDDEN = re.compile(
    r"<(script|style|iframe|object|embed|form|input|button|svg|math|base|meta|link|video|audio|template)"
    r"|\son\w+\s*=|ja\s*va\s*script:|example\.org|data:text|data-|\sid=|class=\"(?!dataframe\")|position|url\(",
    re.IGNORECASE,
)


def _outside_text(html: str) -> str:
    return " ".join(re.findall(r"<[^>]*>", html))


@pytest.mark.parametrize("html", HOSTILE)
def test_nothing_hostile_is_left(html: str):
    assert FORBIDDEN.search(htmllib.unescape(html)), "the example is not hostile"
    assert not FORBIDDEN.search(_outside_text(clean_html(html)))


@pytest.mark.parametrize("html", HOSTILE)
def test_markdown_is_no_way_around(html: str):
    for text in (html, f"# title\n\n{html}\n\n* item {html}", f"| a |\n|---|\n| {html} |", f"[x](<{html}>)"):
        assert not FORBIDDEN.search(_outside_text(clean_markdown(text)))


def test_links_of_markdown_run_nothing():
    html = clean_markdown(
        "[x](javascript:alert(1)) [y](vbscript:x) [z](https://example.com) ![i](https://example.com/b.png)"
    )
    assert 'href="https://example.com"' in html
    assert "script:" not in html
    assert "b.png" not in html


@settings(deadline=None)
@given(st.text())
def test_cleaning_twice_changes_nothing(text: str):
    once = clean_html(text)
    assert clean_html(once) == once


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([*HOSTILE, "<p>", "</p>", "<b>x", "<!--", "-->", "<![CDATA[", "]]>", "'", '"', ">"])
    )
)
def test_no_mixture_gets_through(parts: list[str]):
    assert not FORBIDDEN.search(_outside_text(clean_html("".join(parts))))


def test_a_data_frame_keeps_its_looks():
    import pandas as pd

    html = pd.DataFrame({"a": [1.5], "b": ["<script>x</script>"]})._repr_html_()
    cleaned = clean_html(html)
    assert 'class="dataframe"' in cleaned and 'border="1"' in cleaned
    assert "<th>a</th>" in cleaned and "<td>1.5</td>" in cleaned
    assert "text-align:right" in cleaned.replace(" ", "")
    assert "<style" not in cleaned and "<script" not in cleaned


def test_svg_becomes_an_image():
    html = clean_svg("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'></svg>", alt='a "plot"')
    assert html.startswith("<img ")
    assert clean_html(html).startswith("<img ")
    encoded = re.search(r"base64,([^\"]+)", clean_html(html))
    assert encoded and base64.b64decode(encoded[1]).startswith(b"<svg")


def test_a_bundle_keeps_only_what_may_be_shown():
    data, metadata = clean_bundle(
        {
            "text/plain": "a figure",
            "image/png": "aGVsbG8=\n",
            "application/javascript": "alert(1)",
            "application/vnd.jupyter.widget-view+json": {"model_id": "x"},
            "text/html": "<b>x</b><script>1</script>",
        },
        {"image/png": {"width": 10, "onload": "x"}, "isolated": True},
    )
    assert data == {"text/plain": "a figure", "image/png": "aGVsbG8=", "text/html": "<b>x</b>"}
    assert metadata == {"image/png": {"width": 10}}


def test_a_bundle_with_nothing_to_show_says_so():
    data, _ = clean_bundle({"application/javascript": "alert(1)"})
    assert data == {"text/plain": "[left out: application/javascript]"}


def test_outputs_of_unknown_kind_are_dropped():
    assert clean_output({"output_type": "update", "data": {}}) is None
    assert clean_output({"output_type": "stream", "name": "stdout", "text": ["a", "b"]}) == {
        "output_type": "stream",
        "name": "stdout",
        "text": "ab",
    }
