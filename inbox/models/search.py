"""Defines the index of search."""

from __future__ import annotations

from django.db import models

from accounts.models import Agent
from database.follower import ReadUntil
from inbox.models.words import LONGEST_WORD, TimeBucketsField, WordsField
from wake.models import Delivery


class Searchable(models.Model):
    """Stores the words of one delivery. The words are written after the delivery's commit, so that
    no content can slow a delivery down or make it fail. The row does not lock the delivery, so
    indexing waits for nothing."""

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


class IndexedUntil(ReadUntil):
    """Marks how far search has indexed an agent's deliveries. Every writer of an agent's words
    locks this row."""

    agent = models.OneToOneField(
        Agent,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="indexed_until",
        db_constraint=False,
    )
    # False while content is encrypted, because details and answers are then not indexed. The second
    # field says how far everything is indexed again after encryption was switched on or off.
    has_content = models.BooleanField(default=True, db_default=True)
    again_until_us = models.BigIntegerField(default=0, db_default=0)

    def restart(self, *, has_content: bool) -> None:
        """Indexes everything again, because encryption was switched on or off."""
        self.has_content = has_content
        self.again_until_us = max(self.again_until_us, self.activity_us)
        self.activity_us = 0
