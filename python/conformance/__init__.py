"""Conformance with real libraries: what Apple's compiler made, run here and compared with ATen's CPU results.

A tool of development, not part of the installed package. `wheels` fetches the material, `families` holds the numeric part.
"""
