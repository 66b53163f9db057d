"""Compares a delivery with the one that it replaces, and lists its thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models.expressions import RawSQL

from database.batched_queries import first_of_each
from database.uuids import uuid_or_none
from inbox.answering.editing.edits import Original
from inbox.answering.outcome_words import outcome_words
from inbox.rendering.blocks import CHOICE
from inbox.rendering.diffs.outlines import sides
from inbox.rendering.diffs.step_budget import STEPS, StepBudget
from inbox.rendering.diffs.word_diffs import Changes, changes
from inbox.rendering.json_text import read
from wake.models import Delivery, DeliveryQuerySet, Response

MAX_EARLIER = 10
COMPARED_AT_ONCE = 40_000
EACH_STEPS = STEPS // 3  # because a page has up to three comparisons
NEWEST = """
    WITH RECURSIVE newer (id, created_at) AS (
        SELECT id, created_at FROM wake_delivery WHERE supersedes_id = %s
        UNION ALL
        SELECT later.id, later.created_at
          FROM wake_delivery AS later JOIN newer ON later.supersedes_id = newer.id
    )
    SELECT id FROM newer ORDER BY created_at DESC LIMIT 1
"""
COLUMNS = ("team", "headline", "type", "status", "answered_at", "created_at", "supersedes")


@dataclass(frozen=True, slots=True)
class Thread:
    """Holds the versions of a delivery. `newer` replaces the delivery; `earlier` holds the versions
    before the delivery, newest first."""

    newer: Delivery | None = None
    earlier: list[Delivery] = field(default_factory=list)
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """Compares a delivery with the one that it replaces. `edit` is the person's change to the
    earlier delivery, `agent_change` is the agent's change, and `difference` is the difference
    between the two.

    Each of the three is None if the texts are so long that they are compared only on request.
    `difference` is also None if only one of the two deliveries proposes values in blocks.
    """

    earlier: Delivery
    response: Response | None
    agent_change: Changes | None
    edit: Changes | None = None
    difference: Changes | None = None
    # True if the agent changed more than the person edited.
    has_other_changes: bool = False
    # False for an A2A task. The conversation of a task grows with each turn, so only the proposals
    # of two deliveries are compared.
    compares_all: bool = True

    @property
    def outcome(self) -> str:
        """Returns the person's answer to the earlier delivery."""
        return outcome_words(self.response) if self.response else ""

    @property
    def is_as_edited(self) -> bool:
        return self.has_edited_values and self.compares_all and not self.has_other_changes

    @property
    def has_edited_values(self) -> bool:
        return self.difference is not None and not self.difference


def thread_of(delivery: Delivery) -> Thread:
    """Returns the delivery's thread. Makes no query if the delivery has no other versions,
    otherwise one."""
    lists = list(_lists(delivery))
    if not lists:
        return Thread()
    deliveries = {row.pk: row for row in first_of_each(lists, count=MAX_EARLIER + 1)}
    newer = [row for row in deliveries.values() if row.supersedes_id == delivery.pk]
    earlier = [row for row in deliveries.values() if row.created_at < delivery.created_at]
    earlier.sort(key=lambda row: row.created_at, reverse=True)
    return Thread(newer[0] if newer else None, earlier[:MAX_EARLIER], len(earlier) > MAX_EARLIER)


def revision_of(delivery: Delivery, *, is_asked_for: bool) -> Revision | None:
    """Returns the comparison of this delivery with the one that it replaces. The replaced delivery
    must be loaded with its answer."""
    earlier = delivery.supersedes
    if earlier is None or earlier.team_id != delivery.team_id or earlier.erased_at is not None:
        return None
    return compare(earlier, delivery, is_asked_for=is_asked_for)


def newest_version_of(delivery: Delivery) -> Delivery | None:
    """Follows the deliveries that replaced this one, and returns the newest. An agent can only
    replace its own deliveries. Index: the index of `supersedes`."""
    pk = delivery.pk if connection.vendor == "postgresql" else delivery.pk.hex
    return Delivery.objects.filter(pk=RawSQL(NEWEST, (pk,))).first()  # noqa: S611 - no words of theirs


def compare(earlier: Delivery, delivery: Delivery, *, is_asked_for: bool) -> Revision:
    """Compares two versions, including the answer to the earlier version if there is an answer."""
    response: Response | None = getattr(earlier, "response", None)
    edited = response.edited_json if response else None
    texts = [earlier.details_json or "", delivery.details_json or "", edited or ""]
    if sum(map(len, texts)) > COMPARED_AT_ONCE and not is_asked_for:
        return Revision(earlier, response, agent_change=None)
    before, after = Original.of(earlier), Original.of(delivery)
    is_alike = before.is_proposal == after.is_proposal
    agent_change = _diff(*_versions(earlier, delivery, before, after))
    if edited is None:
        return Revision(earlier, response, agent_change)
    return Revision(
        earlier,
        response,
        agent_change,
        edit=_diff(before.json, edited),
        difference=_diff(edited, after.json) if is_alike else None,
        has_other_changes=_besides(earlier, before) != _besides(delivery, after),
        compares_all=not delivery.is_internal,
    )


def _besides(delivery: Delivery, original: Original) -> Any:
    """Returns the agent's content without the part that a person edits. Returns None for an
    internal delivery, because the content is the conversation of a task, and a conversation grows
    by itself."""
    if delivery.is_internal:
        return None
    sent = [delivery.assumption, delivery.on_timeout, delivery.irreversible, delivery.extensions]
    if not original.is_proposal:
        return sent
    value = read(delivery.details_json or "null")
    rest = {name: one for name, one in value.items() if name not in {"proposal", "blocks"}}
    return [*sent, rest, [_without_value(block, original) for block in value["blocks"]]]


def _without_value(block: Any, original: Original) -> Any:
    """Returns a block without the value that it proposes."""
    name = block.get("name", CHOICE) if isinstance(block, dict) else None
    if not isinstance(name, str) or name not in original.controls:
        return block
    rest = {member: one for member, one in block.items() if member != "value"}
    if isinstance(options := block.get("options"), list):
        rest["options"] = [
            {member: one for member, one in option.items() if member != "recommended"}
            for option in options
            if isinstance(option, dict)
        ]
    return rest


def _versions(
    earlier: Delivery, delivery: Delivery, before: Original, after: Original
) -> tuple[str | None, str | None]:
    """Returns all content of both versions. For internal deliveries, returns only the proposals."""
    if delivery.is_internal and before.is_proposal and after.is_proposal:
        return before.json, after.json
    return earlier.details_json, delivery.details_json


def _diff(before: str | None, after: str | None) -> Changes:
    return changes(*sides(before, after), budget=StepBudget(EACH_STEPS))


def _lists(delivery: Delivery) -> Iterator[DeliveryQuerySet]:
    """Yields the rows of the thread. An unnamed thread has the id of its first delivery. Index:
    thread_of_an_agent."""
    of_agent = Delivery.objects.for_team(delivery.team_id).of_agent(
        delivery.agent_id, delivery.mode
    )
    rows = of_agent.only(*COLUMNS).order_by("-created_at")
    if delivery.superseded_at is not None:
        yield rows.filter(supersedes=delivery)
    if delivery.thread:
        yield rows.filter(thread=delivery.thread, created_at__lt=delivery.created_at)
    first = uuid_or_none(delivery.thread) or delivery.supersedes_id
    if first:
        yield rows.filter(pk__in={first, delivery.supersedes_id or first})
