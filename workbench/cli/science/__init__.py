"""The forecasting science on the command line: score, compare, returns, calibrate, exam, and their companions."""
