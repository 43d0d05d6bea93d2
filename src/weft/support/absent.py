"""What stands for "this name has no value" wherever names travel: out of kernels, into pieces of a program."""

from __future__ import annotations


class NoValue:
    """A class used as a marker, since a class can be stored by its name and found again."""
