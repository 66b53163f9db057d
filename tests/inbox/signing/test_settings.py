"""Owners decide which approvals people sign."""

from __future__ import annotations

from typing import Any

from accounts.models import AuditEvent, Passkey, Team
from accounts.sign_in.passkeys.public_keys import fingerprint
from tests.fixtures.signers import Signer
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Response, RuleVersion, Vote

NO_ONE = "No one who can answer in this team has a passkey."


def require(owner: Person | Signer, team: Team, required: str = "yes", **fields: str) -> Any:
    client = owner.client if isinstance(owner, Person) else owner.browser
    path = f"/settings/teams/{team.slug}/signatures"
    return client.post(path, {"required": required, **fields}, follow=True)


def is_required(team: Team) -> bool:
    team.refresh_from_db()
    return team.signs_irreversible


def test_an_owner_requires_it_and_stops(signing_alice: Signer, team: Team) -> None:
    before = text_of(signing_alice.browser.get("/settings/teams/"))

    on = text_of(require(signing_alice, team))
    require(signing_alice, team)
    was_on = is_required(team)
    off = text_of(require(signing_alice, team, "no"))

    assert "1 of 1 person who can answer has a passkey." in before
    assert f"{team} now requires a passkey to approve irreversible deliveries." in on
    assert was_on
    assert "no longer requires a passkey" in off
    assert not is_required(team)
    events = AuditEvent.objects.filter(event__startswith="team.signs").order_by("pk")
    names = [event.event for event in events]
    assert names == ["team.signs_irreversible", "team.signs_no_irreversible"]
    audit = text_of(signing_alice.browser.get("/audit/"))
    assert "alice required a passkey to approve irreversible actions in the team" in audit


def test_a_team_in_which_no_one_has_one_hears_it_first(alices: Person, team: Team) -> None:
    asked = require(alices, team)
    before = is_required(team)
    require(alices, team, anyway="yes")

    assert NO_ONE in text_of(asked)
    assert "irreversible deliveries can only be rejected" in text_of(asked)
    assert 'name="anyway" value="yes"' in asked.content.decode()
    assert not before
    assert is_required(team)
    page = text_of(alices.get("/settings/teams/"))
    assert "No one who can answer has a passkey, so no one can approve these deliveries." in page


def test_a_passkey_of_a_reader_does_not_count(alices: Person, team: Team, rita: Any) -> None:
    Signer(rita)

    assert NO_ONE in text_of(require(alices, team))
    assert not is_required(team)


def test_only_owners_require_it(bobs: Person, mallory: Any, team: Team) -> None:
    assert require(bobs, team).status_code == 403
    assert require(Person(mallory), team).status_code == 404
    assert not is_required(team)


def test_a_rule_that_requires_it_makes_the_agent_wait_and_warns(alices: Person, team: Team) -> None:
    form = {
        "rule_name": "Payments",
        "people": [str(alices.user.pk)],
        "needs_signature": "on",
        "days": "30",
        "rules_version": str(Team.objects.get().rules_version),
    }

    saved = text_of(alices.client.post(f"/settings/rules/{team.slug}/new/", form, follow=True))

    version = RuleVersion.objects.get()
    assert (version.needs_signature, version.must_wait) == (True, True)
    assert "If no one answers, the agent waits. Approving needs a passkey." in saved
    assert NO_ONE in saved


def test_the_page_of_a_passkey_shows_its_fingerprint(signing_alice: Signer) -> None:
    passkey = Passkey.objects.get()

    page = signing_alice.browser.get(f"/settings/security/passkeys/{passkey.pk}/")

    assert fingerprint(passkey) in text_of(page)


def test_who_rejected_meanwhile_has_not_approved_when_the_setting_ends(
    team: Team, make_delivery: MakeDelivery, signing_alice: Signer, signing_bob: Signer
) -> None:
    """While the setting is on, an approval without a signature does not count. A rejection still
    removes this approval."""
    delivery = make_delivery(irreversible=True, quorum=2)
    signing_alice.send(delivery)
    require(signing_alice, team)
    signing_alice.send(delivery, "rejected")
    signing_alice.undo(delivery)
    Team.objects.update(signs_irreversible=False)

    signing_bob.send(delivery)

    assert Vote.objects.get().user == signing_bob.user
    assert not Response.objects.exists()
