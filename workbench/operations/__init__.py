"""What a person can ask: one file for each thing, with the request, how it runs and how its document is shown."""
