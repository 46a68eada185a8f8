"""Questions about a finished run: what is known without a model, or a model that may look and never touch; every answer cites what it rests on."""
