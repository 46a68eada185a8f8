"""Well-known series, entities and topics by source, in the words people use for them: YAML that `search.py` reads."""
