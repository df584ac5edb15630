"""``make sbom``: what the package brings, as CycloneDX 1.5 in JSON. The same wheels give the same bytes."""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from tools.wheels import ROOT, runtime_wheels

Component = dict[str, Any]


def sbom(version: str, epoch: int, wheels: Sequence[Path]) -> str:
    """The bill of materials of feltd ``version``, dated ``epoch`` (Unix seconds)."""
    parts = [_component(wheel) for wheel in wheels]
    product = f"pkg:pypi/feltd@{version}"
    told = json.dumps([version, parts], sort_keys=True)
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, told)}",
            "version": 1,
            "metadata": {
                "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "component": {
                    "type": "application",
                    "bom-ref": product,
                    "name": "feltd",
                    "version": version,
                    "purl": product,
                    "licenses": [{"license": {"id": "MIT"}}],
                },
            },
            "components": parts,
            "dependencies": [{"ref": product, "dependsOn": [part["bom-ref"] for part in parts]}],
        },
        indent=2,
    )


def _component(wheel: Path) -> Component:
    about = _metadata(wheel)
    name, version = about["Name"].lower().replace("_", "-"), about["Version"]
    purl = f"pkg:pypi/{name}@{version}"
    component: Component = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
    }
    if licence := _licence(about):
        component["licenses"] = [licence]
    return component


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode(), headersonly=True)


def _licence(about: Message) -> Component | None:
    """As the package says it: an SPDX expression, or its own words."""
    if expression := about.get("License-Expression"):
        return {"expression": expression}
    told = (about.get("License") or "").strip().splitlines()
    classifiers = [line for line in about.get_all("Classifier", []) if line.startswith("License ::")]
    classified = [line.rpartition(" :: ")[2] for line in classifiers]
    named = next(iter(classified or told), "")
    return {"license": {"name": named}} if named else None


def main() -> None:
    """Write ``dist/feltd-VERSION.cdx.json``."""
    from daemon import __version__
    from tools.deb import source_epoch

    target = ROOT / "dist" / f"feltd-{__version__}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(sbom(__version__, source_epoch(), runtime_wheels()) + "\n")
    print(target.relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    main()
