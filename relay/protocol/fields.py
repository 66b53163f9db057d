"""Reads the members of a JSON object that a caller or an agent sent.

Each is found by its name in the specification or by that name in snake_case, which ProtoJSON allows
and older clients send; null is absent, and what nobody asks for is ignored.
"""

from __future__ import annotations

import re
from typing import Any

# What the database keeps of an id that is not ours.
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
    """Raises InvalidParams where the value is no object."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.path = path
        if not isinstance(value, dict):
            raise InvalidParams(path or "params", "Must be an object.")
        self.value: dict[str, Any] = value

    def has(self, name: str) -> bool:
        """Whether it is there at all, if only as null."""
        return name in self.value or _snake(name) in self.value

    def get(self, name: str) -> Any:
        found = self.value.get(name)
        return self.value.get(_snake(name)) if found is None else found

    def text(self, name: str, *, longest: int = LONGEST) -> str:
        """Empty where it is absent."""
        found = self.get(name)
        if found is None:
            return ""
        if not isinstance(found, str):
            raise self.wrong(name, "Must be a string.")
        if len(found) > longest:
            raise self.wrong(name, f"Must have at most {longest} characters.")
        return found

    def needed(self, name: str, *, longest: int = LONGEST) -> str:
        found = self.text(name, longest=longest)
        if not found:
            raise self.wrong(name, "Must be a string that is not empty.")
        return found

    def id(self, name: str) -> str:
        """Empty where it is absent. It is kept, logged and shown, so it has only printing
        characters."""
        found = self.text(name, longest=LONGEST_ID)
        if not found.isprintable():
            raise self.wrong(name, "Must have only characters that print.")
        return found

    def needed_id(self, name: str) -> str:
        return self.id(name) or self.needed(name)

    def number(self, name: str, *, low: int, high: int | None = None) -> int | None:
        found = self.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int):
            raise self.wrong(name, "Must be a whole number.")
        if found < low or (high is not None and found > high):
            span = f"{low} or more" if high is None else f"from {low} to {high}"
            raise self.wrong(name, f"Must be {span}.")
        return found

    def flag(self, name: str) -> bool | None:
        found = self.get(name)
        if found is not None and not isinstance(found, bool):
            raise self.wrong(name, "Must be true or false.")
        return found

    def items(self, name: str) -> list[Any]:
        """Empty where it is absent."""
        found = self.get(name)
        if found is None:
            return []
        if not isinstance(found, list):
            raise self.wrong(name, "Must be an array.")
        return found

    def ids(self, name: str) -> list[str]:
        found = self.items(name)
        for item in found:
            if not isinstance(item, str) or len(item) > LONGEST_ID:
                raise self.wrong(name, f"Must be strings of at most {LONGEST_ID} characters.")
        return found

    def object(self, name: str) -> dict[str, Any]:
        """Empty where it is absent."""
        found = self.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise self.wrong(name, "Must be an object.")
        return found

    def inner(self, name: str) -> Fields:
        """The object there, which may not be missing."""
        return Fields(self.get(name), self.path_of(name))

    def wrong(self, name: str, text: str) -> InvalidParams:
        return InvalidParams(self.path_of(name), text)

    def path_of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _snake(name: str) -> str:
    return _capital.sub(lambda letter: f"_{letter[0].lower()}", name)
