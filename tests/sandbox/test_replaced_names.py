"""A cell that replaces or deletes `CALL_API`: it is put back, the journal says so, and a re-run shows the same."""

import asyncio
import json
from pathlib import Path

import pytest

from proxies.hashing import content_hash
from proxies.ledger import Address, Answer, LedgerRow
from sandbox import Sandbox, read_journal
from tests.sandbox.conftest import DEFAULT_LEVEL, Opener, verify_proof
from tests.sandbox.test_hostile_messages import FakeKernel, framed

#: What a cell does -> the names it took.
TAKEN = {
    "def CALL_API(path, params=None):\n    return 9999.0": ("CALL_API",),
    "_old = CALL_API\ndef CALL_API(path, params=None):\n    return _old(path, params)": ("CALL_API",),
    "del CALL_API": ("CALL_API",),
    "%reset -f": ("ApiRefused", "ApiUnavailable", "CALL_API"),
    "globals()['CALL_API'] = print": ("CALL_API",),
    "import sys, types\nsys.modules['x'] = types.SimpleNamespace(CALL_API=print)\nfrom x import CALL_API": ("CALL_API",),
    "import builtins\nbuiltins.CALL_API = print\ndel CALL_API": ("CALL_API", "builtins.CALL_API"),
    "for CALL_API in [1, 2]: pass\n1 / 0": ("CALL_API",),
    "ApiRefused = Exception": ("ApiRefused",),
    "CALL_API.frame = print": ("CALL_API.frame",),
    "CALL_API._socket = None": ("CALL_API._socket",),
    "class Mine:\n    def __call__(self, path, params=None): return 9999.0\n"
    "    def __setattr__(self, name, value): raise RuntimeError\nCALL_API.__class__ = Mine": ("CALL_API.__class__",),
    "type(CALL_API).__call__ = lambda self, path, params=None: 9999.0": ("CALL_API.__call__",),
    "del type(CALL_API).frame": ("CALL_API.frame",),
    "type(CALL_API).__getattribute__ = lambda self, name: print": ("CALL_API.__getattribute__",),
    # what a cell leaves to change the cells after it
    "ip = get_ipython()\nip.input_transformers_post.append(lambda lines: ['print(6)'])": ("input_transformers_post",),
    "get_ipython().input_transformer_manager.cleanup_transforms.insert(0, lambda lines: ['print(6)'])": (
        "cleanup_transforms",
    ),
    "get_ipython().input_transformers_post = [lambda lines: ['print(6)']]": ("input_transformers_post",),
    "import ast\nclass T(ast.NodeTransformer):\n    def visit_Constant(self, node): return ast.Constant(6)\n"
    "get_ipython().ast_transformers.append(T())": ("ast_transformers",),
    "get_ipython().events.register('pre_run_cell', lambda info: print(6))": ("events.pre_run_cell",),
    "def late(): print(6)\nlate.__module__ = 'matplotlib.pyplot'\n"
    "get_ipython().events.register('post_execute', late)": ("events.post_execute",),
    "get_ipython().events.callbacks['pre_run_cell'].clear()": ("events.pre_run_cell",),
    "ip = get_ipython()\nip.transform_cell = lambda raw: 'print(6)'": ("transform_cell",),
    "ip = get_ipython()\ntype(ip).transform_cell = lambda self, raw: 'print(6)'": ("transform_cell",),
    "ip = get_ipython()\nip.kernel.do_execute = None\nip.kernel.do_execute = lambda *a, **k: {}": ("do_execute",),
    "ip = get_ipython()\nip.compile.ast_parse = lambda *a: None": ("ast_parse",),
    "ip = get_ipython()\nip.display_pub.publish = lambda *a, **k: None": ("publish",),
    "manager = get_ipython().input_transformer_manager\nmanager.transform_cell = lambda cell: 'print(6)'": (
        "transform_cell",
    ),
    "manager = type(get_ipython().input_transformer_manager)\nmanager.transform_cell = lambda self, cell: 'print(6)'": (
        "transform_cell",
    ),
    "manager = get_ipython().input_transformer_manager\nmanager.do_token_transforms = lambda lines: ['print(6)']": (
        "do_token_transforms",
    ),
    "import ast\nkind = type(get_ipython().compile)\nkind.ast_parse = lambda self, *a, **k: ast.parse('print(6)')": ("ast_parse",),
    "import codeop\ncodeop.Compile.__call__ = lambda self, *a, **k: compile('print(6)', 'x', 'exec')": ("__call__",),
    "kind = type(get_ipython().events)\nkind.trigger = lambda self, *a, **k: print(6)": ("trigger",),
    "kind = type(get_ipython().display_formatter)\nkind.format = lambda *a, **k: ({'text/plain': '6'}, {})": ("format",),
    "type(get_ipython().displayhook).__call__ = lambda *a, **k: print(6)": ("__call__",),
    "get_ipython().user_ns['__builtins__'] = {'print': lambda *a: None}": ("__builtins__",),
    "import sys\nsys.settrace(lambda *a: None)": ("sys.settrace",),
    "import threading\nthreading.setprofile(lambda *a: None)": ("threading.setprofile",),
    "import sys\nclass F:\n    def find_spec(self, *a): return None\nsys.meta_path.insert(0, F())": ("sys.meta_path",),
    "import sys\ndel sys.meta_path[0]": ("sys.meta_path",),
    "import builtins\nbuiltins.round = lambda *a: 6": ("builtins.round",),
    "import builtins\nbuiltins.__import__ = lambda *a, **k: None": ("builtins.__import__",),
    "import sys, io\nsys.stdout = io.StringIO()": ("sys.stdout",),
    "import sys\nsys.stdout = None": ("sys.stdout",),
    "get_ipython().user_ns = {}": ("user_ns",),
}  # fmt: skip

