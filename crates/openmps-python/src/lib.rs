//! The Python extension module: shader libraries, kernels, and the symbols that the plug-in links.
