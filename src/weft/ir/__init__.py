"""The dataflow graph: types, expressions, nodes, text form and verifier."""
