"""Tests that a run of the package `lydite` ends with the program that started it, however that ends."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

import lydite

#: Longest wait for what comes without it. It is no limit of a speed.
PATIENCE_S = 300

#: A program that starts a run, prints its process, and does what its first argument says.
PROGRAM = """
import lydite, os, sys, time
from lydite import _run

what, target = sys.argv[1:]
flags = {"warehouses": 500} if target == "gemel:" else {"warmup": 0}

def started(run):
    print(run._process.pid, flush=True)

def wait():
    time.sleep(600)

if what == "run":
    at_work = []
    start = _run.start
    _run.start = lambda *given, **named: at_work.append(start(*given, **named)) or at_work[0]
    lydite.run(target, duration="10m", progress=lambda progress: (started(at_work[0]), wait()), **flags)

run = lydite.start(target, duration="10m", **flags)
if what == "fork":
    if os.fork() == 0:
        # A child that lives on has no part in the run.
        os.close(1)
        wait()
    started(run)
    wait()
# From its first line on it is at work.
next(iter(run))
started(run)
if what == "hold":
    wait()
if what == "forget":
    del run
    sys.stdin.read()
"""


def is_at_work(pid):
    """Returns true if a process is there and has not ended. It may wait for a parent that reads its exit code."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class Ends(unittest.TestCase):
    def python(self, what, target="null:"):
        """Starts the program, and returns it with the process of its run."""
        child = subprocess.Popen(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", PROGRAM, what, target],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True,
        )

        def clear():
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()

        self.addCleanup(clear)
        pid = int(child.stdout.readline())
        self.addCleanup(lambda: is_at_work(pid) and os.kill(pid, signal.SIGKILL))
        return child, pid

    def assert_ends(self, pid):
        deadline = time.monotonic() + PATIENCE_S
        while is_at_work(pid):
            self.assertLess(time.monotonic(), deadline, "the run goes on")
            time.sleep(0.02)

    def test_a_run_ends_with_a_python_that_a_signal_ends(self):
        for sign in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP):
            with self.subTest(sign=sign):
                child, pid = self.python("run")
                self.assertTrue(is_at_work(pid))
                child.send_signal(sign)
                self.assertEqual(child.wait(), -sign)
                self.assert_ends(pid)

    def test_a_run_ends_with_the_group_of_its_python(self):
        child, pid = self.python("hold")
        os.killpg(child.pid, signal.SIGKILL)
        self.assert_ends(pid)

    def test_a_run_that_loads_ends_with_its_python(self):
        child, pid = self.python("hold", "gemel:")
        child.kill()
        self.assert_ends(pid)

    def test_a_run_ends_with_a_python_whose_forked_child_lives_on(self):
        child, pid = self.python("fork")
        child.kill()
        self.assert_ends(pid)
        os.killpg(child.pid, signal.SIGKILL)

    def test_a_run_ends_with_a_python_that_does_not_wait_for_it(self):
        child, pid = self.python("leave")
        child.wait()
        self.assert_ends(pid)

    def test_a_forgotten_run_ends(self):
        _, pid = self.python("forget")
        self.assert_ends(pid)

    def test_a_run_that_was_waited_for_leaves_no_process(self):
        with lydite.start("null:", duration="200ms", warmup=0) as run:
            guard = run._guard._shell
            run.result()
            self.assertIsNotNone(guard.returncode)
        with lydite.start("null:", duration="10m", warmup=0) as run:
            guard = run._guard._shell
        self.assertIsNotNone(guard.returncode)
        self.assertFalse(is_at_work(run._process.pid))

    def test_ctrl_c_while_a_block_ends_ends_the_run_at_once(self):
        real, pressed = lydite.Run.interrupt, []

        def interrupt(run):
            real(run)
            if not pressed:
                pressed.append(run)
                os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        with mock.patch.object(lydite.Run, "interrupt", interrupt):
            with self.assertRaises(KeyboardInterrupt):
                with lydite.start("null:", duration="10m", warmup=0) as run:
                    next(iter(run))
        self.assertFalse(is_at_work(run._process.pid))


if __name__ == "__main__":
    unittest.main()
