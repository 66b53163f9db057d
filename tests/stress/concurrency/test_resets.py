"""A mailed link that two people use concurrently works once."""

from __future__ import annotations

from accounts.models import AuditEvent, User
from accounts.sign_in.passwords import resets as password_resets
from tests.accounts.sign_in.test_password_reset import ask, choose, open_link
from tests.fixtures.strict_client import Client
from tests.stress.concurrency.threads import at_once, retried


def test_only_one_of_two_sets_the_password(alice: User) -> None:
    ask(Client())
    password_resets.send_due()
    browsers = [(client := Client(), open_link(client)) for _ in range(2)]

    answers = at_once(
        *(
            lambda client=client, path=path, new=f"pair of words {number}": retried(
                lambda: choose(client, path, new, new)
            )
            for number, (client, path) in enumerate(browsers)
        )
    )

    assert sorted(answer.status_code for answer in answers) == [303, 410]
    assert AuditEvent.objects.filter(event="person.password_set").count() == 1
