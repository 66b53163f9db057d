"""Shows the checkpoints of the log in the admin, and whether each destination has them."""

from __future__ import annotations

from django.contrib import admin

from accounts.admin.read_only import ReadOnlyAdmin
from accounts.models import CheckpointSending, LogCheckpoint


@admin.register(LogCheckpoint)
class LogCheckpointAdmin(ReadOnlyAdmin):
    fields = ("size", "root", "note", "made_at")
    list_display = ("size", "root", "made_at")
    ordering = ("-size",)


@admin.register(CheckpointSending)
class CheckpointSendingAdmin(ReadOnlyAdmin):
    fields = ("checkpoint", "kind", "name", "due_at", "sent_at", "attempts", "error", "result")
    list_display = ("checkpoint", "kind", "name", "sent_at", "attempts", "error", "due_at")
    list_select_related = ("checkpoint",)
    list_filter = ("kind", ("sent_at", admin.EmptyFieldListFilter))
    ordering = ("-checkpoint", "kind", "name")
