"""Makes an evidence export, file by file, in parts that need little memory. The manifest is the
last file, so an export without a manifest is not complete."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from accounts.audit import Actor, record
from accounts.log.checkpoints import stamps
from database.encryption import Unreadable
from inbox.audit.evidence import missing, summary, tables
from inbox.audit.evidence.events import COLUMNS, events_of
from inbox.audit.evidence.receipt_files import INCLUDED, WAITING, receipt_files
from inbox.audit.evidence.records import DeliveryRecord, record_of, versions_of
from inbox.audit.evidence.roles import Roles, roles_of
from inbox.audit.evidence.rule_versions import rule_versions
from inbox.audit.evidence.scope import Scope, batches_of, ids_of
from wake import wire
from wake.models import Delivery
from wake.proof.receipt_keys import key_set, key_sets_of_earlier_servers

FORMAT = "wake-evidence/1"
CHUNK = 65_536
NOT_INCLUDED = [
    "Test deliveries, and deliveries of other agents and other days.",
    "Answers that could still be taken back.",
    "Comments, drafts, and who has read what, apart from the people who answered.",
    "Network addresses, e-mail addresses, passwords and keys.",
    "Requests and responses of callbacks.",
]


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """Names a file of the export. The parts of the file can be read only once."""

    path: str
    parts: Iterable[bytes]


def export(scope: Scope, *, by: Actor, limit: int, at: datetime) -> Iterator[EvidenceFile]:
    """Records the export in the audit, and returns the files of the export. When the last file is
    made, the audit records the SHA-256 of the manifest, so that anyone can check later that this
    server made the manifest. Raises TooManyDeliveries, and records nothing then."""
    ids = ids_of(scope, limit=limit)
    days = {"first_day": str(scope.first_day), "last_day": str(scope.last_day)}
    of, team = scope.agent, scope.agent.team_id
    record("evidence.exported", by=by, of=of, team=team, at=at, deliveries=len(ids), **days)
    return _Export(scope, by, at).files(ids)


@dataclass(slots=True)
class _Counts:
    deliveries: int = 0
    answers: int = 0
    votes: int = 0
    claims: int = 0
    outcomes: int = 0
    receipts: int = 0
    proofs: int = 0
    proofs_waiting: int = 0
    erased: int = 0
    missing: int = 0

    def add(self, each: DeliveryRecord) -> None:
        values = each.values
        self.deliveries += 1
        self.answers += values["answer"] is not None
        self.votes += len(values["votes"])
        self.claims += values["claim"] is not None
        self.outcomes += len(values["outcomes"])
        self.receipts += bool(each.receipt)
        self.proofs += each.proof == INCLUDED
        self.proofs_waiting += each.proof == WAITING
        self.erased += values["erased_at"] is not None
        self.missing += len(each.missing.parts)

    @property
    def by_name(self) -> dict[str, int]:
        return asdict(self)


@dataclass(slots=True)
class _Export:
    scope: Scope
    by: Actor
    at: datetime
    counts: _Counts = field(default_factory=_Counts)
    listed: list[dict[str, Any]] = field(default_factory=list)
    answering: set[int] = field(default_factory=set)
    assignment: set[int] = field(default_factory=set)
    rules: set[UUID] = field(default_factory=set)
    checkpoints: set[int] = field(default_factory=set)

    def files(self, ids: Sequence[UUID]) -> Iterator[EvidenceFile]:
        for each in self._contents(ids):
            yield EvidenceFile(each.path, self._hashed(each))
        yield EvidenceFile("manifest.json", self._manifest())

    def _contents(self, ids: Sequence[UUID]) -> Iterator[EvidenceFile]:
        """Yields the files of each delivery. The tables and the summary grow meanwhile in temporary
        files."""
        team = self.scope.agent.team
        roles = roles_of(team, until=self.at)
        with ExitStack() as opened:
            page, deliveries, gone, events = (
                opened.enter_context(tempfile.TemporaryFile()) for _ in range(4)
            )
            page.write(summary.head(self.scope, by=self.by, at=self.at).encode())
            for table, columns in (
                (deliveries, tables.DELIVERIES),
                (gone, tables.MISSING),
                (events, COLUMNS),
            ):
                table.write(tables.csv_text([columns]).encode())
            for batch, gone_ids in batches_of(ids):
                gone.write(self._disappeared(gone_ids))
                for delivery in batch:
                    made = record_of(delivery, roles)
                    yield from self._of_delivery(made)
                    self._note(made)
                    page.write(summary.section(made).encode())
                    deliveries.write(tables.csv_text([tables.delivery_row(made)]).encode())
                    gone.write(_missing_rows(made))
                rows = events_of(team.pk, ["delivery"], [row.pk for row in batch])
                events.write(tables.csv_text(row.values() for row in rows).encode())
            rows = events_of(team.pk, ["rule", "answeringrule"], self.rules)
            events.write(tables.csv_text(row.values() for row in rows).encode())
            page.write(summary.foot(self.counts.by_name).encode())
            yield EvidenceFile("summary.html", _read(page))
            yield EvidenceFile("deliveries.csv", _read(deliveries))
            yield EvidenceFile("missing.csv", _read(gone))
            yield EvidenceFile("events.csv", _read(events))
        yield EvidenceFile("roles.csv", [_roles(roles)])
        yield EvidenceFile("rules.json", [_json(rule_versions(self.answering, self.assignment))])
        yield EvidenceFile("wake-keys.json", [_json(key_set())])
        for host, keys in key_sets_of_earlier_servers(team.pk):
            yield EvidenceFile(f"wake-keys-{host}.json", [_json(keys)])
        for stamped in stamps.of_sizes(self.checkpoints):
            yield EvidenceFile(f"checkpoints/{stamped.size}", [stamped.note])
            yield EvidenceFile(f"checkpoints/{stamped.size}.tsr", [stamped.response])

    def _of_delivery(self, made: DeliveryRecord) -> Iterator[EvidenceFile]:
        delivery, folder = made.delivery, f"deliveries/{made.delivery.pk}"
        if made.response:
            files, made.proof, size = receipt_files(delivery.pk, made.missing, at=self.at)
            if size:
                self.checkpoints.add(size)
            for name, body in files.items():
                made.receipt = made.receipt or f"{folder}/{name}"
                yield EvidenceFile(f"{folder}/{name}", [body])
        if made.content is not None:
            yield EvidenceFile(f"{folder}/content.json", [_json(made.content)])
        if made.answer is not None:
            yield EvidenceFile(f"{folder}/answer.json", [made.answer])
        for sha256, content in _attached(delivery, made):
            yield EvidenceFile(f"{folder}/files/{sha256}", [content])
        parts = [{"what": part.what, "why": part.why} for part in made.missing.parts]
        receipt = {"receipt": made.receipt or None, "proof": made.proof}
        values = {**made.values, **receipt, "missing": parts}
        yield EvidenceFile(f"{folder}/record.json", [_json(values)])

    def _note(self, made: DeliveryRecord) -> None:
        answering, assignment = versions_of(made.delivery)
        if answering:
            self.answering.add(answering.pk)
            self.rules.add(answering.rule_id)
        if assignment:
            self.assignment.add(assignment.pk)
            self.rules.add(assignment.rule_id)
        self.counts.add(made)

    def _disappeared(self, ids: Sequence[UUID]) -> bytes:
        """Returns the rows of deliveries that existed when the export began, and counts them."""
        self.counts.missing += len(ids)
        rows = [[str(pk), "delivery", missing.DISAPPEARED] for pk in ids]
        return tables.csv_text(rows).encode()

    def _hashed(self, each: EvidenceFile) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        for part in each.parts:
            digest.update(part)
            size += len(part)
            yield part
        self.listed.append({"path": each.path, "size": size, "sha256": digest.hexdigest()})

    def _manifest(self) -> Iterator[bytes]:
        scope, agent = self.scope, self.scope.agent
        manifest = _json(
            {
                "format": FORMAT,
                "server": settings.WAKE_ORIGIN,
                "team": {"id": agent.team_id, "slug": agent.team.slug, "name": agent.team.name},
                "agent": {"id": str(agent.pk), "agent_id": agent.agent_id},
                "first_day": scope.first_day,
                "last_day": scope.last_day,
                "time_zone": "UTC",
                "made_at": self.at,
                "made_by": {"kind": self.by.kind, "id": self.by.id, "name": self.by.name},
                "counts": self.counts.by_name,
                "not_included": NOT_INCLUDED,
                "files": self.listed,
            }
        )
        yield manifest
        sha256 = hashlib.sha256(manifest).hexdigest()
        record("evidence.completed", by=self.by, of=agent, team=agent.team_id, manifest=sha256)


def _attached(delivery: Delivery, made: DeliveryRecord) -> Iterator[tuple[str, bytes]]:
    """Yields the attached files. Makes one query for each file, because the files may be too large
    to hold all of them at the same time."""
    for attachment in delivery.attachments.all():
        blob = attachment.blob
        try:
            yield blob.sha256, bytes(blob.content)
        except Unreadable:
            made.missing.add(f"file {blob.sha256}", missing.NO_KEY)


def _missing_rows(made: DeliveryRecord) -> bytes:
    rows = [[str(made.delivery.pk), part.what, part.why] for part in made.missing.parts]
    return tables.csv_text(rows).encode()


def _roles(roles: Roles) -> bytes:
    return tables.csv_text([tables.ROLES, *(tables.role_row(each) for each in roles.held)]).encode()


def _read(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while part := file.read(CHUNK):
        yield part


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, default=_plain) + "\n").encode()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return wire.instant(value)
    if isinstance(value, date | UUID):
        return str(value)
    raise TypeError(type(value).__name__)
