"""A decoder with its own matrices, as other programs run it: what PyTorch and ONNX have in common.

**Arithmetic.** Both do what `tm2tfr.engines.dense` does, as far as rounding goes. A score is added up component by
component, so that the tie-break comes last; ties are exact equality; the mean is a sum divided by a number.

**The order that is assumed** is that of a score's components, and no other. The exported program itself fixes it: it
multiplies and adds arrays of numbers, one component after the other (`torch/model.py`, and nodes Mul and Add of the
ONNX graph), not by a matrix product, whose kernel might add up otherwise. A product may be fused with the sum that follows
(fused multiply-add, as compilers do): it is then not rounded, and every bound of `tm2tfr.sources.turing.proof.rounding`
on what products and sums round holds all the more; 2hk, k² and their difference are exact with or without.

All else is matrix products, whose kernels add up in an order of their own, and may fuse a product with a sum. The proof
(`tm2tfr.sources.turing.proof`) shows that no order matters there: their sums are of integers and exact, or have two terms
that are not 0 at most, of which the products are exact. So the dense engine's certificate is that of these exports, if
kernels round each operation on single numbers as IEEE 754 says, and matrix products in float32 are not computed with fewer
digits (TF32, which PyTorch leaves off unless it is told otherwise).
"""
