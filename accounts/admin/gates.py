"""Lists gate keys in the admin. The operator issues and revokes keys there. Each key is shown only
once."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from accounts.admin.agents import key_state
from accounts.admin.audited import actor
from accounts.admin.forms import NewGateForm
from accounts.admin.read_only import ReadOnlyAdmin
from accounts.agents import gates
from accounts.models import Gate
from database.clock import database_now

SHOWN = ("hint", "name", "team", "agents_of_gate", "state", "created_at", "issued_by")


@admin.register(Gate)
class GateAdmin(ReadOnlyAdmin):
    form = NewGateForm
    autocomplete_fields = ("team", "agents")
    list_display = ("hint", "name", "team", "state", "created_at", "last_used_at")
    list_select_related = ("team",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    search_fields = ("hint", "name", "team__name")
    ordering = ("-created_at",)
    change_form_template = "admin/accounts/gate/change_form.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.add_gate")

    def get_fields(self, request: HttpRequest, obj: Gate | None = None) -> Any:
        if obj is None:
            return ("team", "name", "agents", "expires_at", "version")
        return (*SHOWN, "last_used_at")

    @admin.display(description="agents")
    def agents_of_gate(self, gate: Gate) -> str:
        return ", ".join(gate.agents.order_by("agent_id").values_list("agent_id", flat=True))

    def state(self, gate: Gate) -> str:
        return key_state(gate, database_now())

    # Issuing --------------------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Shows only the button "Save", because the next page shows the new key."""
        only_save = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **only_save})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"version": Gate.objects.count()}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        given = form.cleaned_data
        gate, obj.text = gates.issue(
            given["team"],
            name=given["name"],
            agents=given["agents"],
            by=actor(request),
            expires_at=given["expires_at"],
            at=database_now(),
        )
        obj.pk = gate.pk

    def save_related(self, *args: Any) -> None:
        """Does nothing, because `gates.issue` has stored the agents."""

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"Gate key of {obj}",
            "opts": self.opts,
            "gate": obj,
            "text": obj.text,
        }
        response = TemplateResponse(request, "admin/accounts/gate/shown_once.html", context)
        response["Cache-Control"] = "no-store"
        return response

    # Revoking -------------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        revoke = self.admin_site.admin_view(self.revoke)
        return [
            path("<uuid:gate_id>/revoke/", revoke, name="accounts_gate_revoke"),
            *super().get_urls(),
        ]

    def revoke(self, request: HttpRequest, gate_id: UUID) -> HttpResponse:
        gate = get_object_or_404(Gate, pk=gate_id)
        if not request.user.has_perms(["accounts.change_gate", "accounts.view_gate"]):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        gates.revoke(gate, by=actor(request), at=database_now())
        self.message_user(request, f"The key of {gate} was revoked. It no longer works.")
        return redirect("admin:accounts_gate_change", gate.pk)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        now: datetime = database_now()
        gate: Gate | None = kwargs.get("obj")
        context["is_usable"] = gate is not None and gate.is_usable(now)
        return super().render_change_form(request, context, *args, **kwargs)
