"""A shuffling machine that speaks the Felt Device Protocol, version 1 (protocols.md section 1)."""

from __future__ import annotations

from typing import ClassVar, Final

from drivers import base, fdp
from drivers.base import ClearDeviceFault, Deal, NumberedCommand, Shuffle, StopDeal
from drivers.fdp_host import FdpHost
from drivers.protocol import Binding, DeviceProtocol, Line


class FdpShuffler(FdpHost):
    """Driver of an FDP shuffler. ``resume``: boot and ordinal of its last durable event; ``serial``:
    the only serial number that is listened to, "" for any."""

    ROLE: ClassVar[fdp.Role] = fdp.Role.SHUFFLER
    COMMANDS: ClassVar[tuple[type[NumberedCommand], ...]] = (Shuffle, Deal, StopDeal, ClearDeviceFault)

    def event_of(self, frame: fdp.EventFrame) -> base.DeviceEvent | None:
        """What an event frame of a shuffler says; None for one of another device."""
        match frame:
            case fdp.PacketOut():
                return base.PacketOut(frame.index, frame.count)
            case fdp.PacketTaken():
                return base.PacketTaken(frame.index)
            case fdp.ShuffleStarted():
                return base.ShuffleStarted(frame.shuffle_id)
            case fdp.ShuffleDone():
                return base.ShuffleDone(frame.shuffle_id, frame.counted)
            case fdp.CardsIn():
                return base.CardsReturned(frame.counted)
            case fdp.Cover():
                return base.CoverMoved(frame.open)
            case fdp.FaultSet():
                return base.FaultSet(frame.code, fdp.fault_text(frame.code), fdp.stops_deal(frame.code))
            case fdp.FaultCleared():
                return base.FaultCleared(frame.code)
            case _:
                return None


def _driver(binding: Binding) -> FdpShuffler:
    return FdpShuffler(binding.resume, binding.serial)


PROTOCOL: Final = DeviceProtocol(
    "shuffler",
    "fdp",
    Line(115_200, 8, "N", 1),
    _driver,
    simulator="drivers.shuffler.sim_fdp:ShufflerSim",
    traits=("serial", "seed", "boot"),
)
