"""Tests the promises about what is in sight, as Chromium shows it."""
