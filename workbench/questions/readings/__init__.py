"""What a text about a series says: words as data (`lexicon.yaml`), one tokenizer, slots, and the readings that they make."""
