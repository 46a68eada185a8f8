"""Files of questions: each format reads into `Question` values and says what it left out, and why."""
