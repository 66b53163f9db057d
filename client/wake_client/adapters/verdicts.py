"""Says what each answer means for the call that people were asked about. No other module of this
package allows a call (docs/adapters/README.md has the table)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from wake_client.adapters.calls import is_json
from wake_client.adapters.questions import MAX_CHARACTERS, MAX_VALUES
from wake_client.answers import Answer
from wake_client.visible_text import json_text

REJECTED = "A person rejected this call. Do not make it again unless you are asked to."
EXPIRED = "No one approved this call before its deadline, so it was not made."
WITHDRAWN = "The question about this call was withdrawn, so the call was not made."
ERASED = "The answer to this call was erased, so the call was not made."
UNCLEAR = "A person answered, but neither approved the call nor changed it. It was not made."
NOT_JSON = "A person changed the arguments, but not to JSON. The call was not made."
CHANGED = "A person changed the arguments. Call the tool again with exactly these: {arguments}"
TOO_LONG = (
    f"The arguments have more than {MAX_CHARACTERS:,} characters or {MAX_VALUES} values, so no "
    "person could read them before a decision. No one was asked. Split the call into smaller ones."
)
NOT_UNICODE = (
    "The arguments have half of a character, such as \\ud83d, so no person could read them. No one "
    "was asked. Make the call again with whole characters."
)
REFUSED = "People could not be asked about this call, so it was not made. {reason}"
NOT_ASKED = "No person was asked about this call, so it was not made."
NOT_ANSWERED = "No person has answered yet, so the call was not made."
ANOTHER_CALL = (
    "People were asked about other arguments than these, so the call was not made. Make the call "
    "again to ask about it."
)
MISMATCH = "People answered other content than the agent sent, so the call was not made."
MAY_HAVE_RUN = (
    "This call was started before, and its end is not known. It may have run already. It was not "
    "made again. Find out what happened before you go on."
)
USED = "This call was made before, and an approval is for one call. It was not made again."
# The reason for each error code of a refused claim.
NOT_USED = {
    "already_claimed": "This approval was used before, and it is for one call. The call was not "
    "made.",
    "not_approved": "The approval was taken back, so the call was not made.",
    "approval_expired": "The time to use this approval is over, so the call was not made. Make the "
    "call again to ask about it.",
    "digest_mismatch": MISMATCH,
}
SUPERSEDED = "People decided about a newer version of this call, so this one was not made."
NOT_USABLE = "This approval cannot be used, so the call was not made."


class NotRun(Exception):
    """The call was not made. The message is the reason, in words for the model."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the decision about a call.

    `words` are never empty for "deny": the reason, for the model. Beside an approval or an edit,
    they are the note of the person, or empty. `arguments` are set for "edit": they replace all
    arguments of the call. A call whose question was `withdrawn` can be asked about again.
    """

    decision: Literal["allow", "deny", "edit"]
    words: str = ""
    arguments: dict[str, Any] | None = None
    withdrawn: bool = False

    def __post_init__(self) -> None:
        if self.decision == "deny" and not self.words.strip():
            raise ValueError("A denial needs a reason. Without one, models repeat the call.")

    @property
    def without_edit(self) -> Verdict:
        """Returns the verdict for a framework that cannot replace arguments: an edit becomes a
        denial that names the arguments."""
        if self.decision != "edit":
            return self
        words = CHANGED.format(arguments=json_text(self.arguments))
        return Verdict("deny", f"{words} {self.words}".rstrip())


def verdict_of(answer: Answer, *, waits: bool) -> Verdict | None:
    """Returns the verdict of an answer, or None as long as people may still answer. With `waits`,
    the deadline decides nothing."""
    if not answer.is_answered:
        if answer.is_withdrawn:
            return Verdict("deny", WITHDRAWN, withdrawn=True)
        return Verdict("deny", EXPIRED) if answer.expired and not waits else None
    if answer.erased:
        return Verdict("deny", ERASED)
    words = (answer.feedback or "").strip()
    if answer.status == "rejected":
        return Verdict("deny", words or REJECTED)
    if answer.late and not waits:  # the same verdict, whether the program looked before or after
        return Verdict("deny", f"{EXPIRED} {words}".rstrip())
    if answer.status == "approved":
        return Verdict("allow", words)
    return _redirected(answer.edited_content, words)


def not_used(code: str, delivery_status: str | None) -> str:
    """Returns the reason why the server does not let the program use an approval."""
    return SUPERSEDED if delivery_status == "superseded" else NOT_USED.get(code, NOT_USABLE)


def _redirected(edit: dict[str, Any] | str | None, words: str) -> Verdict:
    if isinstance(edit, dict):
        if not is_json(edit):
            return Verdict("deny", f"{NOT_JSON} {words}".rstrip())
        return Verdict("edit", words, edit)
    texts = [text for text in (words, (edit or "").strip()) if text]
    return Verdict("deny", "\n".join(texts) or UNCLEAR)
