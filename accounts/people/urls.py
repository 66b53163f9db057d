"""Routes the pages on which people change what is theirs."""

from django.urls import path

from accounts.people import absence_views, overview_views, profile_views
from accounts.people.data import views as data_views

urlpatterns = [
    path("settings/", overview_views.settings_start, name="settings"),
    path("settings/profile/", profile_views.profile, name="settings-profile"),
    path("settings/password/", profile_views.password, name="settings-password"),
    path("settings/absence/", absence_views.absence_settings, name="settings-absence"),
    path("settings/data/", data_views.data_settings, name="settings-data"),
    path("settings/data/download", data_views.download_data, name="settings-data-download"),
    path("settings/data/remove/", data_views.remove_account, name="settings-data-remove"),
]
