//! Fills tensors with random numbers.
