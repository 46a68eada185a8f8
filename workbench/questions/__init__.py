"""Claims that a rule can decide, and exams made of questions."""
