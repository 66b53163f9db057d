"""The pages name browsers as people know them."""

from __future__ import annotations

import pytest

from accounts.sign_in.browsers.user_agents import in_words

LIKE = "AppleWebKit/537.36 (KHTML, like Gecko)"
CHROME = f"{LIKE} Chrome/142.0.0.0 Safari/537.36"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Edg/142.0.0.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME}", "Chrome on Windows"),
        (f"{MAC} {CHROME} OPR/124.0.0.0", "Opera on macOS"),
        (
            f"{MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
            "Safari on macOS",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {CHROME}", "Chrome on ChromeOS"),
        (
            f"Mozilla/5.0 (Linux; Android 10; K) {LIKE} SamsungBrowser/28.0 Chrome/130.0.0.0 "
            "Mobile Safari/537.36",
            "Samsung Internet on Android",
        ),
        (
            "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 "
            "(KHTML, like Gecko) CriOS/142.0.0.0 Mobile/15E148 Safari/604.1",
            "Chrome on an iPad",
        ),
        ("curl/8.14", "A browser"),
        ("<b>x</b>" * 1000, "A browser"),
        ("", "A browser"),
    ],
)
def test_a_user_agent_is_described_in_words(user_agent: str, words: str) -> None:
    assert in_words(user_agent) == words
