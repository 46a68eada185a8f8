"""Hold the keys in one trusted room: catalogue, as-of policies, the broker, one file per source.

It imports nothing of the project's other rooms.
"""
