"""Registers the kinds of callbacks: how each kind is named, allowed, signed and sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from wake.models import Callback

ANSWER = "answer"

Headers = Callable[[Callback, datetime], dict[str, str]]


@dataclass(frozen=True, slots=True)
class Link:
    """Links the page of a callback to the page of its subject."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Kind:
    """Describes a kind of callback. `name` is stored with each row. `start_batch` returns the
    function that allows and signs each callback of a batch. For a whole batch, `start_batch` looks
    up shared data once. The returned function returns the request's headers. The returned function
    raises allowlist.AddressRefused, NoSecret, SecretUnreadable or Unreadable if the callback cannot
    be sent now. A kind that carries no answer has a `link`, and a `hint` that its page shows until
    the callback has arrived."""

    name: str
    title: str
    title_of_many: str
    needs_allowlist: bool
    start_batch: Callable[[], Headers]
    link: Callable[[Callback], Link] | None = None
    hint: str = ""


_registered: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Adds a kind. The app that queues its callbacks calls this once, when it is ready."""
    _registered[kind.name] = kind


def kind_of(callback: Callback) -> Kind:
    """Returns the kind of a callback. A process of version 0.1 stores no kind, and the column's
    default is wrong for a callback that carries an answer."""
    return _registered[ANSWER if callback.response_id else callback.kind]


def title_of_others() -> str:
    """Returns the names of the kinds that carry no answer, such as `A2A pushes`."""
    others = (kind for kind in _registered.values() if kind.name != ANSWER)
    return ", ".join(kind.title_of_many for kind in others)
