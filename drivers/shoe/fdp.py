"""A card shoe that speaks the Felt Device Protocol, version 1 (protocols.md section 1)."""

from __future__ import annotations

from typing import ClassVar, Final

from drivers import fdp
from drivers.base import (
    CardDrawn,
    ClearDeviceFault,
    CoverMoved,
    CutCardDrawn,
    DeviceEvent,
    FaultCleared,
    FaultSet,
    LockShoe,
    NumberedCommand,
    UnlockShoe,
)
from drivers.fdp_host import FdpHost
from drivers.protocol import Binding, DeviceProtocol, Line


class FdpShoe(FdpHost):
    """Driver of an FDP shoe. ``resume``: boot and ordinal of its last durable event; ``serial``:
    the only serial number that is listened to, "" for any."""

    ROLE: ClassVar[fdp.Role] = fdp.Role.SHOE
    COMMANDS: ClassVar[tuple[type[NumberedCommand], ...]] = (LockShoe, UnlockShoe, ClearDeviceFault)

    def event_of(self, frame: fdp.EventFrame) -> DeviceEvent | None:
        """What an event frame of a shoe says; None for one of another device."""
        match frame:
            case fdp.CardOut():
                return CardDrawn(frame.face, frame.face_up, frame.sure, frame.foreign)
            case fdp.CutCard():
                return CutCardDrawn()
            case fdp.Cover():
                return CoverMoved(frame.open)
            case fdp.FaultSet():
                return FaultSet(frame.code, fdp.fault_text(frame.code), fdp.stops_deal(frame.code))
            case fdp.FaultCleared():
                return FaultCleared(frame.code)
            case _:
                return None


def _driver(binding: Binding) -> FdpShoe:
    return FdpShoe(binding.resume, binding.serial)


PROTOCOL: Final = DeviceProtocol(
    "shoe",
    "fdp",
    Line(115_200, 8, "N", 1),
    _driver,
    simulator="drivers.shoe.sim_fdp:ShoeSim",
    traits=("serial", "seed", "boot"),
)
