"""What people and second models say of a run: comments, sign-offs, second opinions, the strongest case against it."""
