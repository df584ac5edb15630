"""``feltd bench|record|sim|suggest``: devices, without a table."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daemon.cli.answers import FAILED, Json, address_of, fail, pairs_of, tell

if TYPE_CHECKING:
    from drivers.protocol import DeviceProtocol


def bench(
    role: Annotated[str, typer.Argument(metavar="shoe|shuffler|sign")],
    protocol: Annotated[str, typer.Option(help="What it speaks.")],
    link: Annotated[str, typer.Option(help="A path, or serial: tcp: usb: as in a configuration.")],
    page: Annotated[Path | None, typer.Option("--report", help="Write the report, one page of HTML.")] = None,
    serial: Annotated[str, typer.Option(help="The serial number that it must have.")] = "",
    control: Annotated[
        Path | None, typer.Option(help="The control socket of a simulated device; found if left out.")
    ] = None,
    patience: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds for each request: 60 at a terminal, else 10.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Accept one device: every check of its role, on a technician's bench."""
    from daemon.aside import KeptError
    from daemon.bench import command, terminal
    from daemon.registry import ProtocolError

    options = command.BenchOptions(role, protocol, link, serial, control, patience)
    try:
        report = command.bench(options, page)
    except (ValueError, ProtocolError) as error:
        raise typer.BadParameter(str(error)) from None
    except KeptError as error:
        fail(str(error), as_json)
    except OSError as error:
        fail(f"{error.filename or page}: {error.strerror}", as_json)
    tell(report.json(), as_json, lambda _: terminal.summary(report, str(page or "")))
    raise typer.Exit(0 if report.passed else FAILED)


def record(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; it shows faces in clear.")],
    link: Annotated[str, typer.Option(help="A path, or serial: tcp: usb: as in a configuration.")],
    role: Annotated[str, typer.Option(help="With --protocol: drive the device, and acknowledge.")] = "",
    protocol: Annotated[str, typer.Option(help="What it speaks. Left out: listen, write nothing.")] = "",
    listen: Annotated[bool, typer.Option("--listen", help="Name the protocol, but write nothing.")] = False,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Of its driver.")] = None,
    meter: Annotated[str, typer.Option(help="What a sign is told to show.")] = "",
    device: Annotated[str, typer.Option(help="Its serial number, for the header.")] = "",
    firmware: Annotated[str, typer.Option(help="Its firmware, for the header.")] = "",
    who: Annotated[str, typer.Option(help="Who records, for the header.")] = "",
    note: Annotated[str, typer.Option(help="What is done meanwhile, for the header.")] = "",
    seconds: Annotated[float | None, typer.Option(min=0, help="How long; else until a signal.")] = None,
    as_json: Json = False,
) -> None:
    """Record every byte of a link, with its time, until SIGINT or SIGTERM."""
    import asyncio

    from daemon import show
    from daemon.links.base import LinkError
    from daemon.record import RecordOptions, told
    from daemon.record import record as listen_to
    from daemon.registry import ProtocolError

    given = pairs_of(option or [])
    options = RecordOptions(
        link, file, role, protocol, listen, who, note, device, firmware, seconds, meter, given
    )
    try:
        options.check()
    except (ValueError, ProtocolError) as error:
        raise typer.BadParameter(str(error)) from None
    try:
        tally = asyncio.run(listen_to(options, lambda tally: print(told(tally), file=sys.stderr)))
    except LinkError as error:
        fail(f"{error}. {error.cause.remedy}", as_json)
    except OSError as error:
        fail(f"{error.filename or file}: {error.strerror}", as_json)
    tell({"file": str(file), **dataclasses.asdict(tally)}, as_json, show.facts)


def sim(
    role: Annotated[str, typer.Argument(metavar="shoe|shuffler|sign")],
    protocol: Annotated[str, typer.Option(help="What it speaks.")],
    pty: Annotated[Path | None, typer.Option(help="A fresh PTY behind this symlink.")] = None,
    tcp: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="A listening port.")] = None,
    control: Annotated[Path | None, typer.Option(help="The socket for test verbs.")] = None,
    serial: Annotated[str | None, typer.Option(help="Its serial number.")] = None,
    seed: Annotated[int | None, typer.Option(help="The order of its cards.")] = None,
    boot: Annotated[
        int | None, typer.Option(min=1, max=0xFFFF, help="Its boot id; drawn if left out.")
    ] = None,
) -> None:
    """Run one simulated device until SIGTERM or SIGINT."""
    import asyncio

    from daemon.registry import ProtocolError, simulator
    from daemon.registry import protocol as protocol_of
    from daemon.simhost import run_simulator

    try:
        speaks = protocol_of(role, protocol)
        make = simulator(speaks)
    except ProtocolError as error:
        raise typer.BadParameter(str(error)) from None
    if (pty is None) == (tcp is None):
        raise typer.BadParameter("give one of --pty and --tcp")
    device = make(**_traits(speaks, serial, seed, boot))
    address = address_of(tcp) if tcp else None
    try:
        asyncio.run(run_simulator(device, pty_path=pty, tcp=address, control_path=control))
    except OSError as error:
        fail(f"{error.filename or pty or tcp}: {error.strerror}")


def _traits(
    speaks: DeviceProtocol, serial: str | None, seed: int | None, boot: int | None
) -> dict[str, object]:
    """What one simulator is told. A new process is a new boot of the device, so it has a new boot id."""
    named = {"serial": serial, "seed": seed, "boot": boot}
    given: dict[str, object] = {key: value for key, value in named.items() if value is not None}
    unknown = [key for key in given if key not in speaks.traits]
    if unknown:
        raise typer.BadParameter(f"a device that speaks {speaks.name} has no {' and no '.join(unknown)}")
    if "boot" in speaks.traits:
        given.setdefault("boot", int.from_bytes(os.urandom(2)) or 1)
    return given


def suggest(as_json: Json = False) -> None:
    """What is plugged in, and the lines of configuration and udev that would bind it. Opens no port."""
    from daemon.suggest import found, show

    tell(found(), as_json, show)
