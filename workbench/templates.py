"""The jinja2 environments of the house: HTML that escapes by default, and plain text that is left as it is.

Only files of our own packages are ever compiled. Text of a run (statements, reports, cells, outputs) goes in as a value,
and a value is never looked at again: ``{{ 7*7 }}`` from a model comes out as these nine characters. A name without a value
is an error everywhere. jinja2 is imported at first use (0.05 to 0.2 s), so that ``import workbench`` stays quick.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


#: Characters of one text that a page shows. A model's report has a few thousand; a stranger's may have millions.
LONGEST = 50_000


def brief(text: str, longest: int = LONGEST) -> str:
    """Return a text as a page shows it: whole, or its beginning and a line that says how much was cut.

    A filter of every HTML template; exports for programs hold all of it.
    """
    if len(text) <= longest:
        return text
    return (
        f"{text[:longest]}\n[cut here: {len(text) - longest:,} more characters; an export as JSON has them]"
    )


def html_environment(package: str, **filters: Callable[..., object]) -> "Environment":
    """Return the environment of a package's HTML templates; every value is escaped unless it is ``Markup``.

    The panels, the proof pages and ``report.html`` render through it; each caller keeps its own for the process.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Files of an installed package do not change under a running process; jinja2 would look at each one at every use.
        auto_reload=False,
    )
    environment.filters.update(brief=brief, **filters)
    return environment


def text_environment(package: str, folder: str = "") -> "Environment":
    """Return the environment of a package's text templates, where ``&`` and ``<`` mean themselves.

    Prompts and the cells of the offline analyst render through it.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=False,
        undefined=StrictUndefined,
        auto_reload=False,
    )
