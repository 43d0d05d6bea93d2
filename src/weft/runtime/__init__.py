"""Compile C text, keep it on disk, load it and call it. Knows nothing of the compiler above it."""
