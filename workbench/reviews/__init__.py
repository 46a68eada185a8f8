"""Review watched claims: what changed behind them, which evidence is collected anew, and who is told."""
