"""Lets people install Wake as an app: its manifest, and a page for use without a connection.

The service worker stores only that page and its styles, and no content of agents, because devices
are shared and content is erased after its retention.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

BRAND, PAPER = "#1F5F6B", "#FBFAF7"
ICON = "img/icon-192.png"
KEPT_FILES = ("css/app.css", "css/outside-inbox.css", "img/wake.svg")
one_hour = cache_control(max_age=3600)


@require_safe
@one_hour
def manifest(request: HttpRequest) -> HttpResponse:
    """Returns the web app manifest (W3C, Web Application Manifest)."""
    content = {
        "name": "Wake",
        "short_name": "Wake",
        "description": "The inbox where you answer your AI agents.",
        "id": "/",
        "start_url": reverse("inbox"),
        "scope": "/",
        "display": "standalone",
        "background_color": PAPER,
        "theme_color": BRAND,
        "icons": [
            _icon("img/wake.svg", "any", "image/svg+xml"),
            _icon(ICON, "192x192"),
            _icon("img/icon-512.png", "512x512"),
            {**_icon("img/icon-maskable-512.png", "512x512"), "purpose": "maskable"},
        ],
        "shortcuts": [
            {"name": "History", "url": reverse("history")},
            {"name": "Snoozed", "url": reverse("snoozed")},
        ],
    }
    return JsonResponse(content, content_type="application/manifest+json")


@require_safe
@one_hour
def offline(request: HttpRequest) -> HttpResponse:
    """Shows the same page to everyone, because the service worker stores it."""
    return render(request, "inbox/pages/offline.html")


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """Returns the script. A new release changes the names of the files that the script lists, so
    the script changes too."""
    files = [static(name) for name in KEPT_FILES]
    context = {
        "page": reverse("offline"),
        "files": files,
        "inbox": reverse("inbox"),
        "icon": static(ICON),
        "renewal": reverse("settings-browser-renewal"),
    }
    script = "inbox/pages/service_worker.js"
    response = render(request, script, context, content_type="text/javascript")
    response["Cache-Control"] = "no-cache"
    return response


def _icon(path: str, sizes: str, type: str = "image/png") -> dict[str, Any]:
    return {"src": static(path), "sizes": sizes, "type": type}
