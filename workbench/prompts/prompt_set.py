"""The prompts of one run: each in the text that the run began with, where that file is still kept.

A changed prompt's earlier file lies in ``previous/`` for this and the last release, as ``NAME.vVERSION.HASH.md`` (the first eight
digits of its sha256). It is rendered from the inputs of today's call, so it may ask for none that today's file does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from proxies.asof.asof_text import AsOfText
from workbench.prompts.prompt_files import Prompt, Template, filled, load, names, parse
from workbench.quoting import PLAIN_MARKS, Marks

#: Where earlier files of changed prompts are kept.
PREVIOUS = Path(str(files("workbench.prompts").joinpath("previous")))


@dataclass(frozen=True, slots=True)
class PromptSet:
    """What agents render with.

    Parameters
    ----------
    earlier : mapping of str to str
        Names of the prompts that are not to be rendered from today's file, each with the hash of the one that is.
    previous : Path
        The folder of earlier files.
    marks : Marks
        Between which marks texts of strangers stand in the run's prompts.
    begun_with : frozenset of str or None
        Names of the prompts that there were when the run began; None: today's.
    """

    earlier: Mapping[str, str] = field(default_factory=dict)
    previous: Path = PREVIOUS
    marks: Marks = PLAIN_MARKS
    begun_with: frozenset[str] | None = None

    @classmethod
    def of(
        cls, recorded: Mapping[str, str], previous: Path = PREVIOUS, *, marks: Marks = PLAIN_MARKS
    ) -> "PromptSet":
        """Return the set of a run whose manifest names these hashes."""
        today = set(names())
        changed = {
            name: digest
            for name, digest in recorded.items()
            if name not in today or load(name).sha256 != digest
        }
        return cls(changed, previous, marks, frozenset(recorded) or None)

    def has(self, name: str) -> bool:
        """Whether the run began with this prompt: what came with a later release is not asked for in it."""
        return self.begun_with is None or name in self.begun_with

    @property
    def missing(self) -> tuple[str, ...]:
        """Prompts whose earlier file is kept no more, or cannot be filled any more; today's is rendered in their place."""
        return tuple(
            sorted(
                name
                for name, digest in self.earlier.items()
                if not _earlier_file(name, digest, self.previous)
            )
        )

    def template(self, name: str) -> Template:
        """Return the file that this prompt is rendered from; raises ``UnknownPrompt``."""
        digest = self.earlier.get(name)
        return (digest and _earlier_file(name, digest, self.previous)) or load(name)

    def render(self, name: str, **inputs: str | int | AsOfText) -> Prompt:
        """Return the prompt of this name with its holes filled; agents build every message with it.

        Raises
        ------
        UnknownPrompt
            No such file.
        WrongInputs
            An input is missing, unknown, or of another type than `filled` says.

        Examples
        --------
        >>> TODAY.render("conclusion_reply").version >= 1
        True
        """
        template, today = self.template(name), load(name)
        dropped = set(today.inputs) - set(template.inputs)
        return filled(template, {key: value for key, value in inputs.items() if key not in dropped})

    def fingerprints(self) -> dict[str, dict[str, str | int]]:
        """Return version and file hash of every prompt as it is rendered from; a run's manifest records them."""
        files = [self.template(name) for name in names() if self.has(name)]
        return {file.name: {"version": file.version, "sha256": file.sha256} for file in files}


@cache
def _earlier_file(name: str, digest: str, previous: Path) -> Template | None:
    if name not in names() or not previous.is_dir():
        return None
    ending = f".{digest.removeprefix('sha256:')[:8]}.md"
    for entry in previous.iterdir():
        if entry.name.startswith(f"{name}.v") and entry.name.endswith(ending):
            template = parse(name, entry.read_bytes())
            if template.sha256 == digest and set(template.inputs) <= set(load(name).inputs):
                return template
    return None


#: The files as they stand today.
TODAY = PromptSet()


def prompts_of(ask: object) -> PromptSet:
    """Return the prompts of the run that an asker belongs to; today's for one that belongs to none."""
    prompts = getattr(ask, "prompts", TODAY)
    return prompts if isinstance(prompts, PromptSet) else TODAY
