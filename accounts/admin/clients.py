"""Lists in the admin what people granted to clients, and ends it. The pages of django-oauth-toolkit
are taken out, because they would create clients and tokens outside the audit."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from oauth2_provider.models import (
    AccessToken,
    Application,
    DeviceGrant,
    Grant,
    IDToken,
    RefreshToken,
)

from accounts.admin.audited import actor
from accounts.admin.read_only import ReadOnlyAdmin
from accounts.models import OAuthGrant
from accounts.oauth import grants
from accounts.oauth.pages.listing import may_end, state_of, with_refresh
from database.clock import database_now

for _model in (AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken):
    if admin.site.is_registered(_model):
        admin.site.unregister(_model)


@admin.register(OAuthGrant)
class OAuthGrantAdmin(ReadOnlyAdmin):
    list_display = ("client_name", "client_host", "agent", "person", "state", "created_at")
    list_filter = (("key__revoked_at", admin.EmptyFieldListFilter),)
    search_fields = ("client_name", "client_host", "key__agent__agent_id", "person__email")
    ordering = ("-created_at",)
    fields = (
        *("client_name", "client_host", "agent", "team", "person", "state", "created_at"),
        *("last_used_at", "ends_at"),
    )
    change_form_template = "admin/accounts/oauthgrant/change_form.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[OAuthGrant]:
        return with_refresh(super().get_queryset(request))

    def agent(self, grant: OAuthGrant) -> str:
        return str(grant.key.agent)

    def team(self, grant: OAuthGrant) -> str:
        return grant.key.agent.team.name

    def state(self, grant: OAuthGrant) -> str:
        return state_of(grant, database_now()).lower()

    def last_used_at(self, grant: OAuthGrant) -> datetime | None:
        return grant.key.last_used_at

    def get_urls(self) -> list[URLPattern]:
        end = self.admin_site.admin_view(self.end)
        return [
            path("<uuid:grant_id>/end/", end, name="accounts_oauthgrant_end"),
            *super().get_urls(),
        ]

    def end(self, request: HttpRequest, grant_id: UUID) -> HttpResponse:
        grant = get_object_or_404(OAuthGrant.objects.select_related("key__agent"), pk=grant_id)
        if not request.user.has_perms(["accounts.change_oauthgrant", "accounts.view_oauthgrant"]):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        grants.end(grant, by=actor(request), at=database_now())
        self.message_user(request, f"{grant} was ended. It can no longer deliver or read answers.")
        return redirect("admin:accounts_oauthgrant_change", grant.pk)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        grant: OAuthGrant | None = kwargs.get("obj")
        may = request.user.has_perm("accounts.change_oauthgrant")
        is_open = grant is not None and may_end(grant, database_now())
        context["may_end"] = may and is_open
        return super().render_change_form(request, context, *args, **kwargs)