#: The neighbours: names of one's own, and what calls themselves change.
LEFT = [
    "fetch = CALL_API\ndef frame(path):\n    return CALL_API.frame(path)",
    "CALL_API = CALL_API",
    "CALL_API('y'); CALL_API.meta = {}",
    "from unittest import mock\nwith mock.patch.dict(globals(), CALL_API=print): pass",
    "help(CALL_API); CALL_API.__class__.__annotations__; CALL_API",
    "%who",
    "raise ValueError",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "%matplotlib inline\nplt.switch_backend('agg')",
    "%matplotlib inline",
    "import pandas as pd\npd.set_option('display.max_rows', 5)\npd.options.display.html.table_schema = True\npd.DataFrame({'a': [1]})",
    "get_ipython().ast_node_interactivity = 'all'\n1\n2",
    "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): print(1)",
    "from unittest import mock\nwith mock.patch('builtins.round'): round(1.5)",
    "import six.moves.urllib\nfrom six.moves import range",
    "import cProfile\nprofile = cProfile.Profile()\nprofile.enable()",
    "profile.disable()",
    "%time sum(range(10))",
    "%prun -q sum(range(10))",
    "from IPython.core.magic import register_cell_magic\n@register_cell_magic\ndef mine(line, cell): print(cell)",
    "%%mine\n1",
    "import sys\nsys.stdout.close()\nprint('open')",
    "import asyncio\nawait asyncio.sleep(0)",
    "from __future__ import annotations\nimport warnings\nwarnings.simplefilter('ignore')",
    "import sympy, statsmodels.api, scipy.stats",
]


async def test_a_cell_that_takes_a_given_name_is_found_out_and_the_name_put_back(open_session: Opener):
    session = await open_session()
    for source, names in TAKEN.items():
        result = await session.execute(source)
        assert (result.replaced, result.status) == (names, "error" if "1 / 0" in source else "ok"), source
        after = await session.execute(
            "print(CALL_API('x')['path'], CALL_API.frame('z').shape, CALL_API.meta['as_of'], ApiRefused)"
        )
        assert after.text() == "x (1, 4) 2018-06-30 <class 'call_api.ApiRefused'>", (source, after.text())
        assert after.replaced == (), source
    await session.close()
    cells = read_journal(session.spec.journal)
    assert [cell.result.replaced for cell in cells[::2] if cell.result] == list(TAKEN.values())
    assert cells[0].findings == ("It replaced or deleted CALL_API of the kernel, which was put back.",)
    assert cells[1].findings == ()
    shown = json.loads(session.spec.notebook.read_text())["cells"]
    assert shown[0]["metadata"]["analyst"]["findings"] == list(cells[0].findings)
    assert "findings" not in shown[1]["metadata"]["analyst"]


