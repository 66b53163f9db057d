"""Says where an answer was given, and how much of the delivery that place showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models


class Place(models.TextChoices):
    PAGE = "page", "Its page"
    LIST = "list", "The list"
    BULK = "bulk", "Several together"
    SLACK = "slack", "Slack"
    RULE = "rule", "A rule"


@dataclass(frozen=True, slots=True)
class Sight:
    """Holds where a person answered, and what of the delivery was not shown there, in plain phrases
    such as `14 rows of a table`: none if everything was in sight, and None if that is not known.
    Outside Wake it was answered in a message: `shown` names the parts of the delivery that the
    message printed whole, and `message_hash` is the SHA-256 of its text."""

    place: str = ""
    left_out: tuple[str, ...] | None = None
    shown: tuple[str, ...] = ()
    message_hash: str = ""

    @property
    def all_in_sight(self) -> bool | None:
        return None if self.left_out is None else not self.left_out

    @property
    def left_out_text(self) -> str:
        return "; ".join(self.left_out or ())

    def in_audit(self) -> dict[str, Any]:
        """Returns what the audit says of it. The audit is never erased, so it does not have the
        phrases, which can name what the agent sent."""
        if not self.place:
            return {}
        seen: dict[str, Any] = {"place": str(self.place), "all_in_sight": self.all_in_sight}
        if self.message_hash:
            seen |= {"shown": list(self.shown), "message_hash": self.message_hash}
        return seen


UNKNOWN = Sight()
BY_RULE = Sight(Place.RULE)
