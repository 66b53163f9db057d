"""Recognises the meaning of a JSON value: a conversation, an amount of money, a time, or rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from inbox.rendering.json_text import Number

SPEAKERS = ("from", "speaker", "role", "author", "sender", "by", "who", "name")
TEXTS = ("said", "text", "message", "content", "body", "says")
TIMES = ("at", "time", "timestamp", "date", "sent_at", "created_at")
AMOUNTS = ("value", "amount")
MAX_COLUMNS = 6
LONGEST_CELL = 80

# As people write amounts. 10.999 and -0 are shown as they were sent, with their currency beside
# them.
_DIGITS = re.compile(r"(?!-0(?:\.00?)?$)-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,2})?", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}")
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+(?:\.|$))")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# Words that are written in capitals in a name.
_INITIALS = {
    *("api", "csv", "eur", "html", "http", "https", "iban", "id", "ip", "json"),
    *("pdf", "sql", "uri", "url", "usd", "utc", "uuid", "vat", "xml"),
}
_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """Holds what one speaker said; `at` is empty if the agent sent no time."""

    speaker: str
    text: str
    at: str


def conversation(value: list[Any]) -> list[SpokenTurn]:
    """Returns the turns of a list of objects that have a speaker and a text. For any other value,
    returns no turns."""
    turns = [_turn(entry) for entry in value]
    return [turn for turn in turns if turn] if turns and all(turns) else []


def money(value: dict[str, Any]) -> str:
    """Returns `EUR 1,180.00` for `{"value": "1180.00", "currency": "EUR"}`; otherwise an empty
    text."""
    name = name_of_amount(value) if len(value) == 2 else ""
    return money_of(value, name) if name else ""


def name_of_amount(value: dict[str, Any]) -> str:
    """Returns the name of the member that is an amount in the object's `currency`, or an empty text
    if there is none."""
    names = [name for name in AMOUNTS if name in value]
    return names[0] if len(names) == 1 and money_of(value, names[0]) else ""


def money_of(value: dict[str, Any], name: str) -> str:
    """Returns the member of this name as an amount in the object's `currency`; otherwise an empty
    text."""
    amount, currency = value[name], value.get("currency")
    digits = str(amount) if isinstance(amount, Number | str) else ""
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        return ""
    return f"{currency} {_grouped(digits)}" if _DIGITS.fullmatch(digits) else ""


def moment(text: str) -> str:
    """Returns `18 Nov 2026, 19:02:11 UTC` for a time in ISO 8601, and `18 Nov 2026` for a day;
    otherwise an empty text. The time stays in the time zone that the agent named."""
    try:
        if _DAY.fullmatch(text):
            return _day(date.fromisoformat(text))
        if match := _TIME.fullmatch(text):
            datetime.fromisoformat(text)
            day, clock, zone = match.groups()
            words = f"{_day(date.fromisoformat(day))}, {clock}"
            return f"{words} UTC" if zone == "Z" else f"{words} UTC{zone}" if zone else words
    except ValueError:  # a date that does not exist, such as 2026-02-30
        return ""
    return ""


def columns(value: list[Any]) -> list[str]:
    """Returns the names of the columns if the list is two or more small objects with the same
    members."""
    if len(value) < 2 or not all(isinstance(row, dict) for row in value):
        return []
    names = list(value[0])
    is_narrow = 1 < len(names) <= MAX_COLUMNS
    if not is_narrow or any(list(row) != names for row in value):
        return []
    return names if all(_is_cell(cell) for row in value for cell in row.values()) else []


def words(name: str) -> str:
    """Returns `Customer ID` for the name `customer_id`. Other names stay unchanged."""
    if len(name) < 2 or not _IDENTIFIER.fullmatch(name):
        return name
    parts = [part.upper() if part in _INITIALS else part for part in name.split("_")]
    return " ".join([parts[0][:1].upper() + parts[0][1:], *parts[1:]])


def _turn(entry: Any) -> SpokenTurn | None:
    if not isinstance(entry, dict) or not 2 <= len(entry) <= 3:
        return None
    speaker = next((name for name in SPEAKERS if name in entry), "")
    text = next((name for name in TEXTS if name in entry), "")
    at = next((name for name in TIMES if name in entry), "")
    is_whole = entry.keys() == {speaker, text, at} - {""}
    if not (speaker and text and is_whole and all(isinstance(one, str) for one in entry.values())):
        return None
    return SpokenTurn(entry[speaker], entry[text], entry.get(at, ""))


def _day(day: date) -> str:
    return f"{day.day} {day:%b} {day.year}"


def _grouped(digits: str) -> str:
    whole, point, rest = digits.partition(".")
    return f"{_THOUSANDS.sub(',', whole)}{point}{rest}"


def _is_cell(value: Any) -> bool:
    text = str(value)
    return not isinstance(value, dict | list) and len(text) <= LONGEST_CELL and "\n" not in text
