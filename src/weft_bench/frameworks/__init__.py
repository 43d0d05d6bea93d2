"""The frameworks the suite knows, found through entry points; a package brings its own the same way."""
