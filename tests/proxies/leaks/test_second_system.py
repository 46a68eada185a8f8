"""Cases B1 to B13: the second system."""

from typing import Any

import pytest

from proxies.errors import (
    CutoffRefused,
)
from tests.proxies.leaks.desk import Desk


async def test_b2_a_policy_that_errs_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import MappingProxyType

    from proxies.asof import policies
    from proxies.asof.policies import POLICIES, Policy

    def broken(*args: Any) -> Any:
        raise ZeroDivisionError

    whole = POLICIES["filter_rows"]
    for policy in (Policy(prepare=broken, judge=whole.judge), Policy(prepare=whole.prepare, judge=broken)):
        monkeypatch.setattr(policies, "POLICIES", MappingProxyType({**POLICIES, "filter_rows": policy}))
        with pytest.raises(CutoffRefused):
            await Desk([{"timestamp": 1, "price": 1}])("polymarket/trades", market="0x1")
