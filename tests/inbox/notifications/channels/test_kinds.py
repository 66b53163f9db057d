"""Each kind of channel has its own format, and a message contains no markup and no link of an
agent."""

from __future__ import annotations

from datetime import timedelta
from email import message_from_string, policy
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.models import User
from inbox.models import Channel
from inbox.notifications.channels import recording, sending
from inbox.notifications.channels.kinds import addresses
from inbox.notifications.channels.kinds.kind import BadAddress
from inbox.notifications.channels.kinds.registry import KINDS
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery
from tests.wake.callbacks.receiver import Received, Receiver
from tests.wake.callbacks.sending import FakeDns
from wake.callbacks.http_client import HttpClient

NINE = utc("2026-11-02 09:00")
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
HOSTILE = "<!channel> <https://evil.example|Click> *bold* [x](https://evil.example) @everyone"


@pytest.fixture
def one_sent(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> Any:
    """Sends one delivery through a channel of the kind, and returns what arrived."""

    def send(kind: str, headline: str = "Ship 2.4?", **fields: Any) -> Received:
        make_channel(bob, at=NINE - HOUR, kind=kind, **fields)
        make_delivery(at=NINE, headline=headline, timeout_seconds=7_200)
        assert work(NINE + MINUTE) == 1
        return inbox_of_chat.received[0]

    return send


def test_slack_gets_plain_text_and_a_button(one_sent: Any) -> None:
    content = one_sent("slack_webhook", HOSTILE).json

    text, actions = content["blocks"]
    assert text["text"]["type"] == "plain_text"
    assert HOSTILE in text["text"]["text"]
    assert "(the deadline is at 11:00)" in text["text"]["text"]
    assert content["text"] == "research-agent-01 needs an answer"
    assert actions["elements"][0]["url"].startswith("http://127.0.0.1:8000/deliveries/")


def test_teams_gets_a_card_without_markdown_of_an_agent(one_sent: Any) -> None:
    content = one_sent("teams", HOSTILE).json

    (attachment,) = content["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    title, line = attachment["content"]["body"]
    assert title["text"] == r"research\-agent\-01 needs an answer"
    assert r"\[x\]\(https://evil\.example\)" in line["text"]
    assert attachment["content"]["actions"][0]["type"] == "Action.OpenUrl"


def test_ntfy_gets_json_at_its_root_with_the_token(one_sent: Any) -> None:
    request = one_sent("ntfy", "Grüße", path="my-topic", secret="tk_abc")

    assert request.path == "/"
    assert request.headers["Authorization"] == "Bearer tk_abc"
    content = request.json
    assert content["topic"] == "my-topic"
    assert content["title"] == "research-agent-01 needs an answer"
    assert content["message"] == "Grüße (the deadline is at 11:00)"
    assert content["click"].startswith("http://127.0.0.1:8000/deliveries/")


@pytest.fixture
def six_sent(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> Any:
    """Sends six deliveries whose headlines become eight times as long when their invisible
    characters are named."""

    def send(kind: str) -> Received:
        make_channel(bob, at=NINE - HOUR, kind=kind)
        for number in range(6):
            make_delivery(at=NINE, headline=str(number) + ("\u202e\u200b" * 9 + "x") * 6)
        assert work(NINE + MINUTE) == 1
        return inbox_of_chat.received[0]

    return send


def test_slack_gets_no_more_than_it_takes(six_sent: Any) -> None:
    text = six_sent("slack_webhook").json["blocks"][0]["text"]["text"]

    assert len(text) <= 3_000
    assert text.endswith("\nand 1 more")


def test_ntfy_gets_no_more_than_it_takes(six_sent: Any) -> None:
    request = six_sent("ntfy")

    assert len(request.json["message"].encode()) <= 4_096
    assert len(request.body) <= 8_192


def test_teams_gets_no_more_than_it_takes(six_sent: Any) -> None:
    assert len(six_sent("teams").body) <= 28_000


def test_mail_arrives_at_the_address_that_the_person_has_now(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, letters: list[str]
) -> None:
    make_channel(bob, at=NINE - HOUR, kind="email", address="")
    make_delivery(at=NINE, headline="Look at evil.example — https://evil.example")
    User.objects.filter(pk=bob.pk).update(email="bob@new.example.com")

    assert work(NINE + MINUTE) == 1

    letter = message_from_string(letters[0], policy=policy.default)
    assert letter["To"] == "bob@new.example.com"
    assert letter["Subject"] == "Wake: research-agent-01 needs an answer"
    body = letter.get_content()
    assert "evil[.]example" in body
    assert "https://evil" not in body
    assert "http://127.0.0.1:8000/deliveries/" in body


def test_a_mail_server_that_is_away_is_said_in_plain_words(
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    letters: list[str],
    settings: Any,
) -> None:
    make_channel(bob, at=NINE - HOUR, kind="email", address="")
    make_delivery(at=NINE)
    settings.EMAIL_PORT = 1

    assert work(NINE + MINUTE) == 0
    assert Channel.objects.get().error == "Not sent: the mail server does not answer."


def test_a_server_without_mail_says_so(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, settings: Any
) -> None:
    settings.WAKE_SENDS_MAIL = False
    make_channel(bob, at=NINE - HOUR, kind="email", address="")
    make_delivery(at=NINE)

    assert work(NINE + MINUTE) == 0
    assert Channel.objects.get().error == "Not sent: this server can't send e-mail."


@pytest.mark.parametrize(
    ("kind", "typed", "stored"),
    [
        ("ntfy", "my-topic", "https://ntfy.sh/my-topic"),
        ("ntfy", " https://ntfy.example.com/t ", "https://ntfy.example.com/t"),
        ("slack_webhook", "https://hooks.slack.com/services/T/B/x", None),
        ("teams", "https://prod-1.westeurope.logic.azure.com:443/workflows/1?sig=x", None),
        ("teams", "https://a.b.environment.api.powerplatform.com/powerautomate/x?sig=1", None),
        ("webhook", "https://example.com/hook", None),
    ],
)
def test_an_address_is_stored_as_it_was_typed(kind: str, typed: str, stored: str | None) -> None:
    assert KINDS[kind].check(typed) == (stored or typed)


@pytest.mark.parametrize(
    ("kind", "typed", "reason"),
    [
        ("slack_webhook", "https://hooks.slack.com.evil.example/x", "Enter a URL of"),
        ("slack_webhook", "https://evil.example/hooks.slack.com", "Enter a URL of"),
        ("teams", "https://logic.azure.com.evil.example/", "Enter a URL of"),
        ("webhook", "http://example.com/", "begins with https"),
        ("webhook", "https://10.0.0.1/", "not with an IP address"),
        ("webhook", "https://user:word@example.com/", "user name"),
        ("webhook", "gopher://example.com/", "begins with https"),
        ("webhook", "https://exa mple.com/", "without spaces"),
        ("webhook", f"https://example.com/{'x' * 2_000}", "at most"),
        ("ntfy", "https://ntfy.sh/", "Enter a topic"),
    ],
)
def test_a_bad_address_is_refused_with_a_reason(kind: str, typed: str, reason: str) -> None:
    with pytest.raises(BadAddress, match=reason):
        KINDS[kind].check(typed)


@pytest.mark.parametrize(
    ("kind", "address", "shown"),
    [
        ("webhook", "https://example.com/hooks/0123456789abcdef", "example.com/…cdef"),
        ("webhook", "https://example.com/short", "example.com/…"),
        ("ntfy", "https://ntfy.sh/my-topic", "ntfy.sh/…"),
    ],
)
def test_addresses_are_masked(kind: str, address: str, shown: str) -> None:
    assert KINDS[kind].mask(address) == shown


def test_a_host_that_the_operator_trusts_may_be_asked_without_tls(settings: Any) -> None:
    settings.WAKE_NOTIFICATION_HOSTS = {"ntfy.lan", "hooks.lan:8443"}

    assert KINDS["ntfy"].check("http://ntfy.lan:8080/alerts") == "http://ntfy.lan:8080/alerts"
    assert KINDS["slack_webhook"].check("https://hooks.lan:8443/x")
    with pytest.raises(BadAddress):
        KINDS["webhook"].check("http://hooks.lan:9000/x")


@pytest.mark.parametrize(("trusted", "arrives"), [(set(), False), ({"ntfy.lan"}, True)])
def test_a_private_address_is_refused_unless_its_host_is_trusted(
    trusted: set[str],
    arrives: bool,
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
    settings: Any,
) -> None:
    settings.WAKE_NOTIFICATION_HOSTS = trusted
    scheme = "http" if trusted else "https"
    make_channel(bob, at=NINE - HOUR, address=f"{scheme}://ntfy.lan:{inbox_of_chat.port}/hook")
    make_delivery(at=NINE)
    recording.record_new(at=NINE + MINUTE)

    def client() -> HttpClient:
        return HttpClient(dns=FakeDns(["127.0.0.1"]), trusted=addresses.trusted())

    sent = sending.send_due(clock=lambda: NINE + MINUTE, client=client)

    assert bool(sent) is arrives
    assert len(inbox_of_chat.received) == sent
    if not arrives:
        assert "private or reserved address" in Channel.objects.get().error


def test_the_address_is_encrypted_although_content_is_not(
    bob: User, make_channel: MakeChannel, settings: Any
) -> None:
    channel = make_channel(bob, at=NINE, address="https://example.com/secret-path", secret="tk")

    assert not settings.WAKE_ENCRYPT_CONTENT
    with connection.cursor() as cursor:
        cursor.execute("SELECT address, secret FROM inbox_channel")
        ((address, secret),) = cursor.fetchall()
    assert address.startswith("\x01fernet:")
    assert secret.startswith("\x01fernet:")
    channel.refresh_from_db()
    channel.save()
    assert Channel.objects.get().address == "https://example.com/secret-path"


@pytest.mark.parametrize("words", [[], ["--decrypt"]])
def test_a_rotation_of_keys_keeps_the_address_encrypted(
    words: list[str], bob: User, make_channel: MakeChannel, settings: Any
) -> None:
    make_channel(bob, at=NINE, address="https://example.com/secret-path")
    settings.WAKE_ENCRYPTION_KEYS = ["a-new-key", *settings.WAKE_ENCRYPTION_KEYS]

    call_command("rotate_encryption", *words, stdout=StringIO())

    settings.WAKE_ENCRYPTION_KEYS = ["a-new-key"]
    assert Channel.objects.get().address == "https://example.com/secret-path"
    with connection.cursor() as cursor:
        cursor.execute("SELECT address FROM inbox_channel")
        ((address,),) = cursor.fetchall()
    assert address.startswith("\x01fernet:")
