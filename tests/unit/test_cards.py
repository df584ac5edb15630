"""Cards by name, and that a face-down card tells its face to nobody who does not turn it."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable

import msgspec
import pytest
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from drivers.base import CardDrawn, Emit
from drivers.cards import DECK, Card, FaceDownCard, Suit, parse_card, parse_cards

SECRET = parse_card("QH")


@pytest.fixture
def face() -> FaceDownCard:
    return FaceDownCard(SECRET)


def tells(text: str) -> bool:
    """Whether the text names the secret card, in the notation of any layer."""
    return any(name in text for name in ("QH", "HEART", str(SECRET.index), str(SECRET.rank)))


# --- cards by name ------------------------------------------------------------------------


def test_a_deck_is_52_different_cards_in_order() -> None:
    assert len({card.text for card in DECK}) == 52
    assert [card.index for card in DECK] == list(range(52))
    assert [(card.rank, card.suit) for card in DECK] == [(r, s) for r in range(2, 15) for s in Suit]


def test_suits_are_ordered_as_the_regulation_says() -> None:
    """CS-04: spade over heart over club over diamond."""
    assert Suit.SPADE > Suit.HEART > Suit.CLUB > Suit.DIAMOND


@pytest.mark.parametrize("card", DECK, ids=str)
def test_a_card_reads_back_from_its_own_text(card: Card) -> None:
    assert parse_card(str(card)) is card


@pytest.mark.parametrize(
    ("text", "rank", "suit"),
    [
        ("AS", 14, Suit.SPADE),
        ("10H", 10, Suit.HEART),
        ("TH", 10, Suit.HEART),
        ("tH", 10, Suit.HEART),
        ("kd", 13, Suit.DIAMOND),
        (" 2C\n", 2, Suit.CLUB),
    ],
)
def test_names_of_a_card(text: str, rank: int, suit: Suit) -> None:
    assert parse_card(text) is Card(rank, suit)


def test_ten_is_written_in_digits() -> None:
    assert str(parse_card("TS")) == "10S"


@pytest.mark.parametrize(
    "text", ["", "A", "S", "1S", "11S", "0H", "ASS", "SA", "A S", "A♠", "AX", "-2C", "2.0C"]
)
def test_anything_else_is_no_card(text: str) -> None:
    with pytest.raises(ValueError, match="not a card"):
        parse_card(text)


def test_cards_are_separated_by_blanks_or_commas() -> None:
    expected = [Card(14, Suit.SPADE), Card(10, Suit.HEART), Card(5, Suit.CLUB)]
    assert parse_cards("AS 10H 5C") == expected
    assert parse_cards(" as,TH ,\n5c, ") == expected
    assert parse_cards("") == []


def test_one_bad_card_is_named() -> None:
    with pytest.raises(ValueError, match="'1H'"):
        parse_cards("AS 1H 5C")


@pytest.mark.parametrize(("rank", "suit"), [(1, 0), (15, 0), (2, 4), (2, -1)])
def test_no_card_outside_the_deck(rank: int, suit: int) -> None:
    with pytest.raises(ValueError, match="no such card"):
        Card(rank, suit)  # type: ignore[arg-type]  # as it may come from a decoder


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda card: pickle.loads(pickle.dumps(card))])
def test_a_copied_card_is_the_same_object(again: Callable[[Card], Card]) -> None:
    assert again(SECRET) is SECRET


# --- a face-down card -----------------------------------------------------------------------


def test_turning_shows_the_face(face: FaceDownCard) -> None:
    assert face.turn() is SECRET


def test_equal_when_the_same_face_lies_below(face: FaceDownCard) -> None:
    assert face == FaceDownCard(SECRET)
    assert face != FaceDownCard(parse_card("QS"))
    assert face != SECRET


def test_the_hash_is_the_same_for_every_card() -> None:
    assert len({hash(FaceDownCard(card)) for card in DECK}) == 1


@pytest.mark.parametrize(
    "show",
    [
        repr,
        str,
        ascii,
        pprint.pformat,
        "{}".format,
        "{:>20}".format,
        "{!r:^30}".format,
        "%s".__mod__,
        "%r".__mod__,
        lambda face: f"{[face]} {(face,)} { ({face: face}) }",
    ],
)
def test_every_way_to_text_is_blind(show: Callable[[object], str]) -> None:
    """The same text for every card, so that nothing can be read from it."""
    shown = {show(FaceDownCard(card)) for card in DECK}
    assert len(shown) == 1
    assert "FaceDownCard" in shown.pop()


@pytest.mark.parametrize("shape", [CardDrawn, lambda face: Emit(CardDrawn(face, face_up=True), 1, 2)])
def test_an_event_that_carries_it_is_blind(
    shape: Callable[[FaceDownCard], object], face: FaceDownCard
) -> None:
    shown = repr(shape(face))
    assert "FaceDownCard" in shown
    assert not tells(shown)


def test_a_log_line_is_blind(face: FaceDownCard) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    record = logging.LogRecord("shoe", logging.INFO, "", 0, "drawn %s %r", (face, {"face": face}), None)
    handler.emit(record)
    assert stream.getvalue() == "drawn FaceDownCard {'face': FaceDownCard}\n"


@pytest.mark.parametrize(
    "blunder",
    [
        lambda face: face.rank,
        lambda face: face + 1,
        lambda face: face < face,
        lambda face: {}[face],
        lambda face: [].index(face),
        lambda face: parse_card(str(face)),
        lambda face: int(face),
    ],
)
def test_the_text_of_an_exception_is_blind(
    blunder: Callable[[FaceDownCard], object], face: FaceDownCard
) -> None:
    with pytest.raises((AttributeError, TypeError, KeyError, ValueError)) as failure:
        blunder(face)
    summary = traceback.TracebackException.from_exception(failure.value, capture_locals=True)
    shown = [*summary.format_exception_only(), *(str(frame.locals) for frame in summary.stack)]
    assert "FaceDownCard" in "".join(shown)
    assert not any("QH" in line for line in shown)


@pytest.mark.parametrize(
    "serialise",
    [
        *(lambda face, protocol=protocol: pickle.dumps(face, protocol) for protocol in range(6)),
        copy.copy,
        json.dumps,
        msgspec.json.encode,
        msgspec.msgpack.encode,
        msgspec.to_builtins,
        TypeAdapter(object).dump_json,
        lambda face: pickle.dumps([face]),
        lambda face: json.dumps({"face": face}),
        lambda face: msgspec.json.encode(CardDrawn(face)),
        lambda face: msgspec.msgpack.encode(CardDrawn(face)),
    ],
)
def test_it_cannot_be_serialised(serialise: Callable[[FaceDownCard], object], face: FaceDownCard) -> None:
    with pytest.raises((TypeError, PydanticSerializationError)) as failure:
        serialise(face)
    assert not tells(str(failure.value))


def test_what_holds_it_can_be_copied_and_stays_blind(face: FaceDownCard) -> None:
    assert copy.deepcopy(face) is face
    assert not tells(repr(dataclasses.asdict(CardDrawn(face))))


def test_it_keeps_no_dictionary(face: FaceDownCard) -> None:
    """``vars`` and whatever walks ``__dict__`` find nothing."""
    assert not hasattr(face, "__dict__")
