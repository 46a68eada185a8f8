"""Keep the prompts of a run in the text that the run began with, which its store keeps by content.

A stored prompt is rendered from the inputs of today's call, so it may ask for none that today's file does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from proxies.asof.asof_text import AsOfText
from workbench.prompts.errors import BadPromptFile
from workbench.prompts.prompt_files import Template, filled, load, names, parse
from workbench.quoting import PLAIN_MARKS, Marks


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The prompts that the agents of a run render."""

    #: Names of the prompts that are not to be rendered from today's file, each with the text of the file that is.
    earlier: Mapping[str, str] = field(default_factory=dict)
    #: Between which marks texts of strangers stand in the run's prompts.
    marks: Marks = PLAIN_MARKS
    #: Names of the prompts that there were when the run began; None: today's.
    begun_with: frozenset[str] | None = None
    #: Prompts whose earlier text is kept no more, or cannot be filled any more; today's is rendered in their place.
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        recorded: Mapping[str, str],
        stored: Callable[[str], str | None] = lambda digest: None,
        *,
        marks: Marks = PLAIN_MARKS,
    ) -> "PromptSet":
        """Build the set of a run whose manifest names these hashes; ``stored`` returns the text stored under a hash."""
        earlier, missing = {}, []
        for name, digest in sorted(recorded.items()):
            if name in names() and load(name).sha256 == digest:
                continue
            text = stored(digest)
            if text is not None and _fits(name, text):
                earlier[name] = text
            else:
                missing.append(name)
        return cls(earlier, marks, frozenset(recorded) or None, tuple(missing))

    def has(self, name: str) -> bool:
        """Whether the run began with this prompt; prompts of later releases are not used in it."""
        return self.begun_with is None or name in self.begun_with

    def template(self, name: str) -> Template:
        """Return the file from which this prompt is rendered; raises ``UnknownPrompt``."""
        return _parsed(name, self.earlier[name]) if name in self.earlier else load(name)

    def render(self, name: str, **inputs: str | int | AsOfText) -> str:
        """Render the prompt of this name; agents build every message with it.

        Raises `UnknownPrompt`: No such file. Raises `WrongInputs`: An input is missing, unknown, or of another type than `filled` says.

        >>> TODAY.render("loop_reply", end="submit") == load("loop_reply").body.replace("{{end}}", "submit")
        True
        """
        template, today = self.template(name), load(name)
        dropped = set(today.inputs) - set(template.inputs)
        return filled(template, {key: value for key, value in inputs.items() if key not in dropped})

    def fingerprints(self) -> dict[str, dict[str, str | int]]:
        """Return version and hash of every prompt's file, for the run's manifest."""
        files = [self.template(name) for name in names() if self.has(name)]
        return {file.name: {"version": file.version, "sha256": file.sha256} for file in files}


_parsed = lru_cache(maxsize=256)(lambda name, text: parse(name, text.encode()))


def _fits(name: str, text: str) -> bool:
    try:
        return name in names() and set(_parsed(name, text).inputs) <= set(load(name).inputs)
    except BadPromptFile:
        return False


#: The files as they stand today.
TODAY = PromptSet()


def prompts_of(ask: object) -> PromptSet:
    """Return the prompts of an asker's run; today's for an asker without a run."""
    prompts = getattr(ask, "prompts", TODAY)
    return prompts if isinstance(prompts, PromptSet) else TODAY
