"""The kinds of findings: each is a function that finds one in a sheet, in the file of its topic, and one line here."""

from collections.abc import Callable, Iterator

from centrality.findings.finding import Finding
from centrality.findings.kinds.columns import (
    find_changes,
    find_gap_words,
    find_gaps_together,
    find_placeholder_numbers,
    find_slipped_values,
    find_unread_cells,
    find_unread_columns,
)
from centrality.findings.kinds.numbers import find_far_numbers, find_wrong_signs
from centrality.findings.kinds.rows import find_copies, find_labels, find_odd_groups, find_rows_apart, find_stretches
from centrality.findings.kinds.ties import (
    find_broken_sums,
    find_dates_out_of_order,
    find_mismatches,
    find_unfit_values,
)
from centrality.findings.kinds.words import find_faulty_texts, find_spellings
from centrality.findings.sheet import Sheet

# Of two findings about the same rows and columns, the one of the earlier kind stays.
KINDS: tuple[Callable[[Sheet], Iterator[Finding]], ...] = (
    find_stretches,
    find_placeholder_numbers,
    find_gap_words,
    find_broken_sums,
    find_dates_out_of_order,
    find_far_numbers,
    find_wrong_signs,
    find_faulty_texts,
    find_unread_columns,
    find_unread_cells,
    find_gaps_together,
    find_slipped_values,
    find_unfit_values,
    find_spellings,
    find_copies,
    find_labels,
    find_mismatches,
    find_changes,
    find_odd_groups,
    find_rows_apart,
)
