"""Load and render prompts: one Markdown file each, front matter on top, ``{{name}}`` where an input goes.

The files are jinja2 templates of the plainest kind: text and named holes, no logic, so that a reader of the file sees what a
model sees. Inputs are values and never compiled: text from a model or a data source that holds ``{{x}}`` stays as it is.
The agents render with the `PromptSet` of their run, whose manifest records the version and hash of each.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxies.asof.asof_text import AsOfText
from proxies.hashing import sha256_of
from workbench.prompts.errors import BadPromptFile, UnknownPrompt, WrongInputs
from workbench.templates import text_environment

if TYPE_CHECKING:
    import jinja2

_INPUT = re.compile(r"[a-z][a-z_]*")
# What is left of a misspelt hole where jinja2 sees plain text; a single brace of JSON is none.
_LEFTOVER = re.compile(r"\{\{|\}\}|(?<!\{)\{[a-z_]+\}")
_FRONT = re.compile(r"---\n(.*?)\n---\n+", re.DOTALL)


class _Front(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    version: int = Field(ge=1)
    inputs: list[str]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prompt file, parsed."""

    #: name, version, inputs, source: The front matter: ``source`` says which part of a paper its content follows.
    name: str
    version: int
    inputs: tuple[str, ...]
    source: str
    #: Text with holes.
    body: str
    #: The whole file, as a run stores it.
    content: str
    #: ``"sha256:<hex>"`` of the whole file, front matter included.
    sha256: str


#: Inputs that hold text of people who may have gone on writing it: filled by an `AsOfText` and by nothing else.
FOREIGN = frozenset({"event", "question"})


def filled(template: Template, inputs: Mapping[str, str | int | AsOfText]) -> str:
    """Fill the holes of a prompt file; agents call `PromptSet.render`.

    Raises `WrongInputs`: An input is missing, unknown, or neither text nor a whole number.
    """
    name = template.name
    if missing := sorted(set(template.inputs) - set(inputs)):
        raise WrongInputs(f"prompt {name} lacks {', '.join(missing)}")
    if unknown := sorted(set(inputs) - set(template.inputs)):
        raise WrongInputs(f"prompt {name} has no input {', '.join(unknown)}")
    for key, value in inputs.items():
        # A bool is an int in Python, and would put "True" into a prompt.
        if isinstance(value, bool) or not isinstance(value, (str, int, AsOfText)):
            raise WrongInputs(f"input {key} of prompt {name} is {type(value).__name__}; give text or an int")
        if key in FOREIGN and not isinstance(value, AsOfText):
            raise WrongInputs(
                f"input {key} of prompt {name} may hold text of after the cutoff: give an AsOfText"
            )
    return _compiled(template.body).render(
        {key: value.text if isinstance(value, AsOfText) else value for key, value in inputs.items()}
    )


@cache
def _prompt_environment() -> "jinja2.Environment":
    return text_environment("workbench.prompts")


@cache
def _compiled(body: str) -> "jinja2.Template":
    return _prompt_environment().from_string(body)


@cache
def load(name: str) -> Template:
    """Load and check the prompt file of this name, once.

    Raises `UnknownPrompt, BadPromptFile`: No such file; or its front matter, or its holes, are wrong.
    """
    # Against the listing, not by opening: a name with ../ in it names no prompt.
    if name not in names():
        raise UnknownPrompt(f"no prompt {name!r}; there are {', '.join(names())}")
    return parse(name, files("workbench.prompts").joinpath(f"{name}.md").read_bytes())


def parse(name: str, content: bytes) -> Template:
    """Parse and check a prompt file's bytes.

    Raises `BadPromptFile`: No front matter, a name other than the file's, a hole that is not declared, a declared input without a hole, or
    a brace that is left over from a misspelt hole.
    """
    # A checkout on Windows may have changed the line ends; the text a model gets must not depend on that.
    text = content.decode().replace("\r\n", "\n")
    front = _FRONT.match(text)
    if front is None:
        raise BadPromptFile(f"prompt {name} does not start with front matter between two lines of ---")
    try:
        declared = _Front.model_validate(yaml.safe_load(front[1]))
    except (ValidationError, yaml.YAMLError) as error:
        raise BadPromptFile(f"front matter of prompt {name}: {error}") from error
    if declared.name != name:
        raise BadPromptFile(f"prompt file {name}.md calls itself {declared.name}")
    body = text[front.end() :].rstrip("\n")
    holes = _holes(name, body)
    if holes != set(declared.inputs) or len(declared.inputs) != len(set(declared.inputs)):
        raise BadPromptFile(f"prompt {name} declares {sorted(declared.inputs)} but has holes {sorted(holes)}")
    return Template(
        name=name,
        version=declared.version,
        inputs=tuple(declared.inputs),
        source=declared.source,
        body=body,
        content=content.decode(),
        sha256=sha256_of(content),
    )


def _holes(name: str, body: str) -> set[str]:
    """List the names of a body's holes; raises ``BadPromptFile`` for anything that is neither text nor a hole."""
    from jinja2 import TemplateSyntaxError, nodes

    try:
        statements = _prompt_environment().parse(body).body
    except TemplateSyntaxError as error:
        raise _left_over(name, str(error.message)) from error
    holes: set[str] = set()
    for statement in statements:
        # Loops and conditions are refused: the file is to read as the model will see it.
        if not isinstance(statement, nodes.Output):
            raise _left_over(name, "{% ... %}")
        for node in statement.nodes:
            if isinstance(node, nodes.Name) and _INPUT.fullmatch(node.name):
                holes.add(node.name)
            elif not isinstance(node, nodes.TemplateData):
                raise _left_over(name, str(getattr(node, "name", "an expression")))
            elif fragment := _LEFTOVER.search(node.data):
                raise _left_over(name, fragment[0])
    return holes


def _left_over(name: str, fragment: str) -> BadPromptFile:
    return BadPromptFile(f"prompt {name} has {fragment!r} left over; a hole is written {{{{name}}}}")


@cache
def names() -> tuple[str, ...]:
    """Return the names of all prompts, sorted."""
    entries = (entry.name for entry in files("workbench.prompts").iterdir())
    return tuple(sorted(entry.removesuffix(".md") for entry in entries if entry.endswith(".md")))
