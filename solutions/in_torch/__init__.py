"""Batched reference answers in torch, one module per topic."""
