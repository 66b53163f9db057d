"""Routes the pages about retention."""

from django.urls import path

from inbox.history.retention import views

urlpatterns = [
    path("settings/retention/", views.retention_settings, name="settings-retention"),
    path(
        "settings/retention/<slug:slug>/keep",
        views.change_retention,
        name="settings-retention-keep",
    ),
]
