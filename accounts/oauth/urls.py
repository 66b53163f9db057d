"""Routes the authorization server. The names are those of django-oauth-toolkit, whose views look
the paths up by them."""

from django.urls import include, path

from accounts.oauth import metadata_views, token_views
from accounts.oauth.device import code_views, pages
from accounts.oauth.pages import consent_views
from accounts.oauth.registration import views as registration

_named = [
    path("oauth/authorize", consent_views.authorize, name="authorize"),
    path("oauth/token", token_views.ClientTokenView.as_view(), name="token"),
    path("oauth/revoke", token_views.ClientRevocationView.as_view(), name="revoke-token"),
    path("oauth/register", registration.RegistrationView.as_view(), name="dcr-register"),
    path(
        "oauth/register/<str:client_id>",
        registration.RegistrationManagementView.as_view(),
        name="dcr-register-management",
    ),
]

urlpatterns = [
    path("", include((_named, "oauth2_provider"))),
    path("oauth/device", code_views.device_codes, name="device-codes"),
    path("device/", pages.connect_terminal, name="connect-terminal"),
    path(
        ".well-known/oauth-authorization-server/oauth",
        metadata_views.authorization_server,
        name="authorization-server",
    ),
    path(
        ".well-known/oauth-protected-resource/mcp/people",
        metadata_views.protected_resource,
        name="protected-resource",
    ),
]
