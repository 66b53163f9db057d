"""Notices that the beginning of the audit, or all of it, was removed. The signature of the log does
not show this: if the log and its signature were removed, the next sweep begins a new log."""

from __future__ import annotations

from datetime import timedelta

from accounts.log import earlier_chains, signed_tree
from accounts.models import AuditEvent, Team, TeamMove
from database.clock import database_now

TIME_TO_LOG = timedelta(hours=1)


def problem() -> str:
    """Returns a sentence if the event of the first team's creation is missing, or an empty text.
    Teams that came from another server may be older than this server."""
    first = AuditEvent.objects.order_by("pk").values_list("at", flat=True).first()
    begins_at = first or database_now()
    own = Team.objects.exclude(pk__in=TeamMove.objects.arrivals().values("team"))
    if not own.filter(created_at__lt=begins_at - TIME_TO_LOG).exists():
        return ""
    if first is None:
        return "There are teams, but no events: the events were removed."
    return "A team is older than the first event: what came before was removed."


def has_no_log() -> bool:
    """Returns whether the log is empty, although there are events older than an hour. A sweep logs
    each event within a minute, so either no job has run, or the log was removed."""
    if signed_tree.stored().size or earlier_chains.exist():
        return False
    return AuditEvent.objects.filter(at__lt=database_now() - TIME_TO_LOG).exists()
