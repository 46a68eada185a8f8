"""The note: a run for a reader who has never seen the tool. One fold (``content``), four documents (HTML, PDF, Word, Markdown)."""
