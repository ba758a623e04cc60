"""Labels: the value of every variable at every position of many runs, and where every head looks, aligned with exports.

`runs` runs the inputs of a job, compares them with the reference and writes their labels; `hooks` says at which hook point
of which exported model which variable is read; `make` chooses the inputs and fills the folder.
"""
