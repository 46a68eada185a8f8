"""The rules by which a proposition's p follows from its children's."""
