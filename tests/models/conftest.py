"""What tests of model clients begin with: a server on loopback that answers from a list."""

from collections.abc import Iterator

import pytest

from tests.fakes.loopback import Recorded, serving_json


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    fake = Recorded()
    with serving_json(fake.answer) as fake.url:
        yield fake
