"""A data source: one endpoint of a vendor that answers ``sorry`` with status 200."""

from proxies.catalogue.plugins import SourcePlugin
from proxies.errors import QuotaExhausted
from proxies.vendors.base import HttpSource

CATALOGUE = """
source: stranger
title: Prices of a stranger
about: Prices of a stranger.
hosts: {api: http://127.0.0.1:1}
upstream: STRANGER
endpoints:
  - path: stranger/prices
    call: GET v1/prices
    about: One row per day.
    params: {symbol: {required: true, example: X}}
    rows: '[]'
    fields: {day: '', price: ''}
    as_of: {policy: filter_rows, residual: high, stamp: {field: day, grain: day}}
"""


class StrangerSource(HttpSource):
    def complaint(self, endpoint, response, payload):
        if isinstance(payload, dict) and payload.get("sorry"):
            return QuotaExhausted("the stranger says sorry: wait")
        return super().complaint(endpoint, response, payload)


PLUGIN = SourcePlugin(yaml=CATALOGUE, source=StrangerSource)
