"""Outliers without labels: FUSE as it comes beside its peers, by the two protocols of the field."""
