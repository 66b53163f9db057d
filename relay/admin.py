"""Shows the support staff which agents can be called, and with whose keys. Owners of the team
change the agents and the keys on the pages of the agent."""

from __future__ import annotations

from django.contrib import admin

from accounts.admin.read_only import ReadOnlyAdmin
from relay.models import CallerKey, Card

DATES = ("created_at", "last_used_at", "expires_at", "revoked_at")


@admin.register(Card)
class CardAdmin(ReadOnlyAdmin):
    fields = (
        "agent",
        "enabled",
        ("version", "profile", "is_root"),
        ("access", "callers", "reply_policy"),
        ("input_modes", "output_modes"),
        ("timeout_seconds", "max_concurrency"),
        ("created_at", "updated_at"),
    )
    list_display = ("__str__", "enabled", "access", "reply_policy", "profile", "is_root")
    list_select_related = ("agent__team",)
    list_filter = ("enabled", "access", "is_root")
    search_fields = ("agent__agent_id", "agent__team__name", "agent__team__slug")
    ordering = ("agent__team__slug", "agent__agent_id")


@admin.register(CallerKey)
class CallerKeyAdmin(ReadOnlyAdmin):
    """Shows the support staff who owns a caller key."""

    fields = ("hint", "name", "team", "issued_by", *DATES)
    list_display = ("hint", "name", "team", *DATES)
    list_select_related = ("team",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    search_fields = ("hint", "name", "team__name")
    ordering = ("-created_at",)
