"""Owners change the hosts that callbacks may go to. The other members can read the list of
hosts."""

from __future__ import annotations

import html
import re
import socket
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver

from accounts.models import AuditEvent, Membership, Team, User
from inbox.callbacks import allowlist_views
from inbox.callbacks.resume_urls import SERVICES
from tests.fixtures.occupied import occupied
from tests.types import SignedIn
from wake.callbacks import addresses, allowlist
from wake.models import CallbackHost

GARDEN = "/settings/allowlist/garden"
INPUT = re.compile(r'<input[^>]* name="pattern" value="([^"]+)"[^>]* maxlength')


def hosts(team: Team) -> set[str]:
    return set(team.callback_hosts.values_list("pattern", flat=True))


def test_an_owner_adds_a_host_in_its_canonical_form(
    alice: User, team: Team, signed_in: SignedIn
) -> None:
    page = signed_in(alice).post(
        f"{GARDEN}/allow", {"pattern": " Hooks.Example.COM. "}, follow=True
    )

    assert "Callbacks to hooks.example.com are now allowed." in page.content.decode()
    assert hosts(team) == {"hooks.example.com"}
    event = AuditEvent.objects.get(event="callback_host.allowed")
    assert (event.actor_name, event.object_name) == ("alice", "hooks.example.com")
    assert (event.team_id, event.address) == (team.pk, "127.0.0.1")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://hooks.example.com/wake?token=1#x", "hooks.example.com"),
        (" HTTPS://Hooks.Example.com ", "hooks.example.com"),
        ("https://hooks.example.com:8443/wake", "hooks.example.com:8443"),
        ("https://user:word@hooks.example.com/", "hooks.example.com"),
        ("https://good.example.com\\@hooks.example.com/", "good.example.com"),
    ],
)
def test_the_host_of_a_pasted_url_is_kept(
    url: str, host: str, alice: User, team: Team, signed_in: SignedIn
) -> None:
    signed_in(alice).post(f"{GARDEN}/allow", {"pattern": url})

    assert hosts(team) == {host}


def test_an_owner_removes_a_host(
    alice: User, team: Team, allowed_host: str, signed_in: SignedIn
) -> None:
    client = signed_in(alice)

    page = client.post(
        f"{GARDEN}/remove",
        {"pattern": allowed_host},
        follow=True,
        page=f"{GARDEN}/remove?pattern={allowed_host}",
    )

    assert "Callbacks to hooks.example.com are no longer allowed." in page.content.decode()
    assert hosts(team) == set()
    event = AuditEvent.objects.get(event="callback_host.removed")
    assert (event.actor_name, event.object_name, event.team_id) == ("alice", allowed_host, team.pk)
    assert client.post(f"{GARDEN}/remove", {"pattern": allowed_host}).status_code == 404


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("hooks.example.com/x", "Enter only the host"),
        ("https://10.0.0.1/x", "Callbacks go to names, not to IP addresses."),
        ("https://", "is not a host name"),
        ("10.0.0.1", "Callbacks go to names, not to IP addresses."),
        ("*.com", "is too broad"),
        ("hooks.example.com:port", "The port after the colon"),
        ("", "Enter a host, such as hooks.example.com."),
        ("x\x00y", "Null characters are not allowed."),
    ],
)
def test_an_invalid_host_is_refused_with_the_reason(
    pattern: str, words: str, alice: User, team: Team, signed_in: SignedIn
) -> None:
    page = signed_in(alice).post(f"{GARDEN}/allow", {"pattern": pattern})

    assert page.status_code == 422
    assert words in page.content.decode()
    assert hosts(team) == set()


@pytest.mark.parametrize("action", ["allow", "remove", "look-up"])
@pytest.mark.parametrize("role", ["bob", "rita"])
def test_only_owners_change_the_list_and_others_read_it(
    action: str,
    role: str,
    request: pytest.FixtureRequest,
    team: Team,
    allowed_host: str,
    signed_in: SignedIn,
) -> None:
    client = signed_in(request.getfixturevalue(role))

    page = client.get("/settings/allowlist/").content.decode()
    answer = client.post(f"{GARDEN}/{action}", {"pattern": allowed_host})

    assert f">{allowed_host}<" in page
    assert "Add host" not in page
    assert "Remove" not in page
    assert answer.status_code == 403
    assert hosts(team) == {allowed_host}


@pytest.mark.parametrize("action", ["allow", "remove", "look-up"])
def test_another_teams_list_is_a_404(
    action: str, mallory: User, team: Team, allowed_host: str, signed_in: SignedIn
) -> None:
    client = signed_in(mallory)

    assert f">{allowed_host}<" not in client.get("/settings/allowlist/").content.decode()
    assert client.post(f"{GARDEN}/{action}", {"pattern": allowed_host}).status_code == 404
    assert hosts(team) == {allowed_host}


