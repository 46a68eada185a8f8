"""The package is no part of the test suite: its modules are imported under their own names, by tests that install it."""

collect_ignore_glob = ["stranger/*"]
