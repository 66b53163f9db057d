"""A small garden of deliveries, and what a person finds in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts.models import Agent, User
from inbox.full_text import index_new
from inbox.query_language import read
from inbox.search import Search
from inbox.viewer import Viewer
from wake.models import Delivery

Find = Callable[..., list[str]]


@pytest.fixture
def find(alice: User) -> Find:
    """The headlines that a text finds for a person, newest first; whatever is new is indexed."""

    def run(text: str, *, user: User = alice, at: datetime | None = None) -> list[str]:
        while index_new():
            pass
        search = Search.of(Viewer.of(user), read(text))
        rows, _ = search.newest(lambda rows: rows, at=at or timezone.now())
        return [row.headline for row in rows]

    return run


@pytest.fixture
def give(make_delivery: Callable[..., Delivery], agent: Agent) -> Callable[..., Delivery]:
    """A delivery with this headline and nothing else in it; its team is a year old."""
    agent.team.created_at -= timedelta(days=365)
    agent.team.save(update_fields=["created_at"])

    def make(headline: str, **fields: object) -> Delivery:
        return make_delivery(**{"headline": headline, "summary": ".", **fields})

    return make
