"""Mutants that no test kills, and why each may live."""

EXCUSED: dict[str, dict[str, str]] = {}
