"""`wake verify` checks a receipt offline, with one verdict for each question."""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from wake.proof import sd_jwt
from wake_client.shell import verify
from wake_client.shell.output import ExitStatus

pytestmark = pytest.mark.once

CONTENT = {"headline": "Refund 180 EUR?", "nonce": "q1Xn0V2r7mJ8sYt3KcW5Zg", "quorum": None}
DIGEST = hashlib.sha256(json.dumps(CONTENT, separators=(",", ":")).encode()).hexdigest()
EDIT = '{"amount": 1.50}'
ANSWER = (
    '{"delivery_id": "d-1", "status": "redirected", "feedback": "Zo\\u00eb only.",'
    f' "edited_content": {EDIT}, "digest": "{DIGEST}", "decisions": [{{"by": "Bob"}}]}}'
)


class Signer:
    """Holds a key pair of a server, and signs receipts."""

    def __init__(self) -> None:
        self.pair = OKPKey.generate_key("Ed25519")
        self.kid = self.pair.thumbprint()

    def jwk(self, **members: Any) -> dict[str, Any]:
        return {**self.pair.as_dict(private=False), "kid": self.kid, **members}

    def receipt(self, *, typ: str = "wake-receipt+sd-jwt", bare: bool = False, **more: Any) -> str:
        hidden = [
            sd_jwt.member("feedback_sha256", hashlib.sha256("Zoë only.".encode()).hexdigest()),
            sd_jwt.member("edited_content_sha256", hashlib.sha256(EDIT.encode()).hexdigest()),
        ]
        votes = [sd_jwt.element({"by": "Bob"})]
        claims = {
            **{"iss": "https://wake.example.com", "delivery_id": "d-1", "status": "redirected"},
            **{"digest": DIGEST, "votes": sd_jwt.hidden_elements(votes)},
            **sd_jwt.hidden_members(hidden),
            **more,
        }
        pem = self.pair.as_pem(private=True).decode()
        jwt = sd_jwt.sign(claims, typ=typ, algorithm="Ed25519", kid=self.kid, pem=pem)
        return f"{jwt}~" + ("" if bare else sd_jwt.joined([*hidden, *votes]))


class Files:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def verify(
        self,
        receipt: str,
        *keys: dict[str, Any],
        more: Sequence[str] = (),
        **options: str,
    ) -> tuple[int, dict[str, Any]]:
        """Returns the exit status, and what is printed as JSON."""
        words = ["verify", self.write("receipt", receipt), "--json"]
        words += ["--keys", self.write("keys", json.dumps({"keys": list(keys)}))]
        for name, text in options.items():
            words += [f"--{name}", self.write(name, text)]
        words += more
        parser = argparse.ArgumentParser("wake")
        verify.add_subcommand(parser.add_subparsers(required=True))
        status = verify.start(parser.parse_args(words), [], {})
        return status, json.loads(self.capsys.readouterr().out)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, capsys)


@pytest.fixture
def signer() -> Signer:
    return Signer()


def test_a_receipt_is_signed(files: Files, signer: Signer) -> None:
    status, printed = files.verify(signer.receipt(), Signer().jwk(), signer.jwk())

    assert status == ExitStatus.OK
    assert (printed["signed"], printed["content_matches"]) == (True, None)
    assert (printed["logged"], printed["witnessed"]) == (None, None)
    assert printed["reasons"]["logged"] == "Not logged: the file has no proof."
    assert printed["claims"]["votes"] == [{"by": "Bob"}]
    assert "feedback_sha256" in printed["claims"]
    assert "_sd" not in printed["claims"]


def test_without_disclosures_it_is_signed_too(files: Files, signer: Signer) -> None:
    status, printed = files.verify(signer.receipt(bare=True), signer.jwk())

    assert (status, printed["claims"]["votes"]) == (ExitStatus.OK, [])
    assert "feedback_sha256" not in printed["claims"]


def test_its_content_and_answer_match(files: Files, signer: Signer) -> None:
    status, printed = files.verify(
        signer.receipt(), signer.jwk(), content=json.dumps(CONTENT), answer=ANSWER
    )

    assert status == ExitStatus.OK
    assert (printed["signed"], printed["content_matches"]) == (True, True)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("content", json.dumps({**CONTENT, "headline": "Refund 1800 EUR?"})),
        ("answer", ANSWER.replace("only", "never")),
        ("answer", ANSWER.replace("1.50", "1.5")),
        ("answer", ANSWER.replace(EDIT, "null")),
        ("answer", ANSWER.replace("redirected", "approved")),
        ("answer", ANSWER.replace("d-1", "d-2")),
        ("answer", ANSWER.replace('"feedback": ', '"feedback": "All of it.", "feedback": ')),
        ("answer", ANSWER.replace('"status": ', '"status": "approved", "status": ')),
        ("answer", "[]"),
        ("answer", "[" * 100_000),
    ],
)
def test_other_content_differs(option: str, text: str, files: Files, signer: Signer) -> None:
    status, printed = files.verify(signer.receipt(), signer.jwk(), **{option: text})

    assert status == ExitStatus.CONTENT_DIFFERS
    assert (printed["signed"], printed["content_matches"]) == (True, False)


