//! The plug-in for stock PyTorch: the C ABI under the C++ shim, and the op layer.
