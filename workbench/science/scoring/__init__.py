"""Measures of forecasts: proper scores, calibration error, difficulty adjustment, market returns, consistency."""
