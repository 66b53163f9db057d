"""Turns a person's answer into the option that they chose. No other module of this package allows a
tool call."""

from __future__ import annotations

from dataclasses import dataclass

from wake_client.acp.questions import (
    PERMISSION,
    REJECT_ONCE,
    PermissionOption,
    PermissionRequest,
)
from wake_client.answers import Answer


@dataclass(frozen=True, slots=True)
class Selection:
    """Holds the chosen option. Without an option, the outcome is `cancelled`, and the agent must
    not go on."""

    option: PermissionOption | None

    @property
    def allows(self) -> bool:
        return self.option is not None and self.option.allows


def selection_of(request: PermissionRequest, answer: Answer) -> Selection | None:
    """Returns the selection of a person's answer. Returns None if the answer selects nothing, for
    example because a rule of the team gave it."""
    if answer.responded_by is not None or answer.erased:
        return None
    if answer.status == "approved":
        option = request.only_allow_once
        return Selection(option) if option else None
    if answer.status == "rejected":
        return _rejection(request)
    if answer.status != "redirected":
        return None
    if not isinstance(answer.edited_content, dict):  # the person wrote words, and chose no option
        return _rejection(request)
    chosen = answer.edited_content.get(PERMISSION)
    for number, option in enumerate(request.options, 1):
        if chosen == str(number):
            return Selection(option)
    return None


def _rejection(request: PermissionRequest) -> Selection:
    rejecting = [option for option in request.options if option.kind == REJECT_ONCE]
    return Selection(rejecting[0] if rejecting else None)
