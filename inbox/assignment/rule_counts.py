"""Counts the rules of teams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from wake.models import AnsweringRule, Rule


def count_rules(team_ids: Collection[int]) -> Counter[int]:
    """Counts the assignment rules and the answering rules of each team. Makes one query."""
    of_teams = {"team__in": team_ids, "removed_at__isnull": True}
    assigning = Rule.objects.filter(**of_teams).values_list("team", flat=True)
    answering = AnsweringRule.objects.filter(**of_teams).values_list("team", flat=True)
    return Counter(assigning.union(answering, all=True))
