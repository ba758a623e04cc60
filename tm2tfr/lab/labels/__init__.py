"""Labels: the value of every variable at every position of many runs, and where every head looks, aligned with exports.

`runs` runs inputs and compares them with the reference; `files` writes the labels of a job; `hooks` says at which hook
point of which exported model which variable is read, `patches` how it is set; `make` chooses inputs and fills the folder.
"""
