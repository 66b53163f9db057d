"""Describes where an answer was given, and whether everything was in sight there."""

from __future__ import annotations

from accounts.models import User
from wake.models import Place, Response

WORDS: dict[str, str] = {
    Place.PAGE: "on its page",
    Place.PASSKEY: "on its page, signed with a passkey",
    Place.LIST: "in the list, without opening it",
    Place.BULK: "together with others",
    Place.SLACK: "in Slack, without opening it",
}
# The words beside an answer in a list. An unsigned answer on the delivery's page needs no words. A
# rule's answer needs none either, because the list names the rule.
SHORT: dict[str, str] = {
    Place.PASSKEY: "signed with a passkey",
    Place.LIST: "answered in the list",
    Place.BULK: "answered with others",
    Place.SLACK: "answered in Slack",
}
NOT_READ = "no person read it"


def place_words(place: str, *, all_in_sight: bool | None, left_out: str = "") -> str:
    """Returns `in the list, without opening it; everything was in sight`. Returns an empty text for
    answers of earlier versions, because those versions did not store the place of an answer."""
    if place == Place.RULE:
        return NOT_READ
    if place not in WORDS or all_in_sight is None:
        return WORDS.get(place, "")
    not_all = f"not shown there: {left_out}" if left_out else "not everything was in sight"
    return f"{WORDS[place]}; {'everything was in sight' if all_in_sight else not_all}"


def short_place(response: Response, reader: User) -> str:
    """Returns `signed with alice's passkey` or `answered in Slack`, or an empty text."""
    return _with_owner(SHORT.get(response.place, ""), response, reader)


def where_given(response: Response, reader: User) -> str:
    """Returns one sentence for the page of the delivery, or an empty text for answers of earlier
    versions."""
    words = place_words(
        response.place, all_in_sight=response.all_in_sight, left_out=response.left_out
    )
    if response.place == Place.RULE or not words:
        return f"{words.capitalize()}." if words else ""
    return f"Answered {_with_owner(words, response, reader)}."


def _with_owner(words: str, response: Response, reader: User) -> str:
    """Says whose passkey signed the answer. Several people sign an approval together."""
    if len(response.approvers) > 1:
        return words.replace("with a passkey", "with their passkeys")
    whose = "your" if response.by_id == reader.pk else f"{response.by_name}'s"
    return words.replace("with a passkey", f"with {whose} passkey")
