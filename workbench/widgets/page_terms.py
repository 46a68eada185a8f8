"""Errors in the terms of the page: what mends one is a button or a field that stands on it."""

from proxies.remedies import Command, Option, Remedied, reworded, shell_terms

#: Command -> what does the same on the page.
BUTTONS = {
    "export": "the button Download",
    "refit": 'the button "How sure are these weights? Ask again"',
    "reground": "the button Collect evidence again",
    "resume": "the button Resume",
    "runs": "the page All claims",
    "scenarios": "the button Close, beside the scenarios",
    "show": "the page All claims",
}
#: Option -> the field in which it is typed.
FIELDS = {
    "author": 'the field "your name"',
    "budget_usd": 'the field "budget in dollars"',
    "cutoff": 'the field "cutoff"',
    "model": 'the field "model"',
    "full": 'the button "Ask again how drivers combine"',
    "to": 'the choice beside the button "Download"',
}


def page_terms(remedy: Command | Option) -> str:
    """Return the button or the field; what the page does not have as what to type on the command line."""
    if remedy.name in (BUTTONS if isinstance(remedy, Command) else FIELDS):
        words = BUTTONS[remedy.name] if isinstance(remedy, Command) else FIELDS[remedy.name]
        value = str(remedy.value) if isinstance(remedy, Option) else ""
        return f"{words} ({value})" if value and not value.isupper() else words
    typed = shell_terms(remedy)
    return f"{typed if isinstance(remedy, Command) else f'`{typed}`'} on the command line"


def line_on_page(line: str) -> str:
    """Return a stored or returned line for the page."""
    return reworded(line, page_terms)


def on_page(error: Exception) -> str:
    """Return the line of an error for the page."""
    if isinstance(error, Remedied):
        error.terms = page_terms
    return str(error)
