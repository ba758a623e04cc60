"""What a transformer is: weights as frozen data. Knows nothing of Turing machines."""
