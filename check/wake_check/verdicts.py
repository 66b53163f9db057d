"""Says what a check found: PASS, FAIL or NOT JUDGED, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wake_check.exchanges import Exchange
from wake_check.requirements import Requirement


class Result(StrEnum):
    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    NOT_JUDGED = "NOT JUDGED"


class Broken(Exception):
    """The server breaks the requirement. The message is the reason."""

    def __init__(self, reason: str, exchange: Exchange | None = None) -> None:
        super().__init__(reason)
        self.exchange = exchange


class NotJudged(Exception):
    """The check could not be made. The message is the reason."""


@dataclass(frozen=True)
class Verdict:
    requirement: Requirement
    result: Result
    reason: str = ""
    exchange: Exchange | None = None  # shows a FAIL
