"""Operations with several expansions."""
