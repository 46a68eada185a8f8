"""Reading a model's replies: one pure function per stage, and a reason to send back where one cannot be read."""
