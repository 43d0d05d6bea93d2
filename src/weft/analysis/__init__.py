"""Facts about graphs: ranges of values; effects and dependences come with the legality core."""
