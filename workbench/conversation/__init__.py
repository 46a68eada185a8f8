"""Answer questions about a finished run, by rules or by a model that may look and never change; every answer cites its source."""
