"""From a decorated function to a compiled one: options, specialisation, pipelines."""
