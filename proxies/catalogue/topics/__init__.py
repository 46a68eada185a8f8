"""Well-known series, entities and topics by source, in people's words: YAML that `search.py` reads."""
