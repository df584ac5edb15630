"""The journal: every input with what became of it, durable before anything acts on it."""

from daemon.journal.archive import KEPT_KEYS, KEPT_ROUNDS, ROTATE_ABOVE, Moved, Part, folder_of, manifest
from daemon.journal.chain import (
    NO_FACES,
    RECORD_FORMAT,
    Entry,
    Journal,
    JournalError,
    Outgoing,
    canonical_line,
    closes_round,
    header_bytes,
    link_hash,
)
from daemon.journal.file import (
    SqliteJournal,
    create,
    is_blank,
    missing_after,
    open_journal,
    require_new,
)
from daemon.journal.head import head_path, told_head
from daemon.journal.memory import MemoryJournal
from daemon.journal.schema import APPLICATION_ID, ARCHIVE_ID, FORMAT, KEPT, header_of, reading, sync_folder

__all__ = [
    "APPLICATION_ID",
    "ARCHIVE_ID",
    "FORMAT",
    "KEPT",
    "KEPT_KEYS",
    "KEPT_ROUNDS",
    "NO_FACES",
    "RECORD_FORMAT",
    "ROTATE_ABOVE",
    "Entry",
    "Journal",
    "JournalError",
    "MemoryJournal",
    "Moved",
    "Outgoing",
    "Part",
    "SqliteJournal",
    "canonical_line",
    "closes_round",
    "create",
    "folder_of",
    "head_path",
    "header_bytes",
    "header_of",
    "is_blank",
    "link_hash",
    "manifest",
    "missing_after",
    "open_journal",
    "reading",
    "require_new",
    "sync_folder",
    "told_head",
]
