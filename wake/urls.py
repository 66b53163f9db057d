"""Every URL of the server; the protocol's with and without a trailing slash, never by redirect."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.urls import URLPattern, include, path, re_path

from wake import health, views


def either(route: str, view: Callable[..., Any]) -> list[URLPattern]:
    return [path(route, view), path(f"{route}/", view)]


urlpatterns = [
    *either("wake/v1", views.CapabilitiesView.as_view()),
    *either("wake/v1/deliver", views.DeliverView.as_view()),
    *either("wake/v1/response/<str:delivery_id>", views.ResponseView.as_view()),
    *either("wake/v1/responses", views.ResponsesView.as_view()),
    *either("wake/v1/openapi.json", views.OpenApiView.as_view()),
    *either("wake/v1/schema.json", views.JsonSchemaView.as_view()),
    re_path(r"^wake(?:/.*)?$", views.nothing_here),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", include("accounts.admin_doors")),
    path("admin/", admin.site.urls),
    path("", include("relay.urls")),
    path("", include("relay.page_urls")),
    path("", include("inbox.urls")),
]

handler400 = "wake.errors.bad_request"
handler404 = "wake.errors.not_found"
handler500 = "wake.errors.server_error"
