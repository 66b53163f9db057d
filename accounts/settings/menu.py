"""Lists the settings pages about people and teams for the menu of the settings
(pages/settings.py)."""

from pages.settings import OWN, TEAMS, SettingsPage

ENTRIES = [
    SettingsPage(
        OWN, 10, "Profile", "settings-profile", also=("settings-address", "settings-password")
    ),
    SettingsPage(OWN, 20, "Security", "settings-security"),
    SettingsPage(OWN, 90, "Absence", "settings-absence"),
    SettingsPage(TEAMS, 10, "Teams", "settings-teams"),
    SettingsPage(TEAMS, 20, "Members", "settings-members"),
]
