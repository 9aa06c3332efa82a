"""PyTorch's own op database on "mps" against "cpu": ``python -m conformance.opinfo [OP...]``.

`units` says what there is to run and what PyTorch expects of a Mac, `check` runs one unit, `worker` is a process that runs
many, `report` adds up and reads the list of known differences.
"""

#: What the tests of the real backend expect of a unit.
WORKS, FAILS, SKIPPED = "works", "fails", "skipped"
