"""What a grounding rests on: kinds of evidence that render a proof notebook and verify themselves offline."""
