"""Writes the summary of an export as one page that needs no server, no script and no other file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.template.loader import render_to_string
from django.utils.html import format_html

from accounts.audit import Actor
from inbox.answering.places import place_words
from inbox.answering.use import WORDS
from inbox.audit.evidence.receipt_files import WAITING
from inbox.audit.evidence.records import DeliveryRecord, Values
from inbox.audit.evidence.scope import Scope
from inbox.reading.status_words import status_words
from inbox.rendering.json_text import read, readable
from pages.characters.directions import isolated
from pages.characters.invisible import reveal_value

LONGEST_TEXT = 20_000  # characters of the details on the page; the record has the rest
# This text must contain no character that HTML escapes, because escaping would change the style.
STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}"
    "body{max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "section{border-top:1px solid;margin-top:2rem}"
    "dl{display:grid;grid-template-columns:10rem 1fr;gap:.25rem 1rem}"
    "dt{font-weight:600}dd{margin:0}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5rem}"
    "h1,h2,dd,p{overflow-wrap:anywhere}"
    "@media (max-width:40rem){dl{display:block}dd{margin-bottom:.5rem}}"
)
HEAD = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'\">\n"
    "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}"
)
FOOT = "<section>\n<h2>In total</h2>\n<p>{}</p>\n</section>\n</body>\n</html>\n"
ENDS = {
    "timed_out_at": "Expired without an answer",
    "superseded_at": "Replaced by a newer version",
    "withdrawn_at": "Withdrawn by the agent",
    "acknowledged_at": "Acknowledged",
    "erased_at": "Content erased",
}
METHODS = {
    "pwd": "password",
    "otp": "code",
    "hwk": "passkey",
    "fed": "sign-in provider",
}


def head(scope: Scope, *, by: Actor, at: datetime) -> str:
    """Returns the beginning of the page, with what the export is about."""
    agent = scope.agent
    title = f"Evidence of {reveal_value(agent.agent_id)}"
    context = {"scope": scope, "agent": agent, "by": by, "made_at": _time(at)}
    introduction = render_to_string("inbox/audit/evidence/_head.html", context)
    return format_html(HEAD, title, STYLE, introduction)


def section(record: DeliveryRecord) -> str:
    """Returns the part about one delivery. Names every invisible character in the delivery's
    texts."""
    values, content = record.values, record.content
    details = _details(content)
    context = {
        "record": record,
        "delivery": record.delivery,
        "values": values,
        "content": content,
        "times": [(words, _short(values[name])) for name, words in ENDS.items() if values[name]],
        "received_at": _short(values["received_at"]),
        "details": isolated(details[:LONGEST_TEXT], is_code=True),
        "left_out": max(len(details) - LONGEST_TEXT, 0),
        "answer": _decision(record, values["answer"]),
        "votes": [_vote(vote) for vote in values["votes"]],
        "claim": _claim(values["claim"]),
        "outcomes": [_outcome(each) for each in values["outcomes"]],
        "proof_waits": record.proof == WAITING,
        "missing": record.missing.parts,
    }
    return render_to_string("inbox/audit/evidence/_delivery.html", context)


def foot(counts: Mapping[str, int]) -> str:
    """Returns the end of the page, with the number of each kind of record."""
    totals = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())
    return format_html(FOOT, totals)


def _details(content: Values | None) -> str:
    if content is None or content["details"] is None:
        return ""
    return _in_words(content["details"])


def _in_words(json_text: str) -> str:
    """Returns a text unchanged, and other JSON with one member on each line. Names every invisible
    character."""
    value = read(json_text)
    return reveal_value(value if isinstance(value, str) else readable(json_text), is_code=True)


def _decision(record: DeliveryRecord, answer: Values | None) -> Values | None:
    if answer is None:
        return None
    return {
        **answer,
        "words": status_words(record.delivery.type, answer["status"]),
        **_how(answer),
        "at": _short(answer["answered_at"]),
        "released": _short(answer["released_at"]),
        "edit": _in_words(answer["edited_content"]) if answer["edited_content"] else "",
    }


def _vote(vote: Values) -> Values:
    return {**vote, **_how(vote), "at": _short(vote["voted_at"])}


def _how(given: Values) -> Values:
    """Returns where the answer was given, how the person was signed in, and when they opened the
    page, in words."""
    methods = [METHODS.get(name, name) for name in given["amr"] or ()]
    where = place_words(given["via"] or "", all_in_sight=given["all_in_sight"])
    return {"where": where, "methods": " and ".join(methods), "opened": _short(given["opened_at"])}


def _claim(claim: Values | None) -> Values | None:
    return claim and {**claim, "at": _short(claim["claimed_at"])}


def _outcome(outcome: Values) -> Values:
    return {**outcome, "words": WORDS[outcome["status"]], "at": _short(outcome["reported_at"])}


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _short(time: str | None) -> str:
    """Returns a time of a record as people read it: `2026-11-26 11:42:05 UTC`."""
    return _time(datetime.fromisoformat(time)) if time else ""
