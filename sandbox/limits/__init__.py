"""Limit a kernel from outside: control groups, and watches over memory and disk."""
