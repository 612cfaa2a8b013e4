# SPDX-License-Identifier: Apache-2.0
"""A report is laid out for the terminal that it is printed on, from 40 columns on."""

import fcntl
import os
import pty
import struct
import termios
import unicodedata
import unittest

from program import PROGRAM, ROOT, output


def on_terminal(columns, *arguments):
    """What the program prints on a terminal of so many columns."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.chdir(ROOT)
        os.execve(PROGRAM, [PROGRAM, *arguments], {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
    printed = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # what a closed terminal gives on Linux
            break
        if not piece:
            break
        printed += piece
    os.waitpid(child, 0)
    os.close(terminal)
    return printed.decode("utf-8").replace("\r\n", "\n")


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line if not unicodedata.combining(c))


class Terminal(unittest.TestCase):
    def test_no_line_is_wider(self):
        for arguments in (["diagnose", "examples/slow-link", "--section", "all"], ["inspect", "examples/healthy"],
                          ["diagnose", "examples/slow-loader"], ["compare", "examples/healthy", "examples/slow-link"]):
            for columns in (40, 60, 79, 80):
                with self.subTest(arguments=arguments, columns=columns):
                    lines = on_terminal(columns, *arguments, "--quiet").splitlines()
                    self.assertGreater(len(lines), 3)
                    self.assertEqual([], [line for line in lines if columns_of(line) > columns])

    def test_every_word_of_the_answer_is_there(self):
        words = output("diagnose", "examples/slow-loader", "--quiet").split()
        narrow = on_terminal(40, "diagnose", "examples/slow-loader", "--quiet").split()
        self.assertEqual([], [word for word in words if word.isalpha() and word not in narrow])


if __name__ == "__main__":
    unittest.main()
