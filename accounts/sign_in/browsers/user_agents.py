"""Names browsers for people, by their User-Agent header (RFC 9110, 10.1.5)."""

from __future__ import annotations

# Each browser also sends most of the names that follow its own in this list, so the first match is
# right.
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
    """Returns a name such as `Firefox on Windows`. Clients can send any User-Agent they like."""
    browser = _first(BROWSERS, user_agent) or "A browser"
    system = _first(SYSTEMS, user_agent)
    return f"{browser} on {system}" if system else browser


def _first(known: dict[str, str], user_agent: str) -> str:
    return next((words for mark, words in known.items() if mark in user_agent), "")
