"""Choose rows for common tasks: odd rows, rows to keep or to label, wrong labels, copies."""
