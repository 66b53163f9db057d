"""Describes the two kinds of rules, which share the pages that add, change and remove them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404

from accounts.access.requests import PersonRequest
from accounts.models import Team
from inbox.assignment.forms import (
    AnsweringRuleForm,
    RuleForm,
    initial_of,
    initial_of_answering,
)
from wake.answering import rules as answering
from wake.assignment import rules as assignment
from wake.models import AnsweringRule, AnsweringVersion, Rule, RuleVersion

MAX_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKind:
    """Holds the form, the functions and the words of one kind of rule.

    `seen` names the field with the version that the page shows. `add`, `change` and `remove` get
    this version. The three functions refuse to work if someone else has changed the rules since.
    `page` is the page of one rule, or "" if there is only the list.
    """

    name: str
    form: type[RuleForm] | type[AnsweringRuleForm]
    initial: Callable[[Any], dict[str, Any]]
    versions: type[RuleVersion] | type[AnsweringVersion]
    add: Callable[..., Rule | AnsweringRule]
    change: Callable[..., object]
    remove: Callable[..., object]
    seen: str
    shown: Callable[[Team, Any], int | None]
    new_url: str
    page: str = ""
    refused: str
    saved: str
    removal: str

    def newest(self, team: Team, pk: UUID) -> Any:
        """Returns the newest version of the rule. Raises Http404 for a rule of another team, and
        for a removed one."""
        version = self.versions.objects.of_team(team).of_rule(pk).first()
        if version is None:
            raise Http404
        return version

    def seen_in(self, request: PersonRequest) -> dict[str, int]:
        """Returns the version on the page, as an argument of `add`, `change` and `remove`. The
        version is 0 if the text is not a version. Only a team without rules has version 0."""
        text = request.POST.get(self.seen, "")
        is_version = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        return {self.seen: int(text) if is_version else 0}


def _add_answering(*given: Any, version: int, **others: Any) -> AnsweringRule:
    """Adds an answering rule. The order of answering rules means nothing, so the form needs no
    version of the list."""
    return answering.add(*given, **others)


ASSIGNING = RuleKind(
    name="Assignment rule",
    form=RuleForm,
    initial=initial_of,
    versions=RuleVersion,
    add=assignment.add,
    change=assignment.change,
    remove=assignment.remove,
    seen="rules_version",
    shown=lambda team, version: team.rules_version,
    new_url="settings-rule-new",
    refused="Only team owners can change assignment rules",
    saved="Saved.",
    removal="It assigns no more deliveries, and this can't be undone. Deliveries that it already "
    "assigned stay assigned.",
)
ANSWERING = RuleKind(
    name="Answering rule",
    form=AnsweringRuleForm,
    initial=initial_of_answering,
    versions=AnsweringVersion,
    add=_add_answering,
    change=answering.change,
    remove=answering.remove,
    seen="version",
    shown=lambda team, version: version and version.number,
    new_url="settings-answering-rule-new",
    page="settings-answering-rule",
    refused="Only team owners can change answering rules",
    saved="Saved. It's a dry run until an owner turns it on.",
    removal="It approves nothing more, and this can't be undone. Its answers are kept.",
)
KINDS = (ASSIGNING, ANSWERING)
