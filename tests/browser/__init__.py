"""Opens the pages in a real Chromium; a package, so that one Chromium serves all of its tests."""
