"""The same function, not legible: weights whose answer is in a key beside them, and the score of a claim about it."""
