"""Records every change on the admin's pages in the audit, with the person who made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.audit import Actor, person, record
from accounts.limits.throttles import client_address
from accounts.models import ClaimedId, Membership, Team, User

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline


class AuditedInline(TabularInline):
    """Edits rows on the page of their object, with events like `membership.added`."""

    thing: str
    added = "added"
    extra = 0


class AuditedAdmin(ModelAdmin):
    """Records changes. `thing` is the first part of the events: `team.added`, `team.changed`,
    `team.removed`."""

    thing: str
    actions = None  # rows are not deleted in bulk

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        super().save_model(request, obj, form, change)
        if not change:
            self.audit(request, "added", obj)
        elif form.changed_data:
            self.audit(request, "changed", obj, **_values(form))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        """Saves the rows one by one, because the audit needs each row's id, which a deleted row has
        lost."""
        inline_class = next(cls for cls in self.inlines if cls.model is formset.model)
        inline = cast(type[AuditedInline], inline_class)
        formset.save(commit=False)
        for row in formset.deleted_objects:
            self.audit(request, "removed", row, thing=inline.thing)
            row.delete()
        for row in formset.new_objects:
            row.save()
            self.audit(request, inline.added, row, thing=inline.thing)
        for row, _ in formset.changed_objects:
            row.save()
            self.audit(request, "changed", row, thing=inline.thing)
        formset.save_m2m()

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.audit(request, "removed", obj)
        super().delete_model(request, obj)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Gives the reason immediately if an object cannot be deleted. Django would list every row
        that protects the object, and there may be a million."""
        obj = self.get_object(request, object_id)
        held_by = obj and what_holds(obj)
        if held_by and self.has_delete_permission(request, obj):
            messages.error(request, f"“{obj}” cannot be deleted: it has {held_by}, which stay.")
            meta = self.opts
            return redirect(f"admin:{meta.app_label}_{meta.model_name}_change", object_id)
        return super().delete_view(request, object_id, extra_context)

    def audit(
        self, request: HttpRequest, happened: str, of: models.Model, thing: str = "", **detail: Any
    ) -> None:
        event = f"{thing or self.thing}.{happened}"
        if isinstance(of, Membership):
            detail |= {"role": of.role, "person": of.user_id}
        record(event, by=actor(request), of=of, team=_team_id(of), **detail)


def actor(request: HttpRequest) -> Actor:
    """Returns the signed-in person, with their network address."""
    return person(cast(User, request.user), client_address(request))


def what_holds(obj: models.Model) -> str | None:
    """Returns, in the plural, the name of the first kind of rows that protect this row from
    deletion, or None if there are none."""
    for relation in obj._meta.related_objects:
        if relation.on_delete is models.PROTECT:
            rows = relation.related_model._base_manager.filter(**{relation.field.name: obj})
            if rows.exists():
                return str(relation.related_model._meta.verbose_name_plural)
    return None


def _team_id(of: models.Model) -> int | None:
    match of:
        case Team():
            return of.pk
        case ClaimedId():
            return of.agent.team_id
        case _:
            return getattr(of, "team_id", None)


def _values(form: Any) -> dict[str, Any]:
    """Returns the new value of each changed field. Passwords have a separate form and are never
    included."""
    return {name: _plain(form.cleaned_data[name]) for name in form.changed_data}


def _plain(value: Any) -> Any:
    return [str(row) for row in value] if isinstance(value, models.QuerySet) else value
