"""``source``: data of your own, with the policy that says when each row became known."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
SOURCE = {
    "add": ("workbench.operations.sources:AddSource", "Copy a file, the rows of a query or a service's YAML into the data folder, and show first what cutoffs would see of it."),
    "add-documents": ("workbench.operations.sources:AddDocuments", "Copy the text of a folder's documents into the data folder; a search sees those that were known at the cutoff."),
    "list": ("workbench.operations.sources:ListSources", "List your sources."),
    "show": ("workbench.operations.sources:ShowSource", "Print all that is known of a source, as JSON."),
    "remove": ("workbench.operations.sources:RemoveSource", "Remove a source from new runs; versions that stored runs read stay until those are removed."),
    "check": ("workbench.operations.sources:CheckSource", "Hold a source to its policy: dates, releases, totals that count the future. Exit 6 if something is wrong."),
    "attack": ("workbench.operations.sources:AttackSource", "Ask a copy with later rows, revisions and new names as of past cutoffs, and say what shows. Exit 6 if something leaks."),
}
# fmt: on
source = typer.Typer(
    cls=lazy_group(SOURCE),
    no_args_is_help=True,
    help="Data of your own: files, tables and queries, dated by a policy that you name.\n\nThey are copied and asked like every source (docs/own-data.md).",
)