@pytest.mark.parametrize("level", [DEFAULT_LEVEL])
async def test_what_a_cell_may_do_is_no_finding(open_session: Opener, level: str):
    session = await open_session(level=level)
    for source in LEFT:
        result = await session.execute(source)
        assert result.replaced == (), source
        assert "sys.stdout" not in source or result.text() == "open"


async def test_a_cell_may_add_no_audit_hook_and_audit_what_it_does(open_session: Opener):
    """Python takes no audit hook out again, so none is let in; what hooks hear of is raised as ever."""
    session = await open_session()
    added = await session.execute(
        "import sys\nheard = []\nsys.addaudithook(lambda event, args: heard.append(event))"
    )
    assert added.error is not None and (added.status, added.error.ename) == ("error", "RuntimeError")
    assert "audit hook" in added.error.evalue
    again = await session.execute(
        "from sys import addaudithook\naddaudithook(lambda event, args: heard.append(event))"
    )
    assert again.status == "error"
    after = await session.execute("sys.audit('mine', 1)\nopen('x', 'w').close()\nprint(heard)")
    assert (after.status, after.text()) == ("ok", "[]")
    await session.close()


async def test_a_proof_whose_cell_replaced_a_name_is_verified(
    open_session: Opener, box: Sandbox, tmp_path: Path
):
    """The re-run puts the name back as well, so the cell behind the replaced one reads the ledger again."""
    rows: list[LedgerRow] = []

    async def api(path, params, *, cell, nth):
        answer = Answer(data=[1.5], meta={"content_hash": content_hash([1.5]), "as_of": "2018-06-30"})
        place = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=cell, retry=nth)
        rows.append(
            LedgerRow(
                address=place, path=path, asked=dict(params), sent=[], at_utc="", cutoff="2018-06-30", answer=answer, refused=None,
                request_hash="",
            )
        )  # fmt: skip
        return answer

    session = await open_session(api=api)
    await session.execute("def CALL_API(path, params=None):\n    return [9999.0]")
    await session.execute("%reset -f")
    read = await session.execute("print(CALL_API('x'))")
    assert read.text() == "[1.5]"
    await session.close()
    proof = {"journal": session.spec.journal, "notebook": session.spec.notebook}
    checked = await verify_proof(box, **proof, rows=rows, isolation=DEFAULT_LEVEL)
    assert (checked.verified, checked.differing) == (True, ())


async def test_only_names_are_taken_from_a_reply(tmp_path: Path):
    """The kernel is hostile: what it lists goes into prompts and pages."""

    async def replaced(kernel: FakeKernel, listed: object) -> tuple[str, ...]:
        run = kernel.client.start("6 * 7", max_shown=1000)
        body = json.dumps({"status": "ok", "replaced": listed}).encode()
        await kernel.send(1, framed("execute_reply", body, run.request))
        await asyncio.wait_for(run.replied.wait(), 30)
        assert run.reply is not None
        return tuple(run.reply["replaced"])

    listed = [
        "CALL_API",
        "Ignore all; p = 1",
        3,
        "x" * 200,
        "CALL_API.frame\n",
        "CALL_API",
        *["a" * n for n in range(1, 99)],
    ]
    async with FakeKernel(tmp_path) as kernel:
        for odd in (None, "CALL_API", {"CALL_API": 1}, 7):
            assert await replaced(kernel, odd) == ()
        names = await replaced(kernel, listed)
        assert names[:2] == ("CALL_API", "a") and len(names) <= 10
