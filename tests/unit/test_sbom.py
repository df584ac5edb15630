"""The bill of materials: one component a wheel, with what its metadata says, and the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from tools.sbom import sbom

EPOCH = 1_700_000_000


def wheel(folder: Path, name: str, *lines: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *lines, "", "text"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{name}-1.0.dist-info/METADATA"), about)
    return path


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    return [
        wheel(tmp_path, "Ante_Up", "License-Expression: MIT OR Apache-2.0"),
        wheel(tmp_path, "burn", "Classifier: License :: OSI Approved :: BSD License"),
        wheel(tmp_path, "cut"),
    ]


def test_components(wheels: list[Path]) -> None:
    told = json.loads(sbom("0.1.0", EPOCH, wheels))
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.5")
    assert told["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    purls = [each["purl"] for each in told["components"]]
    assert purls == ["pkg:pypi/ante-up@1.0", "pkg:pypi/burn@1.0", "pkg:pypi/cut@1.0"]
    assert told["components"][0]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert told["components"][1]["licenses"] == [{"license": {"name": "BSD License"}}]
    assert "licenses" not in told["components"][2]
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    assert told["components"][0]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert told["dependencies"][0]["dependsOn"] == purls


def test_the_same_bytes_until_something_changes(wheels: list[Path]) -> None:
    first = sbom("0.1.0", EPOCH, wheels)
    assert sbom("0.1.0", EPOCH, wheels) == first
    assert json.loads(sbom("0.1.0", EPOCH, wheels[:2]))["serialNumber"] != json.loads(first)["serialNumber"]
