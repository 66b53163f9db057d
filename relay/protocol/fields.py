"""Reads the members of a JSON object from a caller or an agent.

Each member is found by its name in the specification. The snake_case form of the name, which
ProtoJSON allows and older clients send, also works. Null counts as absent, and unknown members are
ignored.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

# The database stores foreign ids up to this length.
LONGEST_ID = 128
LONGEST = 4_096
_capital = re.compile(r"(?<=[a-z0-9])[A-Z]")


class InvalidParams(Exception):
    """A member is missing, or is not what the specification says; `field` is its path."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field
        self.text = text


class Fields:
    """Reads the members of a JSON object, and knows its path in the request. Raises InvalidParams
    if the value is not an object."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.path = path
        if not isinstance(value, dict):
            raise InvalidParams(path or "params", "Must be an object.")
        self.value: dict[str, Any] = value

    def has(self, name: str) -> bool:
        """Returns whether the member is present, even if it is null."""
        return name in self.value or _snake(name) in self.value

    def get(self, name: str) -> Any:
        value = self.value.get(name)
        return self.value.get(_snake(name)) if value is None else value

    def text(self, name: str, *, longest: int = LONGEST) -> str:
        """Returns a string, which is empty if the member is absent."""
        text = self.get(name)
        if text is None:
            return ""
        if not isinstance(text, str):
            raise self.wrong(name, "Must be a string.")
        if len(text) > longest:
            raise self.wrong(name, f"Must have at most {longest} characters.")
        return text

    def needed(self, name: str, *, longest: int = LONGEST) -> str:
        text = self.text(name, longest=longest)
        if not text:
            raise self.wrong(name, "Must be a string that is not empty.")
        return text

    def id(self, name: str) -> str:
        """Returns an id, which is empty if the member is absent. Ids are stored, logged and shown,
        so they may have only printable characters."""
        text = self.text(name, longest=LONGEST_ID)
        if not text.isprintable():
            raise self.wrong(name, "Must have only characters that print.")
        return text

    def needed_id(self, name: str) -> str:
        return self.id(name) or self.needed(name)

    def number(self, name: str, *, low: int, high: int | None = None) -> int | None:
        number = self.get(name)
        if number is None:
            return None
        if isinstance(number, bool) or not isinstance(number, int):
            raise self.wrong(name, "Must be a whole number.")
        if number < low or (high is not None and number > high):
            span = f"{low} or more" if high is None else f"from {low} to {high}"
            raise self.wrong(name, f"Must be {span}.")
        return number

    def flag(self, name: str) -> bool | None:
        flag = self.get(name)
        if flag is not None and not isinstance(flag, bool):
            raise self.wrong(name, "Must be true or false.")
        return flag

    def items(self, name: str) -> list[Any]:
        """Returns an array, which is empty if the member is absent."""
        items = self.get(name)
        if items is None:
            return []
        if not isinstance(items, list):
            raise self.wrong(name, "Must be an array.")
        return items

    def ids(self, name: str) -> list[str]:
        return self.texts(name, longest=LONGEST_ID)

    def texts(self, name: str, *, longest: int = LONGEST) -> list[str]:
        """Returns an array of strings, which is empty if the member is absent."""
        texts = self.items(name)
        for item in texts:
            if not isinstance(item, str) or len(item) > longest:
                raise self.wrong(name, f"Must be strings of at most {longest} characters.")
        return texts

    def object(self, name: str) -> dict[str, Any]:
        """Returns an object, which is empty if the member is absent."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(name, "Must be an object.")
        return value

    def inner(self, name: str) -> Fields:
        """Returns the object of a required member."""
        return Fields(self.get(name), self.path_of(name))

    def wrong(self, name: str, text: str) -> InvalidParams:
        return InvalidParams(self.path_of(name), text)

    def path_of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


@cache  # the specification has only few names
def _snake(name: str) -> str:
    return _capital.sub(lambda letter: f"_{letter[0].lower()}", name)
