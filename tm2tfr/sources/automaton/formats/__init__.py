"""The formats of finite automata."""
