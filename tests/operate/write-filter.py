"""Writes the system call filter of a unit as seccomp's program: the lines of SyscallFilter= are arguments."""
import errno
import subprocess
import sys

import seccomp


def list_calls(name):
    """Returns the calls of a set of systemd, of which some are sets."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, check=True, text=True).stdout
    inner = [line.strip() for line in text.splitlines()[1:]]
    return set().union(*(list_calls(each) for each in inner if each and not each.startswith("#")))


# systemd always allows these, so that a service can start and end.
allowed = list_calls("@default") | {"execve"}
for line in sys.argv[2:]:
    names = line.removeprefix("~").split()
    calls = set().union(*(list_calls(name) for name in names))
    allowed = allowed - calls if line.startswith("~") else allowed | calls

program = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for call in sorted(allowed):
    try:
        program.add_rule(seccomp.ALLOW, call)
    except (OSError, RuntimeError):
        # a call that this machine does not have
        pass
with open(sys.argv[1], "wb") as file:
    program.export_bpf(file)
