"""Compares a value in the details of a delivery. A JSON pointer names the value (RFC 6901).

With typed blocks, `/amount` is the member beside the blocks, or else the value of the field of that
name (docs/teams.md, Assignment rules).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NoReturn

from wake.models import Delivery, RuleVersion

Operator = RuleVersion.Operator
# "~" occurs only in "~0" and "~1"; each part begins with a slash.
POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class Fraction(Decimal):
    """Holds a number that was written with a point or an exponent."""


class Missing(Exception):
    """The details have no value at this pointer."""


def is_pointer(text: str) -> bool:
    return POINTER.fullmatch(text) is not None


def value_at(pointer: str, details: Any) -> Any:
    """Returns the value, which may be a document, a list or null. Raises Missing."""
    value = details
    for name in names_in(pointer):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise Missing(Missing.__doc__)
    return value


def blocks_in(document: Any) -> list[Any] | None:
    """Returns the typed blocks of some details (docs/protocol.md, Typed blocks), or None if they
    have none. The version must be the integer 1, as on the page (inbox/rendering/blocks.py)."""
    match document:
        case {"wake_blocks": version, "blocks": list(blocks)}:
            return blocks if type(version) is Decimal and version == 1 else None
    return None


def field_in(pointer: str, document: Any) -> tuple[int, dict[str, Any]]:
    """Returns the one field block that the pointer names, and its index. Raises Missing, also if
    several blocks have that name."""
    names = names_in(pointer)
    fields = [
        (index, block)
        for index, block in enumerate(blocks_in(document) or ())
        if isinstance(block, dict)
        and block.get("type") == "field"
        and [block.get("name")] == names
        and "value" in block
    ]
    if len(fields) != 1:
        raise Missing(Missing.__doc__)
    return fields[0]


class Details:
    """Parses the details of one delivery when the first rule asks for a value that may be present.
    Looks each value up once for all rules."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._details: Any = None
        self._values: dict[str, Any] = {}
        # The pointers that were looked up and that have no value in the details.
        self.missing: set[str | None] = set()

    def compare(self, pointer: str, operator: str, text: str) -> bool:
        """Returns whether the comparison of the value with the text holds. A missing value never
        compares, not even as "is not"."""
        if pointer in self.missing:
            return False
        if pointer not in self._values:
            try:
                self._values[pointer] = self._value_at(pointer)
            except Missing:
                self.missing.add(pointer)
                return False
        value = self._values[pointer]
        try:
            return COMPARISONS[operator](value, text)
        except ArithmeticError:  # a number may be too large to compare
            return False

    def value(self, pointer: str) -> Any:
        """Returns the value at a pointer that was compared before."""
        return self._values[pointer]

    @property
    def text(self) -> str | None:
        return self._delivery.details_json

    @property
    def texts_beside(self) -> list[str]:
        """Returns the texts that the page shows beside the details."""
        delivery = self._delivery
        return [delivery.headline, delivery.summary, delivery.assumption]

    @property
    def document(self) -> Any:
        return None if self.text is None else self._parsed(self.text)

    def _value_at(self, pointer: str) -> Any:
        text = self._delivery.details_json
        if text is None:
            raise Missing(Missing.__doc__)
        # Without a backslash, JSON writes a name in only one way. A number may be an index instead.
        if "\\" not in text:
            for name in names_in(pointer):
                if f'"{name}"' not in text and not INDEX.fullmatch(name):
                    raise Missing(Missing.__doc__)
        document = self._parsed(text)
        try:
            return value_at(pointer, document)
        except Missing:
            return field_in(pointer, document)[1]["value"]

    def _parsed(self, text: str) -> Any:
        if self._details is None:
            try:
                self._details = _decoder.decode(text)
            except (ValueError, ArithmeticError, RecursionError) as reason:
                raise Missing(Missing.__doc__) from reason
        return self._details


@lru_cache(maxsize=4096)  # rules use the same pointers again and again
def names_in(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _fraction(text: str) -> Fraction:
    """Reads a number exactly. If the exponent of a number is out of all bounds, reads the number as
    other JSON readers do. Otherwise one such number would hide all other values from the rules."""
    try:
        return Fraction(text)
    except InvalidOperation:
        return Fraction(float(text))


# Made once, because json.loads() with options makes a decoder for each text.
_decoder = json.JSONDecoder(parse_float=_fraction, parse_int=Decimal, parse_constant=_no_number)


def _is(value: Any, text: str) -> bool:
    """Compares how the value looks: the text `12` equals the number 12 and the string "12"."""
    match value:
        case str():
            return value == text
        case bool():
            return text == ("true" if value else "false")
        case None:
            return text == "null"
        case Decimal():
            number = _number(text)
            return number is not None and value == number
    return False


def _is_not(value: Any, text: str) -> bool:
    return not _is(value, text)


def _contains(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return text.casefold() in value.casefold()
    if isinstance(value, list):
        return any(_is(item, text) for item in value)
    return isinstance(value, dict) and text in value


def _at_least(value: Any, text: str) -> bool:
    number = _number(text)
    return isinstance(value, Decimal) and number is not None and value >= number


def _at_most(value: Any, text: str) -> bool:
    number = _number(text)
    return isinstance(value, Decimal) and number is not None and value <= number


@lru_cache(maxsize=4096)  # rules use the same texts again and again
def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def is_number(text: str) -> bool:
    return _number(text) is not None


COMPARISONS: dict[str, Callable[[Any, str], bool]] = {
    Operator.IS: _is,
    Operator.IS_NOT: _is_not,
    Operator.AT_LEAST: _at_least,
    Operator.AT_MOST: _at_most,
    Operator.CONTAINS: _contains,
}
