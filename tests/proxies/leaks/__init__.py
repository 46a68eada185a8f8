"""The leaks found in two earlier systems, one test each, named after the audit's cases (A1..A65, B1..B13).

Each feeds the leaking input and sees it absent or refused, with a legitimate neighbour present. What of a case belongs
to the sandbox, the agent or prompts is tested in those rooms; what the broker owes to it is tested here.
"""
