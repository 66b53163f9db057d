"""Writes an audit event as a sentence: who did what. The page shows the object beside the sentence.
Each app registers the words for the events that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from accounts.models import AuditEvent

Detail = Mapping[str, Any]
Say = Callable[[str, Detail], str]


class Words(NamedTuple):
    """Holds the name of an event in the filter, the text for several events (`6 agents
    registered`), and the sentence."""

    title: str
    plural: str
    say: Say


EVENTS: dict[str, Words] = {}


def register(events: Mapping[str, Words]) -> None:
    """Adds the words for events. Apps call this when they start."""
    EVENTS.update(events)


def sentence(event: AuditEvent) -> str:
    """Returns `Mira approved`, `Undone by Mira after 4 s` or `Expired without an answer`."""
    actor = _actor(event)
    if words := EVENTS.get(event.event):
        return words.say(actor, event.detail)
    happened = event.event.replace(".", " ").replace("_", " ")
    return f"{actor}: {happened}"


def does(verb: str) -> Say:
    """Returns a function that writes a sentence beginning with the name of the actor."""
    return lambda actor, detail: f"{actor} {verb}"


def says(words: str) -> Say:
    """Returns a function that writes a sentence without the actor."""
    return lambda actor, detail: words


def _actor(event: AuditEvent) -> str:
    if event.actor_kind == "operator":
        return "CLI"
    if event.actor_kind == "rule":
        return f"The rule “{event.actor_name}”"
    return event.actor_name or "Someone"
