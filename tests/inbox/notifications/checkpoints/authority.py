"""Runs a time-stamp authority (RFC 3161) on this machine, with `openssl ts`."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.wake.callbacks.receiver import answering

CONFIGURATION = """\
[tsa]
default_tsa = us
[us]
serial = serial
signer_cert = signer.pem
certs = signer.pem
signer_key = key.pem
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ess_cert_id_alg = sha256
"""


class Authority:
    """Stamps queries in a folder of its own. `root` is the file with its root certificate."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root.pem"
        folder.mkdir()
        (folder / "tsa.cnf").write_text(CONFIGURATION)
        (folder / "serial").write_text("01\n")
        key, signer_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        root = certificate("Root", key, issuer="Root", issuer_key=key, is_root=True)
        signer = certificate("Stamps", signer_key, issuer="Root", issuer_key=key, is_root=False)
        self.root.write_bytes(root.public_bytes(serialization.Encoding.PEM))
        (folder / "signer.pem").write_bytes(signer.public_bytes(serialization.Encoding.PEM))
        (folder / "key.pem").write_bytes(
            signer_key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )

    def __call__(self, request: BaseHTTPRequestHandler, query: bytes) -> None:
        answering(200, self.stamp(query), Content_Type="application/timestamp-reply")(request)

    def stamp(self, query: bytes) -> bytes:
        (self.folder / "query").write_bytes(query)
        self.openssl("-reply", "-queryfile", "query", "-config", "tsa.cnf", "-out", "reply")
        return (self.folder / "reply").read_bytes()

    def stamp_of(self, text: bytes) -> bytes:
        """Returns a stamp of this text, made without a query from Wake."""
        (self.folder / "text").write_bytes(text)
        self.openssl("-query", "-data", "text", "-sha256", "-cert", "-out", "other")
        return self.stamp((self.folder / "other").read_bytes())

    def verifies(self, text: bytes, stamp: bytes) -> bool:
        (self.folder / "text").write_bytes(text)
        (self.folder / "stamp").write_bytes(stamp)
        files = ("-data", "text", "-in", "stamp", "-CAfile", "root.pem")
        return "Verification: OK" in self.openssl("-verify", *files)

    def openssl(self, *arguments: str) -> str:
        done = subprocess.run(
            ["openssl", "ts", *arguments],  # noqa: S607
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    *,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    is_root: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=not is_root,
        content_commitment=not is_root,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_root,
        crl_sign=is_root,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=is_root, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if not is_root:
        stamps = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(stamps, critical=True)
    return builder.sign(issuer_key, hashes.SHA256())
