"""Turn numbers into meaning, without tensors: calibration, p-values, drift, reasons and reports."""
