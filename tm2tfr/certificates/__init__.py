"""The kit of certificates: what proofs about weights share, whatever the weights compute. Knows no source."""
