"""Which protocols there are: ours, and those that other packages bring (docs/drivers.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final, cast

from drivers.base import Simulator
from drivers.protocol import DeviceProtocol
from drivers.shoe import angel_eye, bee_tek
from drivers.shoe import fdp as shoe_fdp
from drivers.shuffler import fdp as shuffler_fdp
from drivers.shuffler import reshuffled
from drivers.sign import alpha as sign_alpha
from drivers.sign import sas_progressive

GROUP: Final = "feltd.drivers"  # entry points "role.protocol = module:PROTOCOL"

_OURS: Final[Mapping[tuple[str, str], DeviceProtocol]] = {
    (each.role, each.name): each
    for each in (
        shoe_fdp.PROTOCOL,
        angel_eye.PROTOCOL,
        bee_tek.PROTOCOL,
        shuffler_fdp.PROTOCOL,
        reshuffled.PROTOCOL,
        sign_alpha.PROTOCOL,
        sas_progressive.PROTOCOL,
    )
}


class ProtocolError(Exception):
    """A protocol that is not there, or whose package cannot be used; the text says which and why."""


def known() -> list[tuple[str, str]]:
    """Role and name of every protocol, ours first. Nothing of another package is imported for it."""
    return [*_OURS, *sorted(key for key in _theirs() if key not in _OURS)]


def protocols(role: str) -> list[str]:
    """The protocols that a device of this role may speak."""
    return [name for of, name in known() if of == role]


def protocol(role: str, name: str) -> DeviceProtocol:
    """The protocol of this name for this role. Raises ProtocolError.

    Two packages that claim one name are both refused: which of them was meant cannot be known.
    """
    theirs = _theirs().get((role, name), [])
    ours = _OURS.get((role, name))
    if len(theirs) + (ours is not None) > 1:
        claimants = ", ".join(["feltd"] * (ours is not None) + [_package(each) for each in theirs])
        raise ProtocolError(f"{role} protocol {name!r} is claimed by {claimants}: uninstall one")
    if ours is not None:
        return ours
    if not theirs:
        if not (speak := protocols(role)):
            roles = ", ".join(dict.fromkeys(of for of, _ in known()))
            raise ProtocolError(f"{role!r} is no role of a device: {roles}")
        wanted = " or ".join(map(repr, speak))
        raise ProtocolError(f"must be {wanted} for a {role}, not {name!r}")
    return _loaded(theirs[0], role, name)


def simulator(of: DeviceProtocol) -> Callable[..., Simulator]:
    """The simulated device of a protocol, as it is made. Raises ProtocolError."""
    module, _, name = of.simulator.partition(":")
    if not module:
        raise ProtocolError(f"no simulated {of.role} speaks {of.name}")
    return cast(Callable[..., Simulator], getattr(import_module(module), name))


@cache  # what is installed does not change under a process, and looking takes 50 ms
def _theirs() -> dict[tuple[str, str], list[EntryPoint]]:
    found: dict[tuple[str, str], list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        role, _, name = point.name.partition(".")
        found.setdefault((role, name), []).append(point)
    return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _loaded(point: EntryPoint, role: str, name: str) -> DeviceProtocol:
    """Whatever another package does wrong becomes one sentence that names it."""
    try:
        found = point.load()
    except Exception as error:
        why = f"cannot be loaded: {type(error).__name__}: {error}"
        raise ProtocolError(f"{role} protocol {name!r} of {_package(point)} {why}") from error
    if not isinstance(found, DeviceProtocol) or (found.role, found.name) != (role, name):
        raise ProtocolError(f"{point.value} of {_package(point)} is no DeviceProtocol for {role} {name!r}")
    return found
