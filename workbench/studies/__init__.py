"""Studies: arms x exam x trials x seeds, with a budget, resumable to the call, audited before they are scored; and rounds of open questions."""