CLAIMS: dict[str, Any] = {
    **{"decided_by": "person", "late": False, "released_at": "2026-11-23T09:14:22.000001Z"},
    "quorum": {"needed": 2, "have": 2},
}
FULL = {
    **{"delivery_id": "d-1", "status": "redirected", "feedback": "Zoë only."},
    **{"responded_at": CLAIMS["released_at"], "expires_at": None, "expired": False, "late": False},
    **{"erased": False, "quorum": {"needed": 2, "have": 2}, "decisions": [{"by": "Bob"}]},
    "digest": DIGEST,
}


def full_answer(**changes: Any) -> str:
    return json.dumps({**FULL, **changes})[:-1] + f', "edited_content": {EDIT}}}'


def test_members_that_the_receipt_does_not_have_are_named(files: Files, signer: Signer) -> None:
    whole = files.verify(signer.receipt(**CLAIMS), signer.jwk(), answer=full_answer())
    votes = [{"by": "Bob"}, {"by": "Eve"}]
    more = files.verify(
        signer.receipt(**CLAIMS), signer.jwk(), answer=full_answer(decisions=votes, note="x")
    )

    unsaid = "Not compared, because the receipt does not say it: expires_at, expired, erased"
    assert (whole[0], whole[1]["content_matches"]) == (ExitStatus.OK, True)
    assert whole[1]["reasons"]["content_matches"] == f"{unsaid}."
    assert (more[0], more[1]["content_matches"]) == (ExitStatus.OK, True)
    assert more[1]["reasons"]["content_matches"] == f"{unsaid}, decisions, note."


@pytest.mark.parametrize(
    "changes",
    [
        {"late": True},
        {"late": 0},
        {"responded_at": "2026-11-23T09:14:22.000002Z"},
        {"quorum": {"needed": 3, "have": 3}},
        {"digest": "0" * 64},
        {"responded_by": {"kind": "rule"}},
        {"decisions": [{"by": "Eve"}]},
        {"decisions": "Bob"},
    ],
    ids=str,
)
def test_a_changed_member_of_the_answer_differs(
    changes: dict[str, Any], files: Files, signer: Signer
) -> None:
    answer = full_answer(**changes)

    status, printed = files.verify(signer.receipt(**CLAIMS), signer.jwk(), answer=answer)

    assert (status, printed["content_matches"]) == (ExitStatus.CONTENT_DIFFERS, False)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"status": "approved", "mode": "live"}, ExitStatus.OK),
        ({"status": "redirected", "mode": "live"}, ExitStatus.OK),
        ({"status": "rejected", "mode": "live"}, ExitStatus.NOT_APPROVED),
        ({"status": "approved", "mode": "test"}, ExitStatus.NOT_APPROVED),
        ({"status": "approved"}, ExitStatus.NOT_APPROVED),
    ],
)
def test_a_script_can_demand_an_approval(
    claims: dict[str, Any], expected: ExitStatus, files: Files, signer: Signer
) -> None:
    receipt = signer.receipt(**claims)

    status, printed = files.verify(receipt, signer.jwk(), more=["--approved"])

    assert (status, printed["approved"]) == (expected, expected is ExitStatus.OK)
    assert files.verify(receipt, signer.jwk())[0] == ExitStatus.OK


@pytest.mark.parametrize(("team", "expected"), [("7", 0), ("8", ExitStatus.OTHER_TEAM)])
def test_a_script_can_demand_a_team(team: str, expected: int, files: Files, signer: Signer) -> None:
    receipt = signer.receipt(team=7)

    status, printed = files.verify(receipt, signer.jwk(), more=["--team", team])

    assert (status, printed["team_matches"]) == (expected, expected == 0)


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        ("signed", ExitStatus.OK),
        ("logged", ExitStatus.NOT_LOGGED),
        ("witnessed", ExitStatus.NOT_WITNESSED),
        ("content", ExitStatus.CONTENT_DIFFERS),
        ("signed,content", ExitStatus.CONTENT_DIFFERS),
    ],
)
def test_a_required_verdict_fails_if_it_is_not_checked(
    required: str, expected: ExitStatus, files: Files, signer: Signer
) -> None:
    status, printed = files.verify(signer.receipt(), signer.jwk(), more=["--require", required])

    assert status == expected
    assert (printed["reason"] is None) == (expected is ExitStatus.OK)


def test_a_receipt_that_is_not_signed_is_no_approval(files: Files, signer: Signer) -> None:
    receipt = signer.receipt(status="approved", mode="live", team=7)

    status, printed = files.verify(receipt, more=["--approved", "--team", "7"])

    assert status == ExitStatus.NOT_SIGNED
    assert (printed["approved"], printed["team_matches"]) == (False, False)


def test_an_unknown_verdict_cannot_be_required(files: Files, signer: Signer) -> None:
    with pytest.raises(SystemExit):
        files.verify(signer.receipt(), signer.jwk(), more=["--require", "approved"])
    assert "'approved' is none of signed, logged" in files.capsys.readouterr().err


