# SPDX-License-Identifier: Apache-2.0
"""Where the headway program is."""

import os
import shutil
import sys
import sysconfig


def find_program():
    """Path of the program: installed beside this Python, in the checkout this file is in, or on the PATH; else None."""
    here = os.path.dirname(os.path.abspath(__file__))
    candidates = [
        os.path.join(sysconfig.get_path("scripts"), "headway"),
        os.path.join(os.path.dirname(sys.executable), "headway"),
        os.path.join(os.path.dirname(os.path.dirname(here)), "headway"),
    ]
    for path in candidates:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which("headway")
