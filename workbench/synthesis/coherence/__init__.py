"""What cannot be true together, and questions with several options."""
