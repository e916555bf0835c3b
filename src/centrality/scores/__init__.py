"""From numbers to meaning, without tensors: calibration, p-values, drift, reasons and reports."""
