"""Routes the pages that belong to no feature."""

from django.urls import path

from inbox.pages import go, help, install
from inbox.pages.server.views import server

urlpatterns = [
    path("go/", go.go, name="go"),
    path("manifest.webmanifest", install.manifest, name="manifest"),
    path("offline/", install.offline, name="offline"),
    path("service-worker.js", install.service_worker, name="service-worker"),
    path("help/keyboard-shortcuts", help.keyboard_help, name="keyboard-help"),
    path("settings/server/", server, name="settings-server"),
]
