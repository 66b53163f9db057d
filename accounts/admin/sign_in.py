"""Redirects the admin's sign-in, sign-out and password pages to Wake's own."""

from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse


def sign_in(request: HttpRequest) -> HttpResponse:
    """Redirects to /login/, which counts and records attempts. Answers 404 to a signed-in person
    who may not enter the admin. Redirects an administrator who lacks a required second factor to
    its set-up page."""
    if admin.site.has_permission(request):
        return redirect("admin:index")
    # Wake's site also demands the second factor (accounts/sign_in/two_step/admin_site.py).
    # Django's does not.
    if AdminSite.has_permission(admin.site, request):
        return redirect("settings-second-factor")
    if request.user.is_authenticated:
        raise Http404
    wanted = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
    return redirect_to_login(wanted, settings.LOGIN_URL)


def sign_out(request: HttpRequest) -> HttpResponse:
    return redirect("logout", preserve_request=True)


def change_password(request: HttpRequest) -> HttpResponse:
    return redirect("settings-profile")


urlpatterns = [
    path("login/", sign_in),
    path("logout/", sign_out),
    path("password_change/", admin.site.admin_view(change_password)),
]
