"""Lists passkeys in the admin. An operator can remove one, but cannot add or change one."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from accounts.admin.audited import actor
from accounts.admin.people import may_change
from accounts.admin.read_only import ReadOnlyAdmin
from accounts.models import Passkey
from accounts.sign_in.passkeys import registration
from database.clock import database_now


@admin.register(Passkey)
class PasskeyAdmin(ReadOnlyAdmin):
    fields = ("user", "name", "transports", "is_backed_up", "created_at", "last_used_at")
    list_display = ("name", "user", "is_backed_up", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__email", "user__display_name")
    ordering = ("-created_at",)

    def has_delete_permission(self, request: HttpRequest, obj: Passkey | None = None) -> bool:
        """Allows only a superuser to remove a superuser's passkey."""
        may_delete = request.user.has_perm("accounts.delete_passkey")
        return may_delete and may_change(request, obj.user if obj else None)

    def delete_model(self, request: HttpRequest, obj: Passkey) -> None:
        registration.remove(obj, by=actor(request), at=database_now())
