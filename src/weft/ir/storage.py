"""Where the memory of containers comes from, and how elements lie in it."""

from __future__ import annotations

from enum import Enum


class Storage(Enum):
    """Where the memory of a container comes from."""

    ARGUMENT = "argument"  # an array of the call; strides as they come (or dense, by `layout`)
    TRANSIENT = "transient"  # made by an Alloc, dense
    STACK = "stack"  # made by an Alloc, dense, constant extents, in C an array of the block; no view of it leaves
    REF = "ref"  # bound at run time to a view of one of `may_alias`, by a Carry or a Branch result
    ALIAS = "alias"  # the elements of the dense container `base` in C order, under another shape (reshape)


class Layout(Enum):
    """The order of elements in memory."""

    C = "C"  # dense, last axis fastest
    F = "F"  # dense, first axis fastest
    STRIDED = "S"  # strides known at run time only
