"""Shows deliveries, answers and callbacks for support; nothing can be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html

from accounts.admin.audited import AuditedInline, TabularInline
from accounts.admin.people import TeamAdmin
from accounts.admin.read_only import ReadOnlyAdmin
from accounts.models import Team
from wake.callbacks import allowlist
from wake.models import Callback, CallbackAttempt, CallbackHost, Delivery, Response, UploadedBlob

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[CallbackHost]
else:
    ModelForm = forms.ModelForm


def isolated(text: str) -> str:
    """Isolates the text, so that a right-to-left override in it changes nothing around it."""
    return format_html("<bdi>{}</bdi>", text)


class CallbackHostForm(ModelForm):
    class Meta:
        model = CallbackHost
        fields = ("pattern",)

    def clean_pattern(self) -> str:
        try:
            return allowlist.canonical(self.cleaned_data["pattern"])
        except (allowlist.AddressRefused, ValueError) as error:
            raise forms.ValidationError(str(error)) from error


class CallbackHostInline(AuditedInline):
    model = CallbackHost
    thing = "callback_host"
    added = "allowed"
    form = CallbackHostForm
    verbose_name = "callback host"
    verbose_name_plural = "callback hosts"


@admin.register(Team)
class TeamWithHostsAdmin(TeamAdmin):
    """Adds the callback hosts to the team's page from here, because accounts knows nothing of
    callbacks."""

    inlines: ClassVar[Any] = [*TeamAdmin.inlines, CallbackHostInline]


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    fields = (
        "id",
        "headline_text",
        ("team", "agent", "claimed_agent_id", "provider"),
        ("type", "priority", "quorum", "irreversible", "mode", "key_hint"),
        ("created_at", "activity_at"),
        ("timeout_seconds", "expires_at", "timed_out_at", "on_timeout"),
        ("status", "answered_at"),
        ("thread", "supersedes", "superseded_at"),
        ("acknowledged_at", "acknowledged_by"),
    )
    list_display = (
        "headline_text",
        "agent",
        "team",
        "type",
        "status",
        "mode",
        "created_at",
        "expires_at",
    )
    list_select_related = ("agent", "team")
    list_filter = ("type", "status", "mode", "team")
    search_fields = ("=id", "headline", "agent__agent_id")
    ordering = ("-created_at",)

    @admin.display(description="headline", ordering="headline")
    def headline_text(self, delivery: Delivery) -> str:
        return isolated(delivery.headline)


@admin.register(Response)
class ResponseAdmin(ReadOnlyAdmin):
    fields = (
        "id",
        "delivery",
        "status",
        ("by_name", "answered_at"),
        ("release_at", "responded_at"),
        ("sent_at", "picked_up_at", "picked_up_by"),
    )
    list_display = (
        "headline_text",
        "status",
        "by_name",
        "answered_at",
        "responded_at",
        "picked_up_at",
    )
    list_select_related = ("delivery",)
    list_filter = ("status", "picked_up_by")
    search_fields = ("=delivery__id", "delivery__headline", "by_name")
    ordering = ("-answered_at",)

    @admin.display(description="answer to", ordering="delivery__headline")
    def headline_text(self, response: Response) -> str:
        return isolated(response.delivery.headline)


@admin.register(UploadedBlob)
class UploadedBlobAdmin(ReadOnlyAdmin):
    """Describes the files of agents. Their bytes are never shown here."""

    fields = (
        "id",
        ("team", "agent", "mode"),
        ("media_type", "size"),
        ("is_picture", "width", "height", "is_animated"),
        ("sha256", "uploaded_sha256"),
        ("created_at", "expires_at"),
    )
    list_display = ("id", "agent", "team", "media_type", "size", "mode", "created_at")
    list_select_related = ("agent", "team")
    list_filter = ("is_picture", "mode", "team")
    search_fields = ("=id", "=sha256", "=uploaded_sha256", "agent__agent_id")
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return UploadedBlob.objects.without_content()


class AttemptInline(TabularInline):
    model = CallbackAttempt
    fields = ("number", "started_at", "took_ms", "status_code", "error", "by_name")
    can_delete = False
    max_num = 0

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Callback)
class CallbackAdmin(ReadOnlyAdmin):
    fields = (
        "id",
        "response",
        ("kind", "about"),
        ("agent", "team"),
        "host",
        ("created_at", "due_at", "leased_until", "tries"),
        ("delivered_at", "given_up_at"),
    )
    inlines = [AttemptInline]
    list_display = ("host", "agent", "team", "tries", "due_at", "delivered_at", "given_up_at")
    list_select_related = ("agent", "team")
    list_filter = (
        ("delivered_at", admin.EmptyFieldListFilter),
        ("given_up_at", admin.EmptyFieldListFilter),
        "team",
    )
    search_fields = ("=id", "=response__delivery__id", "host", "agent__agent_id")
    ordering = ("-created_at",)


@admin.register(CallbackAttempt)
class CallbackAttemptAdmin(ReadOnlyAdmin):
    fields = (
        "callback",
        ("number", "by_name"),
        ("started_at", "took_ms"),
        ("status_code", "error"),
    )
    list_display = ("started_at", "callback", "number", "status_code", "error", "took_ms")
    list_select_related = ("callback",)
    list_filter = (("error", admin.EmptyFieldListFilter),)
    search_fields = ("=callback__id", "callback__host", "error")
    ordering = ("-pk",)
