"""Commands about one answer: what it rests on, what would change it, what people and other models say of it."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
ANNOTATE = {
    "comment": ("workbench.operations.people:Comment", "Pin a comment to a driver; without one list the comments."),
    "estimate": ("workbench.operations.people:Estimate", "Say what you hold a claim or driver to be, beside the model's answer; without a number show what people said."),
    "note": ("workbench.operations.people:Note", "Keep a note on a run or on one of its drivers, and tag it; `runs --tag --search` finds it again."),
    "sign-off": ("workbench.operations.people:SignOff", "Sign a run off after a review: one hash over its log, its tree, its comments and the checklist."),
    "resolve": ("workbench.operations.people:Resolve", "Record how a claim turned out, or revise it; the newest answer counts, and no agent ever sees it."),
}
CRITIQUE = {
    "judge": ("workbench.operations.critique:Judge", "Score the reasoning of a run's drivers from 1 to 5 in five dimensions; the run is unchanged."),
    "leaks": ("workbench.operations.critique:Leaks", "Count what a second model, and the date rules, call late in what runs kept; exit 6 where both call a kept result late."),
    "grounders": ("workbench.operations.critique:Grounders", "Print which grounder each driver of a run went to and why; without a run how each grounder's resolved drivers came out."),
    "redteam": ("workbench.operations.critique:RedTeam", "Have an agent write the strongest case against the answer, show what it would do to it, and keep it as a note."),
}
KEYS = {
    "new": ("workbench.operations.packages:NewKey", "Make your signing key and print its public half; give that to whoever is to know your packages."),
    "show": ("workbench.operations.packages:ShowKeys", "Print your public key and the keys you trust, with their fingerprints."),
    "trust": ("workbench.operations.packages:TrustKey", "Give somebody's public key a name; compare its fingerprint with them first. No package is sealed less for it."),
}
# fmt: on

annotate_group = typer.Typer(
    cls=lazy_group(ANNOTATE),
    help="What people say of a run: comments, estimates, notes, tags, sign-offs, and how the claim turned out.",
    no_args_is_help=True,
)
critique_group = typer.Typer(
    cls=lazy_group(CRITIQUE),
    help="What other models and the records say of a finished run.",
    no_args_is_help=True,
)
keys_group = typer.Typer(
    cls=lazy_group(KEYS),
    help="The key that signs your packages, and whose keys you trust by name.",
    no_args_is_help=True,
)
