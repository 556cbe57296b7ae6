"""The supervisor against real programs: rows 1-6, 9, 12, 23 and 25 of the failure classes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capra.errors import TargetError
from capra.targets.supervisor import (
    Facts,
    Job,
    Limits,
    Supervised,
    clean_environment,
    delegated_cgroup,
    run,
    supervisor_path,
)
from capra.testing import hostile

SLACK = 20.0  # seconds; the machine may be busy with other things
UNIFIED = Path("/sys/fs/cgroup/unified")  # version 2 beside version 1: accounting and kill, no controllers


def processes_of(scratch: Path) -> set[int]:
    """Everybody whose HOME is in that directory, that is whoever descends from one of our targets."""
    needle = b"HOME=" + os.fsencode(scratch)
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                environment = Path("/proc", name, "environ").read_bytes()
            except OSError:
                continue
            if needle in environment:
                found.add(int(name))
    return found


def until(condition: Callable[[], Any], seconds: float = SLACK) -> Any:
    """What ``condition`` gives once it gives something."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
    return value


def alive(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the private directories are; afterwards nothing may be left, neither files nor processes."""
    directory = tmp_path_factory.mktemp("scratch")
    yield directory
    assert os.listdir(directory) == []
    assert processes_of(directory) == set()


@pytest.fixture(autouse=True)
def _nothing_left(scratch: Path) -> Iterator[None]:
    yield
    assert processes_of(scratch) == set()
    assert os.listdir(scratch) == []


@pytest.fixture
def go(scratch: Path) -> Callable[..., Facts]:
    def go(argv: list[str], /, **limits: Any) -> Facts:
        return run(Job(argv, Limits(**({"wall": 60.0} | limits)), scratch=scratch))

    return go


@pytest.fixture
def start(scratch: Path) -> Callable[..., Supervised]:
    def start(argv: list[str], /, _testing: dict[str, float] | None = None, **limits: Any) -> Supervised:
        job = Job(argv, Limits(**({"wall": 60.0} | limits)), scratch=scratch)
        return Supervised.start(job, _testing=_testing)

    return start


def finish(run: Supervised) -> Facts:
    facts = run.wait(60.0)
    assert facts is not None
    return facts


# ---- ordinary runs


def test_success(go: Callable[..., Facts]) -> None:
    facts = go(["sh", "-c", "echo out; echo err >&2; exit 7"], cpu=5.0)
    assert (facts.exit_code, facts.signal, facts.limit, facts.stopped, facts.lost) == (
        7,
        None,
        None,
        False,
        False,
    )
    assert (facts.stdout.head, facts.stderr.head, facts.stdout.dropped) == (b"out\n", b"err\n", 0)
    assert (facts.cutoff, facts.backend, facts.stragglers, facts.start_error) == (5.0, "process", 0, None)
    assert 0 < facts.cpu < 5
    assert facts.memory > 100_000


@pytest.mark.parametrize("scan", [0, 1])
def test_cpu_of_children_is_counted_once(start: Callable[..., Supervised], scan: int) -> None:
    """Three processes of 0.3 s: two reaped by the target, one orphaned and reaped by us."""
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    python = [sys.executable, "-E", "-S", "-c"]
    script = f"""
        import os, subprocess, time
        for _ in range(2): subprocess.run({[*python, burn]!r})
        if os.fork() == 0:
            while time.process_time() < 0.3: pass
            os._exit(0)
        os.wait()
    """
    with start([*python, textwrap.dedent(script)], {"scan": scan}, cpu=30.0) as run:
        facts = finish(run)
    assert facts.exit_code == 0
    assert 0.9 <= facts.cpu < 1.6  # three interpreters start, too
    assert facts.processes >= 2


def test_cpu_of_children_nobody_waits_for(go: Callable[..., Facts]) -> None:
    """All but what each used after the last look at it, and rounding."""
    facts = go(hostile.unreaped_children(1.0, 2), cpu=30.0)
    assert facts.exit_code == 0
    assert 1.4 <= facts.cpu < 3.0


def test_start_errors_are_not_exit_codes(go: Callable[..., Facts], tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo a shell would run this\n")
    for program in ("no-such-program", "/no/such/program", str(plain), str(tmp_path)):
        facts = go([program])
        assert facts.start_error is not None
        assert program in facts.start_error
        assert (facts.exit_code, facts.stdout.head) == (None, b"")
    plain.chmod(0o755)
    facts = go([str(plain)])
    assert "Exec format error" in str(facts.start_error)
    assert go(["sh", "-c", "exit 127"]).exit_code == 127


def test_success_then_segv(go: Callable[..., Facts]) -> None:
    facts = go(hostile.success_then_segv())
    assert (facts.exit_code, facts.signal, facts.stdout.text()) == (None, signal.SIGSEGV, "s SATISFIABLE\n")
    assert not facts.stopped


def test_stdin_is_empty(go: Callable[..., Facts]) -> None:
    assert go(hostile.stdin_reader()).stdout.text() == "0 bytes\n"


NASTY = [
    "a b;touch pwned $(id).cnf",
    "",
    " ",
    "'\"\\`",
    "-x=\n\t",
    "ä∀😀",
    os.fsdecode(b"\xff\xfe=\x01"),
    "",
    "*",
]


def test_argv_and_environment_arrive_byte_equal(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "sings")
    monkeypatch.setenv("LICENCE", "a=b\n\udcff")
    job = Job(hostile.echo(*NASTY), Limits(wall=60.0), clean_environment(["LICENCE", "ABSENT"]), scratch=scratch)
    with Supervised.start(job) as run:
        facts = finish(run)
        private = str(run.directory)
        assert os.listdir(private) == []
    arrived = json.loads(facts.stdout.head)
    assert [bytes.fromhex(argument) for argument in arrived["argv"]] == [os.fsencode(text) for text in NASTY]
    environment = {os.fsdecode(bytes.fromhex(k)): os.fsdecode(bytes.fromhex(v)) for k, v in arrived["environ"].items()}
    environment.pop("LC_CTYPE", None)  # the interpreter sets it for itself under LANG=C
    assert environment == {
        "PATH": os.environ["PATH"],
        "LICENCE": "a=b\n\udcff",
        "LANG": "C",
        "OMP_NUM_THREADS": "1",
        "HOME": private,
        "TMPDIR": private,
    }
    assert arrived["directory"] == private
    assert arrived["session"] == arrived["pid"]
    assert (arrived["core_size"], arrived["oom_score_adj"]) == (0, 1000)
    assert arrived["descriptors"] in ([0, 1, 2], [0, 1, 2, 3])  # the last one is the listing itself


def test_arguments_too_long_for_the_kernel(go: Callable[..., Facts]) -> None:
    assert "too long" in str(go(["true", "x" * 3_000_000]).start_error)


def test_what_cannot_be_passed_is_refused(scratch: Path) -> None:
    for argv, words in ([], "empty"), ([""], "empty"), (["true", "a\0b"], "NUL"):
        with pytest.raises(TargetError, match=words):
            run(Job(argv, Limits(cpu=1.0), scratch=scratch))
    with pytest.raises(TargetError, match="NUL"):
        run(Job(["true"], Limits(cpu=1.0), {"A": "a\0b"}, scratch=scratch))


@pytest.mark.parametrize("limits", [{}, {"cpu": -1.0}, {"cpu": float("nan")}, {"wall": float("inf")}])
def test_impossible_limits(limits: dict[str, float]) -> None:
    with pytest.raises(TargetError):
        Limits(**limits)


def test_pinning(scratch: Path) -> None:
    core = max(os.sched_getaffinity(0))
    facts = run(Job(hostile.echo(), Limits(wall=60.0), cores=(core,), scratch=scratch))
    assert facts.pinned
    assert json.loads(facts.stdout.head)["cores"] == [core]
    facts = run(Job(hostile.echo(), Limits(wall=60.0), cores=(99_999,), scratch=scratch))
    assert (facts.exit_code, facts.pinned) == (0, False)


def test_many_at_once_by_one_thread(start: Callable[..., Supervised]) -> None:
    import selectors

    with selectors.DefaultSelector() as selector:
        runs = [start(["sh", "-c", f"exit {i}"]) for i in range(20)]
        for i, each in enumerate(runs):
            selector.register(each, selectors.EVENT_READ, i)
        done = {}
        while selector.get_map():
            for key, _ in selector.select(60.0):
                each = runs[key.data]
                selector.unregister(each)
                done[key.data] = each.wait(0.0)
                each.close()
    assert {i: facts.exit_code for i, facts in done.items() if facts} == {i: i for i in range(20)}


# ---- bounds


def test_short_cpu_cutoff(go: Callable[..., Facts]) -> None:
    facts = go(hostile.busy(), cpu=0.05, grace=0.0)
    assert (facts.limit, facts.stopped, facts.signal, facts.cutoff) == ("cpu", True, signal.SIGKILL, 0.05)
    assert 0.05 < facts.cpu < 0.25
    assert facts.overshoot == pytest.approx(facts.cpu - 0.05, abs=0.1)


def test_cpu_bound_of_a_parallel_target(go: Callable[..., Facts]) -> None:
    facts = go(hostile.busy(processes=4), cpu=0.5)
    assert (facts.limit, facts.processes) == ("cpu", 4)
    assert 0.5 < facts.cpu < 1.5


def test_sleeper_is_cut_by_wall(go: Callable[..., Facts]) -> None:
    facts = go(hostile.sleeper(), cpu=5.0, wall=0.3)
    assert (facts.limit, facts.signal, facts.cutoff) == ("wall", signal.SIGTERM, 5.0)
    assert 0.3 < facts.wall < 0.3 + SLACK
    assert facts.cpu < 0.3


def test_wall_bound_comes_with_a_cpu_bound() -> None:
    limits = Limits(cpu=2.0)
    assert 2.0 < limits.wall_bound < 60.0
    assert (limits.leading, Limits(wall=3.0).leading) == (2.0, 3.0)


def test_ended_by_itself_beyond_the_bound(go: Callable[..., Facts]) -> None:
    facts = go(["/bin/true"], cpu=0.0, wall=30.0)
    assert (facts.limit, facts.overshoot) == ("cpu", facts.cpu) or facts.stopped


def test_deaf_to_sigterm(go: Callable[..., Facts]) -> None:
    facts = go(hostile.deaf(), cpu=0.3, grace=0.4)
    assert (facts.limit, facts.signal, facts.stdout.text()) == ("cpu", signal.SIGKILL, "deaf\n")
    assert facts.overshoot < 0.3
    assert 0.5 < facts.wall < 0.7 + SLACK


def test_grace_lets_the_target_speak(go: Callable[..., Facts]) -> None:
    script = "trap 'echo best so far; exit 3' TERM; while :; do :; done"
    facts = go(["sh", "-c", script], cpu=0.1, grace=30.0)
    assert (facts.limit, facts.exit_code, facts.stdout.text()) == ("cpu", 3, "best so far\n")


def test_daemon_is_ended_and_counted(go: Callable[..., Facts]) -> None:
    facts = go(hostile.daemon(main_seconds=3.0), cpu=30.0)
    assert (facts.exit_code, facts.limit, facts.stragglers) == (0, None, 1)
    assert facts.cpu > 0.15, "most of it is the daemon's, also on a busy machine"
    assert not alive(int(facts.stdout.text()))


def test_daemon_counts_against_the_bound(go: Callable[..., Facts]) -> None:
    facts = go(hostile.daemon(main_seconds=50.0), cpu=0.3, grace=0.2)
    assert (facts.limit, facts.stopped) == ("cpu", True)
    assert facts.wall < 50
    assert not alive(int(facts.stdout.text()))


@pytest.mark.parametrize("where", ["main", "daemon"])
def test_process_whose_first_thread_has_ended(start: Callable[..., Supervised], where: str) -> None:
    """It looks like a zombie in /proc."""
    argv = hostile.headless(50.0, daemon=where == "daemon")
    with start(argv, {}, cpu=0.5, grace=0.1, kill_timeout=30.0) as run:
        facts = finish(run)
    assert (facts.limit, facts.unkillable) == ("cpu", ())
    assert 0.5 < facts.cpu < 10


def test_relay_of_processes(go: Callable[..., Facts]) -> None:
    facts = go(hostile.relay(60.0), wall=0.5)  # what is left of it would be found by _nothing_left
    assert facts.exit_code == 0  # not how many were seen: each is gone when one looks again
    assert facts.wall < 60
    assert facts.unkillable == ()


@pytest.mark.parametrize("scan", [0, 1])
def test_fork_storm(start: Callable[..., Supervised], scan: int) -> None:
    with start(hostile.fork_storm(6, 60.0), {"scan": scan}, cpu=30.0, processes=16) as run:
        facts = finish(run)
    assert (facts.limit, facts.signal, facts.unkillable) == ("processes", signal.SIGKILL, ())
    assert 16 < facts.processes <= 64


def test_fork_storm_under_a_cpu_bound(go: Callable[..., Facts]) -> None:
    facts = go(hostile.fork_storm(5, 60.0), cpu=0.4, grace=0.0, processes=None)
    assert (facts.limit, facts.unkillable) == ("cpu", ())


def test_process_limit_of_the_user(go: Callable[..., Facts]) -> None:
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []  # it does not bind root
    facts = go([*nobody, "sh", "-c", "for i in $(seq 200); do sleep 30 & done; wait"], user_processes=50)
    assert facts.processes <= 50
    assert "fork" in facts.stderr.text()


def test_memory_hog(go: Callable[..., Facts]) -> None:
    facts = go(hostile.memory_hog(400 << 20), memory=100 << 20, grace=30.0)
    assert (facts.limit, facts.signal) == ("memory", signal.SIGKILL)
    assert 100 << 20 < facts.memory < 400 << 20
    assert facts.overshoot > 0


def test_memory_of_the_tree_counts_shared_pages_once(go: Callable[..., Facts]) -> None:
    facts = go(hostile.memory_hog(60 << 20, 1.0, sharing=3), memory=150 << 20)
    assert (facts.limit, facts.exit_code) == (None, 0)
    assert facts.memory > 60 << 20


def test_address_space(go: Callable[..., Facts]) -> None:
    facts = go(hostile.memory_hog(400 << 20), address_space=100 << 20)
    assert (facts.limit, facts.exit_code) == (None, 1)
    assert "MemoryError" in facts.stderr.text()


def test_disk_filler(go: Callable[..., Facts]) -> None:
    facts = go([*hostile.disk_filler()], file_size=1 << 20)
    assert facts.exit_code == 1
    assert "File too large" in facts.stderr.text()  # Python ignores SIGXFSZ; others die of it
    assert go(["sh", "-c", "cat /dev/zero > filler"], file_size=1 << 20).exit_code == 128 + signal.SIGXFSZ


# ---- output


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"%015d\n" % number for number in range(first, last))


def test_exact_head_and_tail(go: Callable[..., Facts]) -> None:
    facts = go(hostile.endless_output(size=16 * 10_000), head=1600, tail=3200)
    assert facts.stdout.head == numbered(0, 100)
    assert facts.stdout.tail == numbered(9_800, 10_000)
    assert facts.stdout.dropped == 160_000 - 4_800
    assert f"[... {facts.stdout.dropped} bytes dropped ...]" in facts.stdout.text()


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 1999, 2000, 2001, 70_000])
def test_output_sizes(go: Callable[..., Facts], size: int) -> None:
    whole = numbered(0, 5_000)[:size]
    out = go(hostile.endless_output(size=size), head=1000, tail=1000).stdout
    assert out.head == whole[:1000]
    assert out.tail == whole[1000:][-1000:]
    assert out.dropped == max(0, size - 2000)


def test_no_output_is_kept(go: Callable[..., Facts]) -> None:
    out = go(hostile.endless_output(size=100_000), head=0, tail=0).stdout
    assert (out.head, out.tail, out.dropped) == (b"", b"", 100_000)


def test_endless_output_takes_no_memory(start: Callable[..., Supervised]) -> None:
    def resident(pid: int) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    with start(["yes", "x" * 1000], wall=1.5) as run:
        time.sleep(1.0)
        worker = int(Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0])
        assert resident(run.pid) + resident(worker) < 30 << 20
        facts = finish(run)
    assert facts.limit == "wall"
    assert (len(facts.stdout.head), len(facts.stdout.tail)) == (65536, 65536)
    assert facts.stdout.dropped > 10 << 20


# ---- orders


def test_tighten(start: Callable[..., Supervised]) -> None:
    with start(hostile.busy(), cpu=50.0, grace=0.0) as run:
        assert run.wait(0.1) is None
        run.tighten(1.3 / 3)
        run.tighten(40.0)  # not a way to loosen it
        facts = finish(run)
    assert (facts.limit, facts.cutoff) == ("cpu", 1.3 / 3), "to the last bit: strategies compare it with what they asked for"
    assert 0.4 < facts.cpu < 10


def test_tighten_the_wall_bound(start: Callable[..., Supervised]) -> None:
    with start(hostile.sleeper(), cpu=50.0) as run:
        run.tighten(40.0, wall=0.2)
        facts = finish(run)
    assert (facts.limit, facts.cutoff) == ("wall", 40.0)


def test_stop_now(start: Callable[..., Supervised]) -> None:
    with start(hostile.busy(), cpu=50.0) as run:
        run.wait(0.3)
        run.tighten(0.0)
        facts = finish(run)
    assert (facts.limit, facts.stopped, facts.signal) == ("command", True, signal.SIGTERM)
    assert 0 < facts.cutoff <= facts.cpu


def test_kill(start: Callable[..., Supervised]) -> None:
    with start(hostile.deaf(), cpu=50.0, grace=30.0) as run:
        run.wait(0.2)
        run.kill()
        facts = finish(run)
        run.kill()
        run.tighten(1.0)
    assert (facts.limit, facts.signal, facts.lost) == ("command", signal.SIGKILL, False)


def test_close_ends_the_run(start: Callable[..., Supervised]) -> None:
    with start(hostile.daemon(main_seconds=50.0), cpu=50.0, grace=30.0):
        time.sleep(0.2)


def test_hold_and_resume(start: Callable[..., Supervised], scratch: Path) -> None:
    def cpu() -> float:
        fields = [Path(f"/proc/{pid}/schedstat").read_text().split() for pid in processes_of(scratch)]
        return sum(int(field[0]) for field in fields) / 1e9

    def states() -> set[str]:
        texts = [Path(f"/proc/{pid}/stat").read_text() for pid in processes_of(scratch)]
        return {text.rpartition(")")[2].split()[0] for text in texts}

    with start(hostile.busy(processes=3), cpu=0.6, wall=30.0, grace=0.0) as run:
        until(lambda: len(processes_of(scratch)) == 3)
        run.hold()
        until(lambda: states() == {"T"})
        before = cpu()
        assert run.wait(1.0) is None
        assert cpu() == before
        run.resume(1.0, wall=40.0)
        facts = finish(run)
    assert (facts.limit, facts.cutoff) == ("cpu", 1.0)
    assert 1.0 < facts.cpu < 3.0
    assert facts.held >= 1.0


def test_held_time_is_not_wall_time(start: Callable[..., Supervised]) -> None:
    with start(hostile.sleeper(0.5), wall=5.0) as run:
        run.hold()
        assert run.wait(1.5) is None
        run.resume(5.0, wall=5.0)
        facts = finish(run)
    assert facts.exit_code == 0
    assert facts.held >= 1.4
    assert facts.wall < 5.0


def test_stop_while_held(start: Callable[..., Supervised]) -> None:
    with start(["sh", "-c", "trap 'exit 5' TERM; while :; do :; done"], cpu=50.0, grace=30.0) as run:
        run.wait(0.3)
        run.hold()
        run.wait(0.2)
        run.tighten(0.0)
        facts = finish(run)
    assert (facts.limit, facts.exit_code) == ("command", 5)


# ---- when things go wrong on our side


def test_unkillable(start: Callable[..., Supervised], scratch: Path) -> None:
    argv = hostile.sleeper(50.0)
    with start(argv, {"toothless": 1}, wall=0.2, grace=0.1, kill_timeout=0.3) as run:
        until(lambda: processes_of(scratch))
        facts = finish(run)
    assert (facts.limit, facts.exit_code, facts.signal) == ("wall", None, None)
    assert len(facts.unkillable) == 1
    until(lambda: not alive(facts.unkillable[0]))  # its parent-death signal


def test_supervisor_killed(start: Callable[..., Supervised], scratch: Path) -> None:
    """Whichever of its two processes dies: lost, and nothing of the target survives, daemons included."""
    for victim in ("guard", "worker"):
        with start(hostile.daemon(main_seconds=50.0), cpu=50.0) as run:
            until(lambda: len(processes_of(scratch)) == 2)
            worker = int(Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0])
            os.kill(run.pid if victim == "guard" else worker, signal.SIGKILL)
            facts = finish(run)
            until(lambda: not processes_of(scratch))
        assert facts.lost
        assert "supervisor" in facts.reason
        assert facts.cutoff == 50.0


def test_supervisor_told_to_go(start: Callable[..., Supervised]) -> None:
    with start(hostile.deaf(), cpu=50.0) as run:
        run.wait(0.2)
        os.kill(run.pid, signal.SIGTERM)
        facts = finish(run)
    assert (facts.lost, facts.signal) == (True, signal.SIGKILL)


OWNER = """
import sys, time
from pathlib import Path
from capra.targets.supervisor import Job, Limits, Supervised
from capra.testing import hostile
run = Supervised.start(Job(hostile.daemon(main_seconds=50.0), Limits(cpu=50.0), scratch=Path(sys.argv[1])))
time.sleep(60)
"""


def test_owner_killed(scratch: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(scratch)]) as owner:
        until(lambda: len(processes_of(scratch)) == 2)
        owner.kill()
        until(lambda: not processes_of(scratch))
        until(lambda: not os.listdir(scratch))


def test_hard_to_remove(start: Callable[..., Supervised], scratch: Path) -> None:
    with start(hostile.nest(3000)) as run:
        assert finish(run).exit_code == 0
        assert sorted(os.listdir(run.directory)) == ["d", "locked"]


def test_thread_that_started_it_may_end(scratch: Path) -> None:
    import threading

    runs = []
    job = Job(hostile.sleeper(0.5), Limits(wall=60.0), scratch=scratch)
    thread = threading.Thread(target=lambda: runs.append(Supervised.start(job)))
    thread.start()
    thread.join()
    with runs[0] as run:
        assert finish(run).exit_code == 0


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"CAPRA1 0000",
        b"GET / HTTP/1.0\r\n\r\n",
        b"CAPRA1 00000099\ncpu=1\0",
        b"CAPRA1 99999999\n",
        b"CAPRA1 00000000\n",
        b"CAPRA1 00000006\ncpu=1\0",
        b"CAPRA1 00000008\nwall=in\0",
        b"CAPRA1 00000008\nwall=1\0x",
        b"CAPRA1 00000012\nwall=1\0odd=\0",
        b"CAPRA1 00000014\nwall=1\0wall=1\0",
        b"CAPRA1 00000023\nwall=1\0arg=true\0cores=a\0",
        b"CAPRA1 00000027\nwall=1\0arg=true\0directory=\0",
    ],
)
def test_malformed_requests(request_: bytes) -> None:
    done = subprocess.run([supervisor_path()], input=request_, capture_output=True, timeout=SLACK)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"capra-supervisor: ")
    assert done.stderr.count(b"\n") == 1


def test_odd_orders_are_ignored(start: Callable[..., Supervised]) -> None:
    with start(hostile.sleeper(0.3)) as run:
        for order in (b"cutoff\n", b"cutoff x\n", b"resume -1\n", b"hold 3\n", b"\n", b"z" * 1000 + b"\n"):
            run._send(order)
        assert finish(run).exit_code == 0
        for bad in (float("nan"), float("inf")):
            with pytest.raises(TargetError):
                run.tighten(bad)


# ---- control groups


def test_delegated_cgroup_is_none_or_ours() -> None:
    group = delegated_cgroup()
    assert group is None or (group / "cgroup.procs").exists()


def test_cgroup_that_cannot_be_used(scratch: Path, tmp_path: Path) -> None:
    job = Job(["true"], Limits(wall=60.0), cgroup=tmp_path / "absent", scratch=scratch)
    facts = run(job)
    assert (facts.exit_code, facts.backend) == (0, "process")


@pytest.mark.skipif(not os.access(UNIFIED / "cgroup.procs", os.W_OK), reason="no writable version 2 hierarchy")
def test_cgroup(scratch: Path) -> None:
    def groups() -> list[str]:
        return [path.name for path in UNIFIED.glob("capra-run-*")]

    job = Job(hostile.unreaped_children(0.01, 50), Limits(cpu=30.0), cgroup=UNIFIED, scratch=scratch)
    facts = run(job)
    assert (facts.exit_code, facts.backend) == (0, "cgroup2")
    assert facts.cpu >= 0.5  # /proc cannot see all of that
    job = Job(hostile.daemon(main_seconds=50.0), Limits(cpu=0.3, grace=0.1), cgroup=UNIFIED, scratch=scratch)
    assert run(job).limit == "cpu"
    with Supervised.start(Job(hostile.deaf(), Limits(cpu=50.0), cgroup=UNIFIED, scratch=scratch)) as supervised:
        until(lambda: len(groups()) == 1)
        worker = int(Path(f"/proc/{supervised.pid}/task/{supervised.pid}/children").read_text().split()[0])
        os.kill(worker, signal.SIGKILL)
        assert finish(supervised).lost
    assert groups() == []
