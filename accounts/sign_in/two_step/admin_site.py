"""Opens Django's admin for administrators who have the second factor that one of their teams
requires."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest

from accounts.sign_in.two_step.owed_factor import is_owed


class Site(AdminSite):
    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and not is_owed(request)


class WithSecondFactor(AdminConfig):
    default_site = "accounts.sign_in.two_step.admin_site.Site"
