"""Routes the pages of accounts, and the log."""

from django.urls import include, path

urlpatterns = [
    path("", include("accounts.sign_in.urls")),
    path("", include("accounts.people.urls")),
    path("", include("accounts.teams.urls")),
    path("", include("accounts.log.urls")),
]
