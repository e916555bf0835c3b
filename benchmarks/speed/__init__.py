"""How fast: against the paper's own way, against peers, against the bare arithmetic; and on a GPU."""
