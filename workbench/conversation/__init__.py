"""Questions about a finished run: answered by rules, or by a model that may look and never touch; every answer cites what it rests on."""
