"""Interpret the networks' outputs, without torch: calibration, p-values, drift, reasons and reports."""
