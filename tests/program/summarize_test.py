# SPDX-License-Identifier: Apache-2.0
"""headway summarize, started by a launcher once a rank, all into one folder."""

import json
import os
import subprocess
import tempfile
import unittest

from program import PROGRAM, ROOT, output

RANKS = 4


def trace(**fields):
    """A small trace that does not tell its rank; `fields` may."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100 + 10 * i, "dur": 5}
              for i in range(50)]
    return json.dumps({**fields, "traceEvents": events})


class Launched(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")

    def launch(self, variable, path_of):
        """One process a rank at once; their stderr."""
        plain = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "SLURM_PROCID")}
        running = [subprocess.Popen([PROGRAM, "summarize", path_of(rank), "-o", self.out], cwd=ROOT, text=True,
                                    stderr=subprocess.PIPE, env={**plain, variable: str(rank), "WORLD_SIZE": str(RANKS)})
                   for rank in range(RANKS)]
        said = [process.communicate()[1] for process in running]
        self.assertEqual([0] * RANKS, [process.returncode for process in running], said)

    def own_file(self, rank, text):
        folder = os.path.join(self.folder, f"host{'abcd'[rank]}")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def patterns(self):
        return sorted(os.listdir(self.out))

    def test_files_that_do_not_tell_their_rank_take_that_of_their_process(self):
        for variable in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
            with self.subTest(variable):
                self.launch(variable, lambda rank: self.own_file(rank, trace()))
                self.assertEqual(self.patterns(), [f"rank{rank}.hwp" for rank in range(RANKS)])
                for name in self.patterns():
                    os.remove(os.path.join(self.out, name))

    def test_what_a_file_tells_comes_first(self):
        def told(rank):
            return trace(distributedInfo={"rank": RANKS - 1 - rank, "world_size": RANKS})
        self.launch("RANK", lambda rank: self.own_file(rank, told(rank)))
        for rank in range(RANKS):
            found = json.loads(output("inspect", os.path.join(self.out, f"rank{rank}.hwp"), "--json"))["ranks"][0]
            self.assertEqual(found["file"].rsplit("/", 1)[1], f"rank{rank}.hwp")
            self.assertEqual((found["rank"], found["rank_from"]), (rank, "content"))

    def test_all_given_the_same_folder_leave_what_one_leaves(self):
        alone = os.path.join(self.folder, "alone")
        output("summarize", "examples/healthy", "-o", alone, "--quiet")
        self.launch("RANK", lambda rank: "examples/healthy")
        self.assertEqual(self.patterns(), sorted(os.listdir(alone)))  # and no temporary file
        for name in self.patterns():
            with open(os.path.join(alone, name), "rb") as one, open(os.path.join(self.out, name), "rb") as many:
                self.assertEqual(one.read(), many.read(), name)


if __name__ == "__main__":
    unittest.main()
