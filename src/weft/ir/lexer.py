"""Tokens of the text form.

in:   text
out:  a `TokenStream` that the parser reads from, and the error it raises

Lines matter: a node's head stands on one line. `#` begins a comment. A Python object (after `constant`, and after
`value` in a slot) goes to the end of its line and is one token.
"""

from __future__ import annotations

import json
import re
from typing import Final

from weft.ir.text import IDENTIFIER
from weft.support.errors import WeftError
from weft.support.records import record

_TOKEN: Final = re.compile(
    rf"""(?P<space>[ \t]+|\#.*)
    |(?P<value>%(?:"(?:[^"\\]|\\.)*"|[\w.]*?)\.\d+(?![\w.]))
    |(?P<axis>\$\d+)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<name>{IDENTIFIER})
    |(?P<sign>->|[-+*:,=@(){{}}\[\]?])""",
    re.VERBOSE,
)
_OBJECT: Final = re.compile(r"(?P<head>\s*constant\s+|\s*slot .*? value )(?P<object>.*\S)\s*$")


class IRSyntaxError(WeftError):
    """The text form is malformed: where, what was expected, what was found."""

    def __init__(self, line: int, column: int, expected: str, found: str) -> None:
        super().__init__(line, column, expected, found)
        self.line, self.column, self.expected, self.found = line, column, expected, found

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: expected {self.expected}, found {self.found}"


@record
class Token:
    """`kind` is value, axis, number, string, name, sign, object, newline or end."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def described(self) -> str:
        """For error messages."""
        return f"`{self.text}`" if self.text.strip() else {"newline": "end of line"}.get(self.kind, "end of text")


class TokenStream:
    """Tokens with a position."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokenize(text)
        self.position = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def peek(self, text: str, ahead: int = 0) -> bool:
        """Whether this sign or word comes next (strings and objects never count)."""
        token = self.tokens[min(self.position + ahead, len(self.tokens) - 1)]
        return token.text == text and token.kind in ("sign", "name")

    def next(self, kind: str, expected: str) -> str:
        """Take a token of a kind."""
        token = self.token
        if token.kind != kind:
            raise self.error(expected)
        self.position += 1
        return token.text

    def accept(self, *texts: str) -> bool:
        """Take these signs or words, if all of them come next."""
        found = all(self.peek(text, ahead) for ahead, text in enumerate(texts))
        self.position += len(texts) if found else 0
        return found

    def expect(self, *texts: str) -> None:
        """Take these signs or words."""
        for text in texts:
            if not self.accept(text):
                raise self.error(f"`{text}`")

    def integer(self) -> int:
        """Take an integer."""
        sign = -1 if self.accept("-") else 1
        if not self.token.text.isdigit():
            raise self.error("an integer")
        return sign * int(self.next("number", "an integer"))

    def word(self, expected: str) -> str:
        """Take a bare word."""
        return self.next("name", expected)

    def name(self, expected: str) -> str:
        """Take a name, bare or quoted."""
        if self.token.kind == "string":
            return self.string()
        return self.next("name", expected)

    def string(self) -> str:
        """Take a quoted string."""
        token = self.token
        text = self.next("string", "a quoted string")
        try:
            return str(json.loads(text))
        except ValueError:
            raise IRSyntaxError(token.line, token.column, "a quoted string", token.described) from None

    def end_line(self) -> None:
        """Take the end of a line."""
        self.next("newline", "end of line")

    def error(self, expected: str) -> IRSyntaxError:
        """An error at the next token."""
        token = self.token
        return IRSyntaxError(token.line, token.column, expected, token.described)


def _tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        before = len(tokens)
        found = _OBJECT.match(line)
        stop = found.start("object") if found else len(line)
        tokens += _tokenize_line(line[:stop], number)
        if found:
            tokens.append(Token("object", found["object"], number, stop + 1))
        if len(tokens) > before:
            tokens.append(Token("newline", "\n", number, len(line) + 1))
    return [*tokens, Token("end", "", len(lines), len(lines[-1]) + 1)]


def _tokenize_line(line: str, number: int) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(line):
        found = _TOKEN.match(line, position)
        if found is None:
            raise IRSyntaxError(number, position + 1, "a token", f"`{line[position]}`")
        kind = found.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, found[0], number, position + 1))
        position = found.end()
    return tokens
