"""What each NumPy function means: types, guards, lowering to the graph."""
