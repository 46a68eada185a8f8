"""The JSON documents of the science commands, as functions from tables to plain values.

The command line, MCP and Python all show the same numbers, so each document is built once, in this folder: no option
parsing, no printing. Keys and their order are a contract with whoever reads the JSON. Exams have theirs in
`workbench.questions.sets.exams`.
"""

from workbench.science.documents.calibration_documents import (
    calibrated_document,
    calibration_document,
    priors_document,
)
from workbench.science.documents.comparison_documents import compare_document, paper_tables_document
from workbench.science.documents.quantile_documents import quantile_document
from workbench.science.documents.record_documents import PastTable, record_document, record_documents
from workbench.science.documents.score_documents import (
    POSITION_COLUMNS,
    BettingRules,
    Document,
    UtilityRule,
    consistency_entry,
    elicit_document,
    market_forecasts,
    method_names,
    pooled_forecasts,
    position_rows,
    raw_forecasts,
    returns_document,
    score_document,
)

__all__ = [
    "POSITION_COLUMNS",
    "BettingRules",
    "Document",
    "PastTable",
    "UtilityRule",
    "calibrated_document",
    "calibration_document",
    "compare_document",
    "consistency_entry",
    "elicit_document",
    "market_forecasts",
    "method_names",
    "paper_tables_document",
    "pooled_forecasts",
    "position_rows",
    "priors_document",
    "quantile_document",
    "raw_forecasts",
    "record_document",
    "record_documents",
    "returns_document",
    "score_document",
]
