"""Opens Django's admin for administrators who have the second factor that a team of theirs
requires."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest


class Site(AdminSite):
    def has_permission(self, request: HttpRequest) -> bool:
        owes = getattr(request.user, "owes_second_factor", False)  # second_factor.with_owed
        return super().has_permission(request) and not owes


class WithSecondFactor(AdminConfig):
    default_site = "accounts.admin_site.Site"
