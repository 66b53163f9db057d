"""Routes the settings of notifications, and the presses of buttons in Slack."""

from django.urls import path

from inbox.notifications import browser_views
from inbox.notifications.channels import channel_views
from inbox.notifications.channels import views as channel_list_views
from inbox.notifications.slack import views as slack_views

urlpatterns = [
    path("slack/interactions", slack_views.slack_interactions, name="slack-interactions"),
    path(
        "settings/notifications/",
        channel_list_views.notification_settings,
        name="settings-notifications",
    ),
    path(
        "settings/notifications/add/",
        channel_list_views.add_channel,
        name="settings-channel-new",
    ),
    path("settings/notifications/browser/", browser_views.add_browser, name="settings-browser-new"),
    path(
        "settings/notifications/browser/renewal",
        browser_views.renewal,
        name="settings-browser-renewal",
    ),
    path(
        "settings/notifications/teams/<slug:slug>/add/",
        channel_list_views.add_team_channel,
        name="settings-team-channel-new",
    ),
    path(
        "settings/notifications/<uuid:pk>/",
        channel_views.channel,
        name="settings-channel",
    ),
    path(
        "settings/notifications/<uuid:pk>/code",
        channel_views.send_code,
        name="settings-channel-code",
    ),
    path(
        "settings/notifications/<uuid:pk>/test",
        channel_views.send_test,
        name="settings-channel-test",
    ),
    path(
        "settings/notifications/<uuid:pk>/remove",
        channel_views.remove_channel,
        name="settings-channel-remove",
    ),
]
