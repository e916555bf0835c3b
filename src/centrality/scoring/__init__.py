"""Rows of any kind in bulk: read, scored and written batch by batch."""
