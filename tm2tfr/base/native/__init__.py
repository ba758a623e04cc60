"""Machine code made by Numba, kept in the user's cache, and called without Numba.

Compiling takes seconds, importing Numba a quarter of a second; llvmlite loads cached code in a few milliseconds.
This part knows nothing of what the code does.
"""
