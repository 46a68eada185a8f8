"""How good forecasts are: proper scores, calibration error, difficulty adjustment, market returns, consistency."""
