"""Language models behind one Protocol: any provider through LiteLLM, and the key-free ``offline/analyst``."""
