"""The paper, reproduced: one script a table or figure, run by `centrality reproduce NAME`.

A script has its constants on top, `cells(quick)`, which lists what is to be measured, and, where there are figures,
`draw(found, folder, quick)`. What is common to all is in `lab` (cells and their tables), `models` (the settings) and
`page` (README.md and BEYOND.md from the results); `benchmarks.cells` measures, cell by cell.
"""

ITEMS = ("contours", "table1", "runtime", "cifar", "mnist", "forda", "tweeteval", "table3", "schemes")
