"""The command line: arguments in, text out. The only place that prints."""
