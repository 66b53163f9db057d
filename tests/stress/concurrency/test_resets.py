"""Two who hold the same mailed link."""

from __future__ import annotations

from django.test import Client

from accounts.models import AuditEvent, User
from inbox import password_resets
from tests.concurrency.conftest import at_once, patiently
from tests.inbox.test_password_reset import ask, choose, open_link


def test_only_one_of_two_sets_the_password(alice: User) -> None:
    ask(Client())
    password_resets.send_due()
    browsers = [(client := Client(), open_link(client)) for _ in range(2)]

    answers = at_once(
        *(
            lambda client=client, path=path, new=f"pair of words {number}": patiently(
                lambda: choose(client, path, new, new)
            )
            for number, (client, path) in enumerate(browsers)
        )
    )

    assert sorted(answer.status_code for answer in answers) == [303, 410]
    assert AuditEvent.objects.filter(event="person.password_set").count() == 1
