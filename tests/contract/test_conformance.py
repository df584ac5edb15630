"""Every protocol that is registered, over every link."""

from __future__ import annotations

import pytest

from daemon import registry
from drivers.protocol import DeviceProtocol
from tests.contract import conformance


@pytest.fixture(params=registry.known(), ids="-".join)
def speaks(request: pytest.FixtureRequest) -> DeviceProtocol:
    return registry.protocol(*request.param)


@pytest.fixture(params=conformance.LINKS)
def ends(request: pytest.FixtureRequest) -> conformance.Ends:
    return conformance.LINKS[request.param]


class TestConformance(conformance.Conformance):
    pass
