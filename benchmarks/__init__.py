"""Measured claims: each module is one command, `python -m benchmarks.NAME`, and leaves results/NAME.csv."""
