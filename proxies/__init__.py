"""The trusted room that holds the keys: catalogue, as-of policies, the broker, one file per source.

It imports nothing of the project's other rooms.
"""
