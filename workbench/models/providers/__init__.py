"""Any provider through LiteLLM: requests out, replies in, streamed or whole, and what one model can take."""
