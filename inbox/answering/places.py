"""Says in words where an answer was given, and whether everything was in sight there."""

from __future__ import annotations

from wake.models import Place, Response

WORDS: dict[str, str] = {
    Place.PAGE: "on its page",
    Place.LIST: "in the list, without opening it",
    Place.BULK: "together with others",
    Place.SLACK: "in Slack, without opening it",
}
NOT_READ = "no person read it"


def place_words(place: str, *, all_in_sight: bool | None, left_out: str = "") -> str:
    """Returns `in the list, without opening it; everything was in sight`. Empty for answers of
    earlier versions, which do not say it."""
    if place == Place.RULE:
        return NOT_READ
    if place not in WORDS or all_in_sight is None:
        return WORDS.get(place, "")
    not_all = f"not shown there: {left_out}" if left_out else "not everything was in sight"
    return f"{WORDS[place]}; {'everything was in sight' if all_in_sight else not_all}"


def where_given(response: Response) -> str:
    """Returns one sentence for the page of the delivery; empty for answers of earlier versions."""
    words = place_words(
        response.place, all_in_sight=response.all_in_sight, left_out=response.left_out
    )
    if response.place == Place.RULE or not words:
        return f"{words.capitalize()}." if words else ""
    return f"Answered {words}."
