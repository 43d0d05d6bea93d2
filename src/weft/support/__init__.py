"""What every layer may use: source spans, errors, the kernel ABI's numbers. Standard library only."""
