"""Browsers in the words of people, from what they send as their User-Agent (RFC 9110, 10.1.5)."""

from __future__ import annotations

# Each pretends to be most of those below it, so the first that fits is the one.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "iPhone": "an iPhone",
    "iPad": "an iPad",
    "Android": "Android",
    "CrOS": "ChromeOS",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}


def in_words(user_agent: str) -> str:
    """`Firefox on Windows`; whoever says something else may be anything."""
    browser = _first(BROWSERS, user_agent) or "A browser"
    system = _first(SYSTEMS, user_agent)
    return f"{browser} on {system}" if system else browser


def _first(known: dict[str, str], user_agent: str) -> str:
    return next((words for mark, words in known.items() if mark in user_agent), "")
