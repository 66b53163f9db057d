"""Compares an answer with what the requirement says."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from wake_check.exchanges import Exchange
from wake_check.verdicts import Broken

ANSWER_KEYS = ("delivery_id", "status", "feedback", "edited_content", "responded_at")


def expect_status(exchange: Exchange, *statuses: int, why: str = "") -> Exchange:
    if exchange.status not in statuses:
        wanted = " or ".join(map(str, statuses))
        reason = f"The status is {exchange.status}, and not {wanted}"
        raise Broken(f"{reason}: {why}." if why else f"{reason}.", exchange)
    return exchange


def expect_member(
    exchange: Exchange, name: str, value: Any, *, of: dict[str, Any] | None = None
) -> None:
    members = exchange.members if of is None else of
    if name not in members:
        raise Broken(f"`{name}` is missing.", exchange)
    if members[name] != value or type(members[name]) is not type(value):
        raise Broken(f"`{name}` is {members[name]!r}, and not {value!r}.", exchange)


def expect_error(exchange: Exchange, status: int, code: str, *, why: str = "") -> None:
    expect_status(exchange, status, why=why)
    if error_code(exchange) != code:
        raise Broken(
            f"The code of the error is {error_code(exchange)!r}, and not {code!r}.", exchange
        )


def error_code(exchange: Exchange) -> Any:
    error = exchange.members.get("error")
    return error.get("code") if isinstance(error, dict) else None


def expect_time(exchange: Exchange, name: str, value: Any) -> datetime:
    """Returns the time. It has to have a `Z` or an offset."""
    time = time_of(value)
    if time is None:
        raise Broken(
            f"`{name}` is {value!r}, and no ISO 8601 time with a `Z` or an offset.", exchange
        )
    return time


def time_of(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if "T" in value and time.tzinfo else None
