"""Verifies an export, from docs/journal.md alone: ``verify_export.py [--anchor SEQ:HASH] [FILE]``, or stdin.

Plain Python and nothing of feltd: a second opinion. The standard library is enough for all but the
signatures, which need ``cryptography``; without it they are not checked, and the summary says so. Exit
code 0 and a line of summary when everything holds; 1 and the first record that is wrong otherwise.
"""

import hashlib
import json
import sys
from collections import Counter, OrderedDict

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

LAYOUT = ("ante.", "raise.", "progressive.")
INTO_POOL = ("minimum", "contribution", "overflow", "correction")
OUT_OF_POOL = ("award", "correction")
KEYS = 10_000
FIELDS = {"anchor", "hash", "record", "sealed", "seq"}


class Wrong(Exception):
    """What does not hold."""


def expect(holds, what):
    if not holds:
        raise Wrong(what)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse(line):
    """The value of a line, which must be written in its one canonical way."""
    try:
        value = json.loads(line)
        expect(canonical(value) + b"\n" == line, "the line is not canonical JSON")
    except (ValueError, RecursionError):
        raise Wrong("the line is not JSON") from None
    return value


class Verifier:
    """Takes the lines of one export, in order."""

    def __init__(self, first_line, kept=()):
        line = parse(first_line)
        expect(isinstance(line, dict) and set(line) == {"header"}, "the first line is not the header")
        self.header = line["header"]
        expect(self.header["format"] == 1, "only format 1 is known here")
        self.head = hashlib.sha256(canonical(self.header)).digest()
        self.seq = 0
        self.rounds = 0
        self.accounts = Counter()
        self.pool_moves = []
        self.epochs = Counter()
        self.once = set()
        self.keys = OrderedDict()
        self.signer = None
        self.anchors = 0
        self.kept = dict(kept)
        told = self.kept.pop(0, self.head.hex())  # number 0 is the header
        expect(told == self.head.hex(), f"the header's hash that was kept is {told}: this is another journal")

    def take(self, raw):
        line = parse(raw)
        expect(set(line) == FIELDS, "the line has other fields")
        expect(line["seq"] == self.seq + 1, f"number {self.seq + 1} was expected")
        self.seq = line["seq"]
        record = line["record"]
        sealed = bytes.fromhex(line["sealed"] or "")
        expect(line["sealed"] == (sealed.hex() or None), "the sealed face is not lower-case hexadecimal")
        self.chain(record, sealed, line["hash"])
        self.seal(record["input"], line["sealed"])
        self.identity(record["input"])
        for move in record.get("money", ()):
            self.move(*move)
        self.balances()
        if record["input"]["kind"] == "snapshot":
            self.snapshot(record["input"]["state"]["balances"])
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self.round_closed(effect["summary"])
        self.anchor(record, line["anchor"])

    def chain(self, record, sealed, told):
        data = canonical(record)
        self.head = hashlib.sha256(self.head + len(data).to_bytes(8, "big") + data + sealed).digest()
        expect(self.head.hex() == told, "the hash does not continue the chain")
        kept = self.kept.pop(self.seq, told)
        expect(kept == told, f"the hash that was kept is {kept}: the journal was written anew")

    def anchor(self, record, told):
        """From the first signer on, every record that closes a round is signed, and no other is."""
        if record["input"]["kind"] == "started" and "signer" in record["input"]:
            signer = record["input"]["signer"]
            expect(self.signer in (None, signer), "another signer than before")
            self.signer = signer
        closes = any(effect["effect"] == "round-closed" for effect in record.get("effects", ()))
        if not closes or self.signer is None:
            expect(told is None, "an anchor where none belongs")
            return
        expect(isinstance(told, str), "the anchor is missing")
        self.anchors += 1
        if Ed25519PublicKey is not None:
            signed = (
                b"feltd anchor 1\n" + self.seq.to_bytes(8, "big") + self.head + self.header["table"].encode()
            )
            signature = bytes.fromhex(told)
            expect(told == signature.hex(), "the anchor is not lower-case hexadecimal")
            try:
                Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.signer)).verify(signature, signed)
            except InvalidSignature:
                raise Wrong("the anchor is not signed by the signer") from None

    def snapshot(self, told):
        standing = {name: amount for name, amount in self.accounts.items() if amount}
        expect(told == standing, "the snapshot's balances are not what the money says")

    def end(self):
        """Nothing comes any more: what was kept must have been there."""
        for seq in self.kept:
            raise Wrong(f"record {seq} was there once, and the journal ends with {self.seq}")

    def seal(self, said, sealed):
        length = len(sealed or "") // 2
        shown = said["kind"] == "act" and said["name"] in ("reveal", "card")
        shown = shown and "sealed" in (said["args"].get("cards"), said["args"].get("card"))
        if said["kind"] == "device" and said.get("face") == "sealed":
            fits = length == 29
        else:
            fits = length >= 29 if shown else length == 0
        expect(fits, "the sealed faces are not there as the record says")

    def identity(self, said):
        """An event of a device comes once, and so does an act with a key."""
        name = None
        if said["kind"] == "device":
            self.epochs[said["device"]] += said["event"] == "restarted"
            if said.get("ordinal", 0):
                name = (said["device"], self.epochs[said["device"]], said["ordinal"])
        elif said["kind"] == "act" and said.get("key"):
            self.key(said["key"])
        expect(name is None or name not in self.once, f"{name} comes twice")
        self.once.add(name)

    def key(self, key):
        """No key twice among so many of them."""
        expect(key not in self.keys, f"the key {key} comes twice")
        self.keys[key] = self.seq
        if len(self.keys) > KEYS:
            self.keys.popitem(last=False)

    def move(self, source, target, amount, reason):
        expect(type(amount) is int and amount > 0, f"{amount!r} is no amount")
        self.accounts[source] -= amount
        self.accounts[target] += amount
        if target == "pool":
            expect(reason in INTO_POOL, f"{reason!r} is no reason to raise the pool")
            self.pool_moves.append((self.seq, reason, amount))
        elif source == "pool":
            expect(reason in OUT_OF_POOL, f"{reason!r} is no reason to lower the pool")
            self.pool_moves.append((self.seq, reason, -amount))

    def balances(self):
        expect(sum(self.accounts.values()) == 0, "the accounts do not sum to zero")
        for name, amount in self.accounts.items():
            may_owe = name == "house" or name.startswith("player.")
            expect(amount >= 0 or may_owe, f"the account {name} falls to {amount}")

    def round_closed(self, summary):
        self.rounds += 1
        lying = [name for name, amount in self.accounts.items() if amount and name.startswith(LAYOUT)]
        expect(not lying, f"the round is closed and money lies on {lying}")
        if "pool" in summary:
            self.pool_equation(summary["pool"], summary["inputs"][0])
        self.pool_moves.clear()

    def pool_equation(self, told, first):
        booked = Counter()
        for seq, reason, amount in self.pool_moves:
            if seq >= first:
                booked[reason] += amount
        now = self.accounts["pool"]
        expect(told["closed"] == now, f"the pool is told as {told['closed']}, the money says {now}")
        expect(told["contributed"] == booked["contribution"], "the contributions are told otherwise")
        expect(told["awarded"] == -booked["award"], "the awards are told otherwise")
        opened = told["opened"] + sum(booked.values())
        expect(opened == now, f"opened + contributed + minimum - awarded is {opened}, the pool is {now}")


