"""Evidence of the guessing grounder: the words of the reply that was taken for a probability."""

from dataclasses import dataclass
from typing import ClassVar

from sandbox.record.verify import Difference, Verification


@dataclass(frozen=True)
class NoteEvidence:
    """A reply of the model, word for word; it has to say the belief that is on the log."""

    words: str
    kind: ClassVar[str] = "stranger-note"

    @classmethod
    def from_json(cls, data):
        if set(data) != {"words"}:
            raise ValueError("a note has words and nothing else")
        return cls(data["words"])

    def to_json(self):
        return {"words": self.words}

    def render(self, proof):
        import nbformat

        book = nbformat.v4.new_notebook()
        cell = nbformat.v4.new_markdown_cell(f"# {proof.node.statement}\n\nThe model said: {self.words}")
        cell.id = "note"
        book.cells.append(cell)
        return book

    def compare(self, proof):
        reply = proof.last_reply("stranger-guess")
        faults = []
        if reply is None or reply.text != self.words:
            faults.append(Difference(check="reply", cell="note", what="the ledger holds another reply"))
        if float(self.words) != proof.belief.p:
            faults.append(Difference(check="conclusion", cell="note", what=f"the note says {self.words}"))
        return Verification(cells=1, differing=tuple(faults))

    async def verify(self, proof, replay):
        return self.compare(proof)


@dataclass(frozen=True)
class FragileEvidence(NoteEvidence):
    """A note whose author did not foresee something: the step named raises, or gives what it should not."""

    breaks: str = ""
    kind: ClassVar[str] = "stranger-fragile"

    @classmethod
    def from_json(cls, data):
        if data["breaks"] == "from_json":
            raise KeyError("gone")
        return cls(data["words"], data["breaks"])

    def to_json(self):
        return {"words": self.words, "breaks": self.breaks}

    def render(self, proof):
        if self.breaks == "render":
            raise KeyError("gone")
        return {"no": "notebook"} if self.breaks == "notebook" else super().render(proof)

    def compare(self, proof):
        if self.breaks == "compare":
            raise KeyError("gone")
        return None if self.breaks == "nothing" else super().compare(proof)

    async def verify(self, proof, replay):
        if self.breaks == "verify":
            raise KeyError("gone")
        return self.compare(proof)
