"""Routes every URL of the server."""

from django.contrib import admin
from django.urls import include, path

from wake.server import csp_reports, key_set
from wake.server.health import views as health

urlpatterns = [
    path("@", include("relay.agent_urls")),
    path("", include("wake.api.urls")),
    path("", include("wake.mcp.urls")),
    path("csp-reports", csp_reports.csp_reports),
    path(".well-known/wake-keys.json", key_set.key_set),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", include("accounts.admin.sign_in")),
    path("admin/", admin.site.urls),
    path("", include("relay.urls")),
    path("", include("relay.pages.urls")),
    path("", include("inbox.urls")),
    path("", include("accounts.urls")),
    path("", include("inbox.moved_paths")),
]

handler400 = "wake.server.http.error_handlers.bad_request"
handler404 = "wake.server.http.error_handlers.not_found"
handler500 = "wake.server.http.error_handlers.server_error"