def test_feedback_that_is_no_text_is_not_no_feedback(files: Files, signer: Signer) -> None:
    hidden = [sd_jwt.member(name, None) for name in ("feedback_sha256", "edited_content_sha256")]
    receipt = signer.receipt(bare=True, **sd_jwt.hidden_members(hidden)) + sd_jwt.joined(hidden)
    answer = {"delivery_id": "d-1", "status": "redirected", "feedback": None}

    status, _ = files.verify(receipt, signer.jwk(), answer=json.dumps(answer))
    assert status == ExitStatus.OK
    answer["feedback"] = ["All of it."]  # type: ignore[assignment]
    status, printed = files.verify(receipt, signer.jwk(), answer=json.dumps(answer))
    assert status == ExitStatus.CONTENT_DIFFERS
    assert printed["reason"] == "The feedback of the answer is no text."


def test_content_that_can_be_read_in_two_ways_is_an_error(files: Files, signer: Signer) -> None:
    text = json.dumps(CONTENT).replace("{", '{"headline": "Refund 1800 EUR?", ', 1)

    with pytest.raises(ValueError, match="two members with the same name"):
        files.verify(signer.receipt(), signer.jwk(), content=text)


def test_a_hidden_hash_compares_with_nothing(files: Files, signer: Signer) -> None:
    status, printed = files.verify(signer.receipt(bare=True), signer.jwk(), answer=ANSWER)

    assert status == ExitStatus.CONTENT_DIFFERS
    assert printed["reason"] == "The receipt does not disclose the hash of feedback."


def test_a_receipt_without_a_digest_compares_with_nothing(files: Files, signer: Signer) -> None:
    receipt = signer.receipt(digest=None)
    status, printed = files.verify(receipt, signer.jwk(), content=json.dumps(CONTENT))

    assert (status, printed["signed"]) == (ExitStatus.CONTENT_DIFFERS, True)
    assert printed["reason"] == "The receipt has no digest to compare with the content."


def test_wrong_and_cut_keys_do_not_count(files: Files, signer: Signer) -> None:
    other, receipt = Signer(), signer.receipt()
    renamed = {**other.jwk(), "kid": signer.kid}
    cut = signer.jwk(revoked={"revoked_at": 1, "reason": "compromised", "log_size": 0})

    for keys in ([other.jwk()], [renamed], [cut], [], [{"kid": signer.kid}]):
        status, printed = files.verify(receipt, *keys)
        assert status == ExitStatus.NOT_SIGNED
        assert (printed["signed"], printed["claims"]) == (False, {})


def changed(receipt: str, kind: str) -> str:
    jwt, *disclosures = receipt.split("~")
    head, payload, signature = jwt.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    claims["status"] = "approved"
    other = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    forged = sd_jwt.member("feedback_sha256", "0" * 64)
    return {
        "claims": "~".join([f"{head}.{other}.{signature}", *disclosures]),
        "signature": "~".join([f"{head}.{payload}.{signature[::-1]}", *disclosures]),
        "disclosure": "~".join([jwt, forged, *disclosures[1:]]),
        "disclosed twice": "~".join([jwt, disclosures[0], *disclosures]),
        "no end": receipt.rstrip("~"),
        "no receipt": "Dear auditor,",
        "no JSON": "a.b.c~",
        "empty": "",
        "other letters": "é.é.é~",
        "nested": f"{head}.{base64.urlsafe_b64encode(b'[' * 9000).decode()}.{signature}~",
        "large": receipt + "~" * 300_000,
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        *("claims", "signature", "disclosure", "disclosed twice", "no end", "no receipt"),
        *("no JSON", "empty", "other letters", "nested", "large"),
    ],
)
def test_a_changed_receipt_is_not_signed(kind: str, files: Files, signer: Signer) -> None:
    status, printed = files.verify(changed(signer.receipt(), kind), signer.jwk())

    assert (status, printed["signed"]) == (ExitStatus.NOT_SIGNED, False)


def test_a_signed_jwt_of_another_type_is_no_receipt(files: Files, signer: Signer) -> None:
    status, _ = files.verify(signer.receipt(typ="JWT"), signer.jwk())

    assert status == ExitStatus.NOT_SIGNED


def test_a_disclosure_replaces_no_claim(files: Files, signer: Signer) -> None:
    forged = sd_jwt.member("status", "approved")
    receipt = signer.receipt(bare=True, **sd_jwt.hidden_members([forged]))

    status, _ = files.verify(f"{receipt}{forged}~", signer.jwk())

    assert status == ExitStatus.NOT_SIGNED


@pytest.mark.parametrize("keys", ["missing", "[]", "no JSON"])
def test_keys_that_cannot_be_read_are_an_error(
    keys: str, tmp_path: Path, files: Files, signer: Signer
) -> None:
    path = str(tmp_path / "x") if keys == "missing" else files.write("k", keys)
    arguments = argparse.Namespace(
        file=files.write("r", signer.receipt()),
        keys=path,
        log_key=[],
        witness_key=[],
        content=None,
        answer=None,
        json=True,
    )

    with pytest.raises(ValueError, match=r"cannot be read|no JSON object"):
        verify.start(arguments, [], {})
