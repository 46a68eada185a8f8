"""Evidence of the guessing grounder: the words of the reply that was taken for a probability, read again from the ledger."""

from sandbox.record.verify import Difference, Verification
from workbench.agents.evidence.base import Evidence, TraceStep


def note(words, kind="stranger-note", **basis):
    """A reply of the model, word for word; it has to say the belief that is on the log."""
    step = TraceStep(title="Guess", text=f"The model said: {words}", p=float(words))
    return Evidence(steps=(step,), recompute=kind, basis={"words": words, **basis})


def recompute_note(evidence, proof):
    reply = proof.last_reply("stranger-guess")
    if reply is None or reply.text != evidence.basis["words"]:
        return Verification(differing=(Difference("reply", "trace-001", "the ledger holds another reply"),))
    return Verification()


def recompute_fragile(evidence, proof):
    """What its author did not foresee: it raises, or gives what it should not."""
    if evidence.basis["breaks"] == "raise":
        raise KeyError("gone")
    return None if evidence.basis["breaks"] == "nothing" else recompute_note(evidence, proof)
