"""Sets of questions: in the log, selected, scored, bet on, submitted; exams, links and choices made of them."""