def verify(lines, kept=()):
    """The verifier after all lines. Raises Wrong, saying where. ``kept``: numbers and hashes to look for."""
    lines = iter(lines)
    try:
        verifier = Verifier(next(lines, b""), kept)
    except (Wrong, KeyError, TypeError) as error:
        raise Wrong(f"header: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            verifier.take(line)
        except (Wrong, ValueError) as error:
            raise Wrong(f"record {number}: {error}") from None
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise Wrong(f"record {number}: not a record of this format ({error!r})") from None
    verifier.end()
    return verifier


def kept_in(arguments):
    """The anchors among the arguments, taken out of them."""
    kept = []
    while "--anchor" in arguments[:-1]:
        at = arguments.index("--anchor")
        seq, _, told = arguments[at + 1].partition(":")
        kept.append((int(seq), told))
        del arguments[at : at + 2]
    return kept


def main(arguments):
    try:
        kept = kept_in(arguments)
    except ValueError:
        arguments = ["no", "number"]
    if len(arguments) > 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        if arguments:
            with open(arguments[0], "rb") as file:
                done = verify(file, kept)
        else:
            done = verify(sys.stdin.buffer, kept)
    except (Wrong, OSError) as error:
        print(f"NOT verified: {error}")
        return 1
    print(summary(done))
    return 0


def summary(done):
    pool = done.accounts["pool"]
    text = f"verified: {done.seq} records, {done.rounds} rounds, pool {pool}, head {done.head.hex()}"
    if done.signer is None:
        return f"{text}, no signer"
    checked = "" if Ed25519PublicKey else " (signatures NOT checked: no cryptography)"
    return f"{text}, {done.anchors} anchors by {done.signer}{checked}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
