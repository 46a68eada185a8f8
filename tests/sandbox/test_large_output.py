"""What is printed and displayed beyond a message's size: its head is seen, and a line says that it was cut."""

from tests.sandbox.conftest import Opener

LARGE = {
    "one print": "print('h' * 11_000_000)",
    "many lines": "print('\\n'.join(f'h row {i}' for i in range(1_300_000)))",
    "letters of four bytes": "print('h' + '\\U0001F600' * 4_000_000)",
    "error stream": "import sys; print('h' * 11_000_000, file=sys.stderr)",
    "last value": "'h' * 11_000_000",
    "display": "from IPython.display import HTML; display(HTML('h' * 11_000_000))",
    "own representation": "class R:\n    def __repr__(self): return 'h' * 11_000_000\n"
    "    def _repr_html_(self): return 'x' * 11_000_000\nR()",
}


async def test_the_head_is_shown_and_a_line_says_that_more_was_cut(open_session: Opener):
    session = await open_session()
    for what, source in LARGE.items():
        result = await session.execute(source)
        shown = "".join(
            str(part)
            for output in result.outputs
            for part in (output.get("text", ""), *output.get("data", {}).values())
        )
        assert "cut" in shown, (what, shown[-200:])
        assert what == "display" or shown.count("h") > 1 or "\U0001f600" * 1000 in shown, shown[:200]
        after = await session.execute("print('whole')")
        assert after.text() == "whole" and result.status == "ok", what
