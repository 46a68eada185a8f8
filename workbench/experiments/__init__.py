"""Studies: arms x exam x trials x seeds, with a budget, resumable to the call, audited before their results are shown."""
