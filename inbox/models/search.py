"""Defines the index of search."""

from __future__ import annotations

from django.db import models

from accounts.models import Agent
from inbox.search.words import LONGEST_WORD, TimeBucketsField, WordsField
from wake.models import Delivery


class Searchable(models.Model):
    """Stores the words of one delivery. They are written after its commit, so that no content can
    make a delivery slow or fail. The row locks no delivery, so indexing waits for nothing."""

    id = models.BigAutoField(primary_key=True)
    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, related_name="searchable", db_constraint=False
    )
    words = WordsField()
    time_buckets = TimeBucketsField(db_column="shelves")

    def __str__(self) -> str:
        return f"Words of {self.delivery_id}"


class Word(models.Model):
    """Stores a word that search has indexed, on PostgreSQL only (inbox/search/vocabulary.py)."""

    text = models.CharField(primary_key=True, max_length=LONGEST_WORD)

    def __str__(self) -> str:
        return self.text


class IndexedUntil(models.Model):
    """Marks how far search has indexed an agent's deliveries: the last activity stamp, in
    microseconds since 1970. Every writer of an agent's words locks this row."""

    agent = models.OneToOneField(
        Agent,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="indexed_until",
        db_constraint=False,
    )
    activity_us = models.BigIntegerField(default=0)
    # Whether details and answers are indexed, which they are not while they are encrypted; and up
    # to where everything is indexed again, because encryption was switched.
    has_content = models.BooleanField(default=True, db_default=True)
    again_until_us = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.agent_id} until {self.activity_us}"

    def restart(self, *, has_content: bool) -> None:
        """Indexes everything again, because encryption was switched."""
        self.has_content = has_content
        self.again_until_us = max(self.again_until_us, self.activity_us)
        self.activity_us = 0
