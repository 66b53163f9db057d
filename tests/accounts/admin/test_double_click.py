"""A double click on the button that shows a key issues one key only."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.urls import reverse

from accounts.models import Agent, ApiKey, User
from tests.fixtures.strict_client import Client

HANDS = 6


@pytest.mark.django_db(transaction=True)
def test_six_clicks_at_once_issue_and_show_one_key(olga: User, agent: Agent) -> None:
    browser = Client()
    browser.force_login(olga)
    cookie = browser.cookies["sessionid"].value
    form = {"version": f"{agent.keys.count()}-{agent.signing_secrets.count()}", "mode": "live"}

    together = Barrier(HANDS)

    def click(_: int) -> int:
        try:
            hand = Client()
            hand.cookies["sessionid"] = cookie
            hand.get(reverse("admin:accounts_agent_change", args=[agent.pk]))
            together.wait(timeout=30)
            answer = hand.post(reverse("admin:accounts_agent_issue_key", args=[agent.pk]), form)
            return answer.status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(HANDS) as pool:
        answers = Counter(pool.map(click, range(HANDS)))

    assert answers == {200: 1, 410: HANDS - 1}
    assert ApiKey.objects.count() == 1
