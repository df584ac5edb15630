"""Verifies an export of a journal, from docs/journal.md alone: ``verify_export.py [FILE]``, or from stdin.

Plain Python, standard library only, and nothing of feltd: a second opinion. Exit code 0 and a
line of summary when everything holds; 1 and the first record that is wrong otherwise.
"""

import hashlib
import json
import sys
from collections import Counter

LAYOUT = ("ante.", "raise.", "progressive.")
INTO_POOL = ("minimum", "contribution", "overflow", "correction")
OUT_OF_POOL = ("award", "correction")


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

    def __init__(self, first_line):
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

    def take(self, raw):
        line = parse(raw)
        expect(set(line) == {"seq", "record", "sealed", "hash"}, "the line has other fields")
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
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self.round_closed(effect["summary"])

    def chain(self, record, sealed, told):
        data = canonical(record)
        self.head = hashlib.sha256(self.head + len(data).to_bytes(8, "big") + data + sealed).digest()
        expect(self.head.hex() == told, "the hash does not continue the chain")

    def seal(self, said, sealed):
        length = len(sealed or "") // 2
        shown = said["kind"] == "act" and said["name"] == "reveal" and said["args"].get("cards") == "sealed"
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
            name = said["key"]
        expect(name is None or name not in self.once, f"{name} comes twice")
        self.once.add(name)

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


def verify(lines):
    """The verifier after all lines. Raises Wrong, saying where."""
    lines = iter(lines)
    try:
        verifier = Verifier(next(lines, b""))
    except (Wrong, KeyError, TypeError) as error:
        raise Wrong(f"header: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            verifier.take(line)
        except (Wrong, ValueError) as error:
            raise Wrong(f"record {number}: {error}") from None
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise Wrong(f"record {number}: not a record of this format ({error!r})") from None
    return verifier


def main(arguments):
    if len(arguments) > 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        if arguments:
            with open(arguments[0], "rb") as file:
                done = verify(file)
        else:
            done = verify(sys.stdin.buffer)
    except (Wrong, OSError) as error:
        print(f"NOT verified: {error}")
        return 1
    pool = done.accounts["pool"]
    print(f"verified: {done.seq} records, {done.rounds} rounds, pool {pool}, head {done.head.hex()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
