"""Whether a run can be believed and handed over: verification, audit, the report, the package."""
