"""Routes the pages of accounts, the log, OAuth and SCIM."""

from django.urls import include, path

urlpatterns = [
    path("", include("accounts.sign_in.urls")),
    path("", include("accounts.people.urls")),
    path("", include("accounts.teams.urls")),
    path("", include("accounts.log.urls")),
    path("", include("accounts.oauth.urls")),
    path("", include("accounts.scim.urls")),
    path("", include("accounts.oauth.pages.urls")),
]
