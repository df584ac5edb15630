"""What an auditor does with a journal: verify it and export it. Read-only, and never with the key to verify.

``docs/journal.md`` describes the same for people who write a verifier of their own.
"""

from daemon.audit.check import MOST_ERRORS
from daemon.audit.ledger import Ledger
from daemon.audit.lines import export, export_to
from daemon.audit.passes import ArchiveWatch, Verification, verify, verify_archives, verify_open

__all__ = [
    "MOST_ERRORS",
    "ArchiveWatch",
    "Ledger",
    "Verification",
    "export",
    "export_to",
    "verify",
    "verify_archives",
    "verify_open",
]
