"""Provides a few deliveries to search and a search for one person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts.access.viewer import Viewer
from accounts.models import Agent, User
from inbox.search.index import index_new
from inbox.search.query_language import read
from inbox.search.search import Search
from tests.types import Find, MakeDelivery
from wake.models import Delivery


@pytest.fixture
def find(alice: User) -> Find:
    """Indexes new deliveries and returns the headlines that a person finds, newest first."""

    def run(text: str, *, user: User = alice, at: datetime | None = None) -> list[str]:
        while index_new(at=timezone.now()):
            pass
        search = Search.of(Viewer.of(user), read(text))
        rows, _ = search.newest(lambda rows: rows, at=at or timezone.now())
        return [row.headline for row in rows]

    return run


@pytest.fixture
def give(make_delivery: MakeDelivery, agent: Agent) -> Callable[..., Delivery]:
    """Creates a delivery with this headline only. The team of the delivery is a year old."""
    agent.team.created_at -= timedelta(days=365)
    agent.team.save(update_fields=["created_at"])

    def make(headline: str, **fields: object) -> Delivery:
        return make_delivery(**{"headline": headline, "summary": ".", **fields})

    return make
