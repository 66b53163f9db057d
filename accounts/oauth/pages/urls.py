"""Routes the settings pages about clients."""

from django.urls import path

from accounts.oauth.pages import own_clients, policy_views

urlpatterns = [
    path("settings/clients/", policy_views.client_settings, name="settings-clients"),
    path(
        "settings/clients/<slug:slug>/", policy_views.change_policy, name="settings-client-policy"
    ),
    path(
        "settings/security/clients/<uuid:pk>/end/",
        own_clients.end_own_client,
        name="settings-client-end",
    ),
]
