"""What happens if nobody answers, and when."""

from __future__ import annotations

from datetime import datetime, timedelta

from inbox.moments import moment, when
from wake.models import Delivery

SOON = timedelta(hours=1)
CONTINUES = ("", Delivery.OnTimeout.PROCEED)

OPEN = {
    "proceed": "continues on its own {when}",
    "abort": "stops {when} unless you answer",
    "hold": "waits for you; asked for an answer by {moment}",
}
ROW_PASSED = {
    "proceed": "window passed {when}",
    "abort": "window passed {when}",
    "hold": "waits for you since {moment}",
}
PASSED = {
    "proceed": "The agent was free to continue {when}.",
    "abort": "The agent was to stop {when}.",
    "hold": "The agent asked for an answer by {moment} and waits for you.",
}


def window(delivery: Delivery, at: datetime) -> str:
    """`continues on its own at 11:42`; empty without a deadline."""
    if delivery.is_past_deadline(at):
        return _say(ROW_PASSED, delivery, at)
    return _say(OPEN, delivery, at)


def passed(delivery: Delivery, at: datetime) -> str:
    """What the agent was free to do; empty while the window is open."""
    return _say(PASSED, delivery, at) if delivery.is_past_deadline(at) else ""


def closes_soon(delivery: Delivery, at: datetime) -> bool:
    ends = delivery.expires_at
    return ends is not None and at < ends < at + SOON


def _say(sentences: dict[str, str], delivery: Delivery, at: datetime) -> str:
    if delivery.expires_at is None:
        return ""
    sentence = sentences[delivery.on_timeout or Delivery.OnTimeout.PROCEED]
    ends = delivery.expires_at
    return sentence.format(when=when(ends, now=at), moment=moment(ends, now=at))
