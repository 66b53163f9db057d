"""Says what a move does with the tables of people, agents and deliveries."""

from __future__ import annotations

from accounts.models import User
from wake.management.moving.notes import OtherNumbers, Row, TableNotes, Translate

WHERE = "says where the team is"
CLIENT = "a client signed in at the address of this server, and signs in again"


def _people_of_rule(row: Row, translate: Translate) -> Row:
    person = User._meta.label
    steps = [
        {**step, "people": [translate(person, number) for number in step["people"]]}
        for step in row["escalation"]
    ]
    return {"people": [translate(person, pk) for pk in row["people"]], "escalation": steps}


NOTES = TableNotes(
    left_out={
        "accounts.TeamMove": WHERE,
        "accounts.MovedKey": WHERE,
        "accounts.MovedMembership": WHERE,
        "accounts.OAuthGrant": CLIENT,
        "accounts.DeviceSignIn": "a terminal that is signing in now",
        "wake.CarriedProof": "comes with the proofs of all receipts (proofs.py)",
    },
    rows_at_once={"wake.Callback": 20, "wake.Delivery": 50, "wake.UploadedBlob": 2},
    keys={"accounts.ApiKey": "agent__team", "accounts.Gate": "team"},
    numbers={"wake.RuleVersion": OtherNumbers((), _people_of_rule)},
    unlinked={"wake.Delivery": "supersedes"},
)
