"""Records where an answer was given, and how much of the delivery that place showed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models


class Place(models.TextChoices):
    PAGE = "page", "Its page"
    LIST = "list", "The list"
    # On the delivery's page, where the person signed the answer with a passkey.
    PASSKEY = "passkey", "Its page, with a passkey"
    BULK = "bulk", "Several together"
    SLACK = "slack", "Slack"
    RULE = "rule", "A rule"


@dataclass(frozen=True, slots=True)
class Sight:
    """Holds where a person answered, and which parts of the delivery were not shown there, in plain
    phrases such as `14 rows of a table`. The list is empty if everything was in sight, and None if
    Wake does not know what was in sight. Outside Wake, the person answered in a message: `shown`
    names the parts of the delivery that the message printed whole, and `message_hash` is the
    SHA-256 of its text. `opened_at` is when the person first opened the delivery's page, or None if
    they answered without opening the page."""

    place: str = ""
    left_out: tuple[str, ...] | None = None
    shown: tuple[str, ...] = ()
    message_hash: str = ""
    opened_at: datetime | None = None

    @property
    def all_in_sight(self) -> bool | None:
        return None if self.left_out is None else not self.left_out

    @property
    def left_out_text(self) -> str:
        return "; ".join(self.left_out or ())

    def in_audit(self) -> dict[str, Any]:
        """Returns the facts for the audit. The phrases are left out: they can contain what the
        agent sent, and the audit is never erased."""
        if not self.place:
            return {}
        seen: dict[str, Any] = {"place": str(self.place), "all_in_sight": self.all_in_sight}
        if self.message_hash:
            seen |= {"shown": list(self.shown), "message_hash": self.message_hash}
        return seen


UNKNOWN = Sight()
BY_RULE = Sight(Place.RULE)
