"""Labels: what every position of many runs holds and where every head looks, aligned with the exported models.

`variables` is the form of labels, `of_turing` to `of_logic` find them in the references' runs, `hooks` says at which hook
point of which exported model which of them is read, `shard` carries out a job, and `make` keeps the results in a folder.
"""
