"""Shows the pages that belong to no feature: palette, help and the installed app. Adds entries to
the settings."""
