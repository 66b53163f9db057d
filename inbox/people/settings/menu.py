"""Lists the settings pages of the inbox for the menu of the settings (pages/settings.py)."""

from pages.settings import OWN, TEAMS, SettingsPage

ENTRIES = [
    SettingsPage(OWN, 30, "Theme", "settings-theme"),
    SettingsPage(OWN, 40, "After you answer", "settings-answering"),
    SettingsPage(OWN, 50, "Keyboard shortcuts", "settings-keyboard"),
    SettingsPage(OWN, 60, "Digest", "settings-digest"),
    SettingsPage(OWN, 70, "Quiet hours", "settings-quiet-hours"),
    SettingsPage(OWN, 80, "Notifications", "settings-notifications"),
    SettingsPage(OWN, 100, "Saved replies", "settings-saved-replies"),
    SettingsPage(OWN, 110, "Your data", "settings-data"),
    SettingsPage(TEAMS, 30, "Rules", "settings-rules"),
    SettingsPage(TEAMS, 40, "Callback hosts", "settings-allowlist"),
    SettingsPage(TEAMS, 50, "Retention", "settings-retention"),
]
