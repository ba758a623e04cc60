"""A decoder as an ONNX graph with average-hard attention and its own matrices."""
