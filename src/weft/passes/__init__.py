"""Passes: each takes a program and returns one; with nothing to do, the very object it was given."""
