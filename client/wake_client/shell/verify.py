"""Implements `wake verify`, which checks a receipt and its proof offline."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from wake_client.proof.receipts import without_repeated_names
from wake_client.proof.verdicts import ReceiptVerdict, Verdicts, judge
from wake_client.shell.output import ExitStatus, add_parser, show
from wake_client.visible_text import visible

EXAMPLE = """\
  wake verify receipt.sd-jwt --keys https://wake.example.com/.well-known/wake-keys.json
  wake verify receipt.sd-jwt --keys wake-keys.json --content content.json --answer answer.json
  wake verify receipt.tlog-proof --keys wake-keys.json --witness-key witness.example+7d6b1c0e+BDf...
  wake verify receipt.tlog-proof --keys wake-keys.json --approved --require logged && ./deploy
"""
FAILED = {
    "signed": ExitStatus.NOT_SIGNED,
    "signed_by_passkey": ExitStatus.NOT_SIGNED_BY_PASSKEY,
    "logged": ExitStatus.NOT_LOGGED,
    "witnessed": ExitStatus.NOT_WITNESSED,
    "content_matches": ExitStatus.CONTENT_DIFFERS,
    "team_matches": ExitStatus.OTHER_TEAM,
    "approved": ExitStatus.NOT_APPROVED,
}
# The words of --require, and the verdicts that they name.
REQUIRABLE = {
    "signed": "signed",
    "logged": "logged",
    "witnessed": "witnessed",
    "content": "content_matches",
}
# The claims that a person reads first. With `--json`, all claims are printed.
SHOWN = (
    *("iss", "delivery_id", "agent_id", "team", "mode", "status", "decided_by", "person", "via"),
    *("amr", "opened_at", "answered_at", "released_at", "claimed_at"),
)


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(
        subcommands, "verify", "check a receipt", start, example=EXAMPLE, has_access=False
    )
    parser.add_argument("file", metavar="FILE", help="the receipt, alone or with its proof")
    parser.add_argument(
        "--keys",
        required=True,
        metavar="URL-OR-FILE",
        help="the server's public keys: /.well-known/wake-keys.json, or a copy of it",
    )
    parser.add_argument(
        "--content", metavar="FILE", help="the members of the digest, as a JSON object"
    )
    parser.add_argument(
        "--answer", metavar="FILE", help="the answer, exactly as the server sent it"
    )
    parser.add_argument(
        "--log-key",
        action="append",
        default=[],
        metavar="KEY",
        help="the verifier key of the log, instead of those that come with --keys; may be "
        "repeated. A file without a proof then fails",
    )
    parser.add_argument(
        "--witness-key",
        action="append",
        default=[],
        metavar="KEY",
        help="the verifier key of a witness, which must have seen the log; may be repeated",
    )
    parser.add_argument(
        "--signer",
        action="append",
        default=[],
        metavar="SHA256",
        help="the fingerprint of a passkey, from its page in Wake; only such passkeys may have "
        "signed; may be repeated. A receipt without their signature then fails",
    )
    parser.add_argument(
        "--approved",
        action="store_true",
        help="fail unless people or a rule approved or redirected a live delivery",
    )
    parser.add_argument(
        "--team", type=int, metavar="NUMBER", help="the number of the team that must have answered"
    )
    parser.add_argument(
        "--require",
        type=_required,
        default=[],
        metavar="VERDICTS",
        help=f"verdicts that must be yes, such as {','.join(REQUIRABLE)}. If one of these is not "
        "checked, the command fails",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _required(text: str) -> list[str]:
    words = text.split(",")
    for word in words:
        if word not in REQUIRABLE:
            message = f"{word!r} is none of {', '.join(REQUIRABLE)}"
            raise argparse.ArgumentTypeError(message)
    return [REQUIRABLE[word] for word in words]


def start(arguments: argparse.Namespace, command: list[str], variables: Mapping[str, str]) -> int:
    """Prints a verdict for each question, and returns the exit status of the first that failed.
    Raises ValueError for files that cannot be read."""
    verdicts = judge(
        _read(arguments.file),
        _keys(arguments.keys),
        log_keys=arguments.log_key,
        witness_keys=arguments.witness_key,
        passkeys=arguments.signer,
        content=_object(_read(arguments.content), arguments.content) if arguments.content else None,
        answer=_read(arguments.answer) if arguments.answer else None,
    )
    named = {**verdicts.by_name(), **_demands(arguments, verdicts.claims)}
    failed = [
        name
        for name, verdict in named.items()
        if verdict.value is False or (verdict.value is None and name in arguments.require)
    ]
    _print(arguments, verdicts, named, failed)
    return FAILED[failed[0]] if failed else ExitStatus.OK


def _demands(arguments: argparse.Namespace, claims: Mapping[str, Any]) -> dict[str, ReceiptVerdict]:
    """Returns a verdict for each of --team and --approved that was given. Both are no if the
    receipt is not signed, because it then has no claims."""
    demands = {}
    if arguments.team is not None:
        is_same = claims.get("team") == arguments.team
        reason = "" if is_same else f"The receipt does not say that team {arguments.team} answered."
        demands["team_matches"] = ReceiptVerdict(is_same, reason)
    if arguments.approved:
        demands["approved"] = _approved(claims)
    return demands


def _approved(claims: Mapping[str, Any]) -> ReceiptVerdict:
    if claims.get("status") not in {"approved", "redirected"}:
        return ReceiptVerdict(
            value=False, reason="The receipt does not say that the delivery was approved."
        )
    if claims.get("mode") != "live":
        return ReceiptVerdict(
            value=False, reason="The delivery was a test, which approves nothing real."
        )
    return ReceiptVerdict(value=True)


def _print(
    arguments: argparse.Namespace,
    verdicts: Verdicts,
    named: Mapping[str, ReceiptVerdict],
    failed: list[str],
) -> None:
    words = {True: "yes", False: "no", None: "not checked"}
    claims = verdicts.claims
    lines = []
    for name, verdict in named.items():
        is_missing = name == "signed_by_passkey" and verdict.value is None
        word = "not there" if is_missing else words[verdict.value]
        if verdict.value is None and name in failed:
            word = f"{word}, but required"
        line = f"{name.replace('_', ' ')}: {word}"
        lines.append(f"{line}. {verdict.reason}" if verdict.reason else line)
    lines += [f"passkey: {each}" for each in verdicts.signers]
    lines += [f"{name}: {json.dumps(claims[name])}" for name in SHOWN if name in claims]
    value = {
        **{name: verdict.value for name, verdict in named.items()},
        "reason": named[failed[0]].reason if failed else None,
        "reasons": {name: verdict.reason for name, verdict in named.items() if verdict.reason},
        "signers": verdicts.signers,
        "claims": claims,
    }
    show(arguments, value, "\n".join(visible(line) for line in lines))


def _keys(source: str) -> dict[str, Any]:
    if not source.startswith(("https://", "http://")):
        return _object(_read(source), source)
    try:
        answer = httpx.get(source, timeout=10)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise ValueError(f"{source} cannot be read: {error}") from error
    return _object(answer.text, source)


def _object(text: str, source: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=without_repeated_names)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"{source} is no JSON object, or has two members with the same name.")  # noqa: TRY004 - main prints it
    return value


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text.") from error
