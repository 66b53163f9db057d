"""Shows an agent in the admin, with its keys, signing secrets, limit and pause."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.formats import date_format

from accounts.admin.audited import AuditedAdmin, AuditedInline, actor
from accounts.admin.forms import AgentForm, ClaimedIdForm, IssueKeyForm, RotateKeyForm, SecretForm
from accounts.agents import credential_version, hourly_limits, keys, registration, signing_secrets
from accounts.models import Agent, ApiKey, ClaimedId, Gate
from database.clock import database_now

KEYS_SHOWN = 50


class ClaimedIdInline(AuditedInline):
    model = ClaimedId
    thing = "claim"
    form = ClaimedIdForm
    verbose_name = "alias"
    verbose_name_plural = "aliases"


@admin.register(Agent)
class AgentAdmin(AuditedAdmin):
    thing = "agent"
    form = AgentForm
    inlines = [ClaimedIdInline]
    list_display = ("agent_id", "team", "keys_in_use", "last_seen", "paused_at")
    list_filter = (
        ("paused_at", admin.EmptyFieldListFilter),
        ("archived_at", admin.EmptyFieldListFilter),
        "team",
    )
    search_fields = ("agent_id", "team__name", "team__slug")
    ordering = ("team__name", "agent_id")
    change_form_template = "admin/accounts/agent/change_form.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        now = database_now()
        live = Q(keys__expires_at=None) | Q(keys__expires_at__gt=now)
        rows: QuerySet[Agent] = super().get_queryset(request).select_related("team")
        return rows.annotate(
            keys_usable=Count("keys", filter=Q(keys__revoked_at=None, keys__grant=None) & live),
            last_used_at=Max("keys__last_used_at"),
        )

    @admin.display(description="active keys", ordering="keys_usable")
    def keys_in_use(self, agent: Any) -> int:
        return int(agent.keys_usable)

    @admin.display(description="last seen", ordering="last_used_at")
    def last_seen(self, agent: Any) -> datetime | None:
        last_used_at: datetime | None = agent.last_used_at
        return last_used_at

    def get_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        if obj is None:
            return ("team", "agent_id")
        return ("team", "agent_id", "created_at", "paused_at", "archived_at", "hourly_limit")

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """Makes the team and the id of an existing agent read-only, because the agent's deliveries
        and keys belong to this team and this id."""
        fixed = ("team", "agent_id", "created_at", "paused_at", "archived_at")
        return fixed if obj else ()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allows deleting an agent together with its keys, although a key cannot be deleted
        alone."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, lacking - {ApiKey._meta.verbose_name}, protected

    # Registering ----------------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Shows only the button Save, because the next page has to show the new secret."""
        only_save = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **only_save})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        if not change:
            obj.first_secret = registration.register(obj, by=actor(request))
        elif form.changed_data:  # saves only this field, because others may have changed
            hourly_limits.set_limit(obj, obj.hourly_limit, by=actor(request), at=database_now())

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Shows the secret. A form that is sent again is refused, because the agent exists."""
        return self._show_once(request, obj, "signing secret", obj.first_secret)

    # Keys, secrets and the pause ------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        def own(route: str, view: Callable[..., HttpResponse], permission: str) -> URLPattern:
            name = f"accounts_agent_{view.__name__}"
            url: URLPattern = path(
                f"<uuid:agent_id>/{route}", self._of_agent(view, permission), name=name
            )
            return url

        return [
            own("issue-key/", self.issue_key, "accounts.add_apikey"),
            own("keys/<uuid:key_id>/rotate/", self.rotate_key, "accounts.add_apikey"),
            own("keys/<uuid:key_id>/revoke/", self.revoke_key, "accounts.change_apikey"),
            own("rotate-secret/", self.rotate_secret, "accounts.add_signingsecret"),
            own("switch-secret/", self.switch_secret, "accounts.change_signingsecret"),
            own("pause/", self.pause, "accounts.change_agent"),
            own("resume/", self.resume, "accounts.change_agent"),
            *super().get_urls(),
        ]

    def _of_agent(self, view: Callable[..., HttpResponse], permission: str) -> Any:
        """Accepts only POST. Handles one request at a time for each agent, so that a double click
        issues only one key."""

        @transaction.atomic
        def with_agent(request: HttpRequest, agent_id: UUID, **rest: UUID) -> HttpResponse:
            agent = get_object_or_404(Agent.objects.select_for_update(), pk=agent_id)
            if not request.user.has_perms([permission, "accounts.view_agent"]):
                raise PermissionDenied
            if request.method != "POST":
                return self._no_longer_visible(request, agent)
            try:
                return view(request, agent, **rest)
            except keys.TooManyKeys as reason:
                return self._done(request, agent, str(reason), level=messages.WARNING)

        return self.admin_site.admin_view(with_agent)

    def issue_key(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        form = IssueKeyForm(request.POST)
        if not form.is_first_for(agent):
            return self._no_longer_visible(request, agent)
        _, text = keys.mint(agent, by=actor(request), mode=form.cleaned_data["mode"])
        return self._show_once(request, agent, "API key", text)

    def rotate_key(self, request: HttpRequest, agent: Agent, key_id: UUID) -> HttpResponse:
        now, form = database_now(), RotateKeyForm(request.POST)
        key = get_object_or_404(agent.keys.without_grants().usable(now), pk=key_id)
        if not form.is_first_for(agent):
            return self._no_longer_visible(request, agent)
        _, text = keys.rotate(key, by=actor(request), overlap=form.delta, at=now)
        return self._show_once(request, agent, "API key", text)

    def revoke_key(self, request: HttpRequest, agent: Agent, key_id: UUID) -> HttpResponse:
        key = get_object_or_404(agent.keys.without_grants(), pk=key_id)
        keys.revoke(key, by=actor(request), at=database_now())
        return self._done(request, agent, f"{key} was revoked. It no longer works.")

    def rotate_secret(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        if not SecretForm(request.POST).is_first_for(agent):
            return self._no_longer_visible(request, agent)
        try:
            text = signing_secrets.rotate_secret(agent, by=actor(request))
        except signing_secrets.RotationInProgress as reason:
            return self._done(request, agent, str(reason), level=messages.WARNING)
        return self._show_once(request, agent, "signing secret", text)

    def switch_secret(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        signing_secrets.switch_secret(agent, by=actor(request), at=database_now())
        return self._done(request, agent, "The new secret now signs every header.")

    def pause(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        registration.pause(agent, by=actor(request), at=database_now())
        return self._done(request, agent, f"{agent} is paused. It can still read your answers.")

    def resume(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        try:
            registration.resume(agent, by=actor(request))
        except registration.AgentArchived as reason:
            return self._done(request, agent, str(reason), level=messages.WARNING)
        return self._done(request, agent, f"{agent} can deliver again.")

    def _done(
        self, request: HttpRequest, agent: Agent, message: str, *, level: int = messages.SUCCESS
    ) -> HttpResponse:
        self.message_user(request, message, level)
        return redirect("admin:accounts_agent_change", agent.pk)

    # Pages ----------------------------------------------------------------------------------------

    def _show_once(
        self, request: HttpRequest, agent: Agent, what: str, text: str | None, status: int = 200
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"{what[0].upper()}{what[1:]} of {agent}",
            "opts": self.opts,
            "agent": agent,
            "what": what,
            "text": text,
        }
        template = "admin/accounts/agent/shown_once.html"
        response = TemplateResponse(request, template, context, status=status)
        response["Cache-Control"] = "no-store"
        return response

    def _no_longer_visible(self, request: HttpRequest, agent: Agent) -> HttpResponse:
        return self._show_once(request, agent, "key or secret", None, status=410)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if agent := kwargs.get("obj"):
            context.update(_credentials(agent, database_now()))
        return super().render_change_form(request, context, *args, **kwargs)


def _credentials(agent: Agent, now: datetime) -> dict[str, Any]:
    version = {"version": credential_version.current(agent)}
    return {
        "keys": [
            {
                "key": key,
                "state": key_state(key, now),
                "is_usable": key.is_usable(now),
                "form": RotateKeyForm(initial=version, auto_id=f"id_{key.pk}_%s"),
            }
            for key in agent.keys.without_grants().order_by("-created_at")[:KEYS_SHOWN]
        ],
        "issue_form": IssueKeyForm(initial=version, auto_id="id_issue_%s"),
        "secret_form": SecretForm(initial=version, auto_id="id_secret_%s"),
        "secrets_in_use": agent.signing_secrets.in_use().count(),
    }


def key_state(key: ApiKey | Gate, now: datetime) -> str:
    if key.revoked_at:
        return f"revoked {_local_time(key.revoked_at)}"
    if key.expires_at is None:
        return "works"
    return f"{'works until' if key.is_usable(now) else 'ended'} {_local_time(key.expires_at)}"


def _local_time(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")
