"""Python source to the array-level graph, and back: the continuation that runs the rest of a function in Python."""