def test_an_owner_of_one_team_is_not_the_owner_of_every_team(
    alice: User, mallory: User, team: Team, signed_in: SignedIn
) -> None:
    Membership.objects.create(team=team, user=mallory, role=Membership.Role.READER)

    client = signed_in(mallory)

    assert client.post(f"{GARDEN}/allow", {"pattern": "hooks.example.com"}).status_code == 403
    wrong_team = client.post("/settings/allowlist/other/remove", {"pattern": "hooks.example.com"})
    assert wrong_team.status_code == 404


def test_typed_text_stays_in_the_form_of_its_team(
    alice: User, team: Team, signed_in: SignedIn
) -> None:
    second = Team.objects.create(slug="kitchen", name="Kitchen")
    Membership.objects.create(team=second, user=alice, role=Membership.Role.OWNER)

    page = signed_in(alice).post(f"{GARDEN}/allow", {"pattern": "10.0.0.1"}).content.decode()

    assert page.count('value="10.0.0.1"') == 1
    assert page.index('value="10.0.0.1"') < page.index("Kitchen")


def test_an_owner_sees_where_a_host_leads(alice: User, team: Team, signed_in: SignedIn) -> None:
    CallbackHost.objects.create(team=team, pattern="localhost:9000")

    page = signed_in(alice).post(f"{GARDEN}/look-up", {"pattern": "localhost:9000"}, follow=True)

    words = "localhost:9000 resolves to an allowed address."
    assert words in page.content.decode()


def test_dns_lookups_are_limited(alice: User, team: Team, signed_in: SignedIn) -> None:
    CallbackHost.objects.create(team=team, pattern="localhost:9000")
    client = signed_in(alice)

    *first, last = (
        client.post(f"{GARDEN}/look-up", {"pattern": "localhost:9000"}) for _ in range(11)
    )

    assert [each.status_code for each in first] == [303] * 10
    assert last.status_code == 429
    assert int(last["Retry-After"]) > 0
    assert "Too many checks." in last.content.decode()


def test_concurrent_dns_lookups_are_limited(alice: User, team: Team, signed_in: SignedIn) -> None:
    CallbackHost.objects.create(team=team, pattern="localhost:9000")
    client = signed_in(alice)

    with occupied(allowlist_views._slots):
        busy = client.post(f"{GARDEN}/look-up", {"pattern": "localhost:9000"}, follow=True)
    free = [
        client.post(f"{GARDEN}/look-up", {"pattern": "localhost:9000"}, follow=True)
        for _ in range(2)
    ]

    assert "Another check is running." in busy.content.decode()
    assert all("resolves to an allowed address" in page.content.decode() for page in free)


class FakeDns(AbstractResolver):
    """Answers lookups with one address, or with an error."""

    def __init__(self, address: str | None) -> None:
        self.address = address

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[Any]:
        if self.address is None:
            raise socket.gaierror("unknown")
        return [{"host": self.address, "port": port}]

    async def close(self) -> None:
        pass


def test_a_host_that_resolves_to_a_private_address_is_refused() -> None:
    addresses.look_up("hooks.example.com", dns=FakeDns("93.184.216.34"))
    with pytest.raises(allowlist.AddressRefused, match="private or reserved"):
        addresses.look_up("hooks.example.com:8443", dns=FakeDns("10.0.0.7"))
    with pytest.raises(OSError, match="unknown"):
        addresses.look_up("hooks.example.com", dns=FakeDns(None))


def test_one_click_fills_in_the_host_of_a_service(
    alice: User, team: Team, signed_in: SignedIn
) -> None:
    client = signed_in(alice)
    page = client.get("/settings/allowlist/").content.decode()
    links = dict(re.findall(r'href="(/settings/allowlist/\?[^"]+)">([^<]+)</a>', page))

    filled = {
        name: INPUT.findall(client.get(html.unescape(link)).content.decode())
        for link, name in links.items()
    }

    assert {name: [html.unescape(host) for host in hosts] for name, hosts in filled.items()} == {
        service.name: [service.host] for service in SERVICES.values()
    }
    client.post(f"{GARDEN}/allow", {"pattern": filled["Trigger.dev"][0]})
    assert hosts(team) == {"api.trigger.dev"}


def test_a_host_with_a_name_to_type_is_refused_as_it_is(
    alice: User, team: Team, signed_in: SignedIn
) -> None:
    for service in SERVICES.values():
        if "<" in service.host:
            answer = signed_in(alice).post(f"{GARDEN}/allow", {"pattern": service.host})
            assert "is not a host name" in answer.content.decode()

    assert not hosts(team)


def test_a_reader_has_nothing_to_fill_in(rita: User, signed_in: SignedIn) -> None:
    page = signed_in(rita).get("/settings/allowlist/?for=n8n&team=garden").content.decode()

    assert "n8n" not in page
