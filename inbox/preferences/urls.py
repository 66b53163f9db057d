"""Routes the pages on which people set how the inbox works for them."""

from django.urls import path

from inbox.preferences import views

urlpatterns = [
    path("settings/keyboard-shortcuts/", views.keyboard_settings, name="settings-keyboard"),
    path("settings/answering/", views.answering_settings, name="settings-answering"),
    path("settings/theme/", views.theme_settings, name="settings-theme"),
    path("settings/digest/", views.digest_settings, name="settings-digest"),
    path("settings/quiet-hours/", views.quiet_hours_settings, name="settings-quiet-hours"),
]
