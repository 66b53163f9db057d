"""Shows people, teams, keys and the audit in the admin. Agents are in accounts/admin/agents.py."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from accounts.admin.agents import key_state
from accounts.admin.audited import AuditedAdmin, AuditedInline, actor
from accounts.admin.forms import NewPersonForm, PersonForm
from accounts.admin.read_only import ReadOnlyAdmin
from accounts.models import ApiKey, AuditEvent, Membership, User
from accounts.people import deactivation
from accounts.sign_in.passwords.passwords import record_password_change
from database.clock import database_now

if TYPE_CHECKING:
    PasswordAdmin = UserAdmin[User]
else:
    PasswordAdmin = UserAdmin

EVENTS_LOOKED_AT = 5_000

admin.site.unregister(Group)  # permissions are on each person's own page, and in the audit


class MembershipInline(AuditedInline):
    model = Membership
    thing = "membership"
    fields = ("user", "role")
    autocomplete_fields = ("user",)


class OwnMembershipInline(MembershipInline):
    """Edits memberships on the page of the person."""

    fields = ("team", "role")
    autocomplete_fields = ("team",)


@admin.register(User)
class PersonAdmin(AuditedAdmin, PasswordAdmin):
    thing = "person"
    form = PersonForm
    add_form = NewPersonForm
    add_form_template = "admin/change_form.html"
    inlines = [OwnMembershipInline]
    fieldsets = (
        (None, {"fields": ("email", "display_name", "time_zone", "password_link")}),
        ("Admin access", {"fields": ("is_active", "is_staff", "is_superuser", "user_permissions")}),
        ("When", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "display_name", "password1", "password2")}),)
    filter_horizontal = ("user_permissions",)
    list_display = ("email", "display_name", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email", "display_name")
    ordering = ("email",)

    def get_inlines(self, request: HttpRequest, obj: User | None) -> Any:
        return self.inlines if obj else []

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Allows only a superuser to grant rights."""
        always = ("password_link", "last_login", "date_joined")
        rights = ("is_staff", "is_superuser", "user_permissions")
        return always if _is_superuser(request) else (*always, *rights)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Allows only a superuser to change a superuser or set their password."""
        return super().has_change_permission(request, obj) and may_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_change(request, obj)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        """Deactivates and reactivates a person by the verbs, which also end what acted in the
        person's name."""
        is_switched = change and "is_active" in form.changed_data
        wanted = obj.is_active
        if is_switched:
            obj.is_active = not wanted
            form.changed_data.remove("is_active")
        super().save_model(request, obj, form, change)
        if is_switched and wanted:
            deactivation.reactivate(obj, by=actor(request), at=database_now())
        elif is_switched:
            self._deactivate(request, obj)

    def _deactivate(self, request: HttpRequest, user: User) -> None:
        for team in deactivation.deactivate(user, by=actor(request), at=database_now()):
            self.message_user(
                request,
                f"No owner of “{team}” can sign in any more. Make another member an owner.",
                messages.WARNING,
            )

    @admin.display(description="password")
    def password_link(self, user: User) -> str:
        """Shows a link, but no part of the hash."""
        return format_html(
            '<a href="{}">{}</a>',
            reverse("admin:auth_user_password_change", args=[user.pk]),
            "Change password" if user.has_usable_password() else "Not set. Set a password",
        )

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        with transaction.atomic():
            response = super().user_change_password(request, id, form_url)
            if isinstance(response, HttpResponseRedirect):
                record_password_change(User.objects.get(pk=id), by=actor(request))
        return response


def _is_superuser(request: HttpRequest) -> bool:
    return cast(User, request.user).is_superuser


def may_change(request: HttpRequest, person: User | None) -> bool:
    return person is None or not person.is_superuser or _is_superuser(request)


class TeamAdmin(AuditedAdmin):
    """Shows a team with its members. wake/admin.py adds callback hosts, and registers it."""

    thing = "team"
    fields = ("name", "slug")
    inlines: ClassVar[Any] = [MembershipInline]
    list_display = ("name", "slug", "created_at")
    search_fields = ("name", "slug")
    ordering = ("name",)

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return {} if obj else {"slug": ("name",)}


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Shows each API key with its agent. Keys are issued, rotated and revoked on the page of the
    agent. Connected clients have a page of their own (accounts/admin/clients.py)."""

    fields = ("hint", "agent", "mode", "state", "created_at", "issued_by", "last_used_at")
    list_display = ("hint", "agent", "team", "mode", "state", "created_at", "last_used_at")
    list_select_related = ("agent__team",)
    list_filter = ("mode", ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("hint", "agent__agent_id", "agent__team__name")
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        return super().get_queryset(request).filter(grant__isnull=True)

    @admin.display(ordering="agent__team__name")
    def team(self, key: ApiKey) -> str:
        return key.agent.team.name

    def state(self, key: ApiKey) -> str:
        return key_state(key, database_now())


class RecentEvents(admin.SimpleListFilter):
    title = "event"
    parameter_name = "event"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Returns the names of the events in the newest rows. Looking at all rows would scan the
        whole table."""
        newest = AuditEvent.objects.order_by("-pk").values_list("event", flat=True)
        return [(event, event) for event in sorted(set(newest[:EVENTS_LOOKED_AT]))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(event=self.value()) if self.value() else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    fields = (
        "at",
        "event",
        ("actor_kind", "actor_name", "actor_id"),
        "address",
        ("object_kind", "object_name", "object_id"),
        "team_id",
        "details",
    )
    list_display = ("at", "event", "actor_name", "object_name", "address")
    list_filter = (RecentEvents,)
    search_fields = ("event", "actor_name", "object_name", "object_id")
    ordering = ("-pk",)

    def details(self, event: AuditEvent) -> str:
        return json.dumps(event.detail, indent=1, ensure_ascii=False)
