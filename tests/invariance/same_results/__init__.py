"""Ways to the same results: documents in other orders and forms, other threads and workers, interruptions.

A case is drawn from a number (`cases`, `columns`, `choices`), trained plainly (`trainings`), and then in
every other way that the documentation promises to make no difference (`forms`, `variants`). `shrinking`
makes a case that does smaller.
"""
