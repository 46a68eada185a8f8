"""The part of a run's page where a person edits: forms, the what-if in work, its log and scenarios."""
