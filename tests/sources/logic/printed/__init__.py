"""The paper's transformers as printed, in a model of their own: each misprint fails here, and its repair does not.

Yang, Strobl, Chiang and Angluin, *Simulating Hard Attention Using Soft Attention*. Nothing here uses the compiler, but
for `test_compiled`, which puts the witnesses to the weights.
"""
