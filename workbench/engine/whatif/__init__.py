"""What a person does with a finished run: edits, saved scenarios, sensitivity, refits, coherence between runs."""
