"""What a person does with a finished run in thought: edits, saved scenarios, bands, refits, full resynthesis; the run itself is not changed."""
