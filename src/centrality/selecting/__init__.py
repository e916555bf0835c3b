"""From a ranking to a finished job: which rows are odd, which to keep or to label, which are copies."""
