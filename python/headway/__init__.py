# SPDX-License-Identifier: Apache-2.0
"""headway: finds out why a distributed training job is slow.

The program does the work (``headway diagnose DIR``, or ``python -m headway diagnose DIR``). This package needs nothing
but the standard library.
"""

from importlib import metadata

try:
    __version__ = metadata.version("headway")
except metadata.PackageNotFoundError:  # imported from a checkout
    __version__ = "0+checkout"

__all__ = ["__version__"]
