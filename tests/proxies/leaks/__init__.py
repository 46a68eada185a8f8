"""The leaks found in two earlier systems, one test each, named after the audit's cases (A1..A65, B1..B13),
and ways round the cutoff that emulated vendors showed, with numbers of their own (A1..A15: test_calendar, test_markets,
test_yahoo_shares, and A3 of test_prices).

Each feeds the leaking input and sees it absent or refused, with a legitimate neighbour present. What of a case belongs
to the sandbox, the agent or prompts is tested in those rooms; what the broker owes to it is tested here.
"""
