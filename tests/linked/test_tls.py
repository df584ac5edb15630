"""Who is let in over a network: the lines of docs/linked.md, tried out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from daemon.linked import health, schema
from daemon.linked.authority import Authority
from daemon.linked.entries import Unreachable, fingerprint
from tests.linked.house import CURRENCY, House
from tests.linked.postgres import PASSWORD, Server, folder, needs_postgres, own
from tests.table.floor import JACKPOT

PAGE = Path(__file__).parents[2] / "docs" / "linked.md"
BEFORE = "host all admin 127.0.0.1/32 scram-sha-256\n"
AUTHORITY = "certificates of the tests"
pytestmark = needs_postgres


@dataclass
class Signer:
    """An authority that makes certificates into a folder."""

    place: Path
    name: str

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.subject = _name(f"{AUTHORITY}, {self.name}")
        self.file = self.place / f"{self.name}.crt"
        signed = _certificate(self.subject, self.subject, self.key, self.key, authority=True)
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def sign(self, subject: str) -> tuple[Path, Path]:
        """Certificate and key for ``subject``, also good for 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(_name(subject), self.subject, key, self.key)
        certificate, secret = (self.place / f"{self.name}-{subject}.{end}" for end in ("crt", "key"))
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        secret.touch(0o600)
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, secret


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    authority: bool = False,
) -> x509.Certificate:
    now = datetime.now(UTC)
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .sign(signer, hashes.SHA256())
    )


@dataclass
class Guarded:
    """A server with TLS that keeps the documented rules, and a table that is enrolled."""

    server: Server
    signer: Signer
    house: House
    role: str

    def rules(self, method: str) -> None:
        lines = re.findall(r"<!-- pg_hba: .*?-->\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
        assert len(lines) == 1
        text = lines[0].replace("10.20.0.0/16", "127.0.0.1/32").replace("hostssl felt ", "hostssl postgres ")
        (self.server.data / "pg_hba.conf").write_text(BEFORE + text.replace("scram-sha-256", method))
        self.server.sql("SELECT pg_reload_conf()")

    def join(self, options: str) -> None:
        with Authority.connect(f"{self.house.dsn(self.role)} {options}", self.house.pool) as link:
            link.join(self.house.name("1"), CURRENCY, fingerprint(JACKPOT))

    @property
    def trusting(self) -> str:
        return f"sslmode=verify-full sslrootcert={self.signer.file}"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    with folder() as place:
        signer = Signer(place, "ours")
        certificate, key = signer.sign("server")
        home = place / "primary"
        home.mkdir()
        own(place)
        tls = {"ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": key, "ssl_ca_file": signer.file}
        server = Server(home, {name: str(value) for name, value in tls.items()})
        server.create()
        server.start()
        try:
            with House(server) as house:
                yield Guarded(server, signer, house, house.enrol("1"))
        finally:
            server.stop()


def test_with_tls_and_a_password_a_table_is_let_in(guarded: Guarded) -> None:
    guarded.rules("scram-sha-256")
    guarded.join(f"{guarded.trusting} channel_binding=require")


def test_without_tls_it_is_not(guarded: Guarded) -> None:
    guarded.rules("scram-sha-256")
    with pytest.raises(Unreachable, match=r"pg_hba\.conf rejects"):
        guarded.join("sslmode=disable")


def test_a_server_that_another_authority_signed_is_not_trusted(guarded: Guarded) -> None:
    guarded.rules("scram-sha-256")
    other = Signer(guarded.signer.place, "other")
    with pytest.raises(Unreachable, match="certificate verify failed"):
        guarded.join(f"sslmode=verify-full sslrootcert={other.file}")


def test_a_certificate_lets_in_the_table_that_it_names(guarded: Guarded) -> None:
    guarded.rules("cert")
    certificate, key = guarded.signer.sign(guarded.role)
    guarded.join(f"{guarded.trusting} sslcert={certificate} sslkey={key}")


@pytest.mark.parametrize("who", ["of another table", "none"])
def test_another_certificate_does_not(guarded: Guarded, who: str) -> None:
    guarded.rules("cert")
    options = guarded.trusting
    if who != "none":
        certificate, key = guarded.signer.sign("feltd_other")
        options += f" sslcert={certificate} sslkey={key}"
    with pytest.raises(
        Unreachable, match=r"certificate authentication failed|requires a valid client certificate"
    ):
        guarded.join(options)


def test_the_check_has_nothing_to_say_of_the_documented_rules(guarded: Guarded) -> None:
    guarded.rules("scram-sha-256")
    assert health.examine(guarded.house.admin, guarded.house.pool).problems == ()


def test_the_check_names_the_rules_that_let_in_too_much(guarded: Guarded) -> None:
    rules = "host all all 10.0.0.0/8 scram-sha-256\nhostssl all all all md5\nlocal all all trust\n"
    (guarded.server.data / "pg_hba.conf").write_text(BEFORE + rules)
    assert health.examine(guarded.house.admin).problems == (
        "pg_hba.conf line 2: host lets in without TLS: hostssl",
        "pg_hba.conf line 3: md5 is neither scram-sha-256 nor cert",
    )


def test_a_role_without_a_password_is_not_let_in_by_one(guarded: Guarded) -> None:
    guarded.rules("scram-sha-256")
    role = schema.enrol(guarded.house.admin, guarded.house.pool, guarded.house.name("2"))
    with pytest.raises(Unreachable, match="password authentication failed"):
        Authority.connect(
            f"{guarded.server.dsn(role, password=PASSWORD)} {guarded.trusting}", guarded.house.pool
        )
