"""What of a question's own texts may be shown at a cutoff: its sources go on editing them until it has come out, and after."""

from dataclasses import replace

from proxies.asof.asof_text import AsOfText, as_of, joined
from proxies.asof.clock import Cutoff
from workbench.questions.question import Question, QuestionEvent, statement_of


def criteria_as_of(question: Question, cutoff: Cutoff) -> AsOfText:
    """How the question resolves, without what was written after the cutoff; each text of its source is cut alone."""
    if len(question.criteria_parts) < 2:
        return as_of(question.criteria, cutoff, opened=question.asked_on)
    parts = [as_of(part, cutoff, opened=question.asked_on) for part in question.criteria_parts]
    lines = "\n".join(dict.fromkeys(question.criteria_parts)) == question.criteria
    return joined(parts, "\n" if lines else " ", cutoff)


def statement_as_of(question: Question, event: QuestionEvent, cutoff: Cutoff) -> AsOfText:
    """An event as one sentence, without what was added to its title, option or unit after the cutoff."""
    horizon = question.horizon_label(event.horizon)
    if question.propositions:
        return as_of(statement_of(question, event.part, horizon), cutoff, kind="title")
    title = as_of(question.title, cutoff, kind="title")
    part, unit = (as_of(text, cutoff, kind="label") for text in (event.part, question.unit))
    if part.emptied:  # without its option's name an event is another one
        return part
    shown = statement_of(replace(question, title=title.text or "?", unit=unit.text), part.text, horizon)
    whole = title.followed_by(shown.removeprefix(title.text)) if title else title
    return joined([whole, part.first(0), unit.first(0)], "", cutoff)
