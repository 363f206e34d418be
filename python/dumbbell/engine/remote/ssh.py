"""The system's ssh: the command that is started, what it does at the other end first, and how it fails.

The person's own configuration holds: aliases, keys, agents, jump hosts. Nothing is asked (BatchMode), so what needs an
answer fails at once, with what to do. `DUMBBELL_SSH` may say another command, as `GIT_SSH_COMMAND` does to git.
"""

import os
import shlex
import shutil
from collections.abc import Mapping

from dumbbell.errors import ToolMissing

__all__ = ["GREETING", "LAUNCH", "command", "explained"]

OPTIONS = (
    "-T", "-a", "-x",
    "-o", "BatchMode=yes",
    "-o", "ConnectTimeout=10",
    "-o", "ServerAliveInterval=2",
    "-o", "ServerAliveCountMax=4",
    "-o", "ClearAllForwardings=yes",
)  # fmt: skip
"""No terminal, nothing forwarded, no questions; a dead line is noticed within ten seconds."""
GREETING = "dumbbell-shell "
"""How the line begins that says what is there; what stands before it is a banner."""

LAUNCH = " ".join(
    """
umask 077;
who=$(id -u);
if [ "$who" = 0 ]; then as=root; elif sudo -n true 2>/dev/null; then as=sudo; else as=nobody; fi;
echo "dumbbell-shell $(uname -s) $(uname -m) $as";
read -r count || exit 3;
for place in "${TMPDIR:-/tmp}" /var/tmp /dev/shm; do
find "$place" -maxdepth 1 -name "dumbbell-agent.*" -user "$who" -mmin +5 -exec rm -rf {} + 2>/dev/null;
home=$(mktemp -d "$place/dumbbell-agent.XXXXXX" 2>/dev/null) || continue;
trap "rm -rf \\"$home\\"" EXIT; trap "exit 4" HUP INT TERM PIPE;
: > "$home/try"; chmod 700 "$home/try";
if "$home/try" 2>/dev/null; then break; fi;
rm -rf "$home"; home=;
done;
if [ -z "$home" ]; then echo "dumbbell-agent: no folder that programs may be started from" >&2; exit 5; fi;
rm -f "$home/try";
head -c "$count" > "$home/agent";
if [ "$(wc -c < "$home/agent")" -ne "$count" ]; then exit 6; fi;
chmod 700 "$home/agent";
trap - EXIT HUP INT TERM PIPE;
if [ "$as" = sudo ]; then exec sudo -n "$home/agent" remote "${SSH_CONNECTION:-}"; fi;
exec "$home/agent" remote "${SSH_CONNECTION:-}"
""".split()
)
"""What a POSIX shell at the other end does: says what is there, takes the agent's program from its standard input into
a folder of its own, and becomes the agent, which removes both. The folder goes with the shell, should that die before;
what a killed one left, the next removes. An empty file that may be started is a program that does nothing. No quote
within it is a single one."""


def command(target: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The words to start. Raises `ToolMissing` where there is no ssh."""
    ssh = shlex.split(environment.get("DUMBBELL_SSH") or "ssh")
    if not ssh or shutil.which(ssh[0]) is None:
        raise ToolMissing(ssh[0] if ssh else "ssh", "to reach real hosts", "openssh-client")
    return [*ssh, *OPTIONS, "--", target, f"sh -c {shlex.quote(LAUNCH)}"]


_FAILURES = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key is another one than before",
     "if that is right, remove the old one with ssh-keygen -R, and log in once by hand"),
    ("Host key verification failed", "its host key is not known here", "log in once by hand: ssh {target}"),
    ("Permission denied", "it refused the login",
     "a key that needs no typing, as by ssh-copy-id {target} and ssh-add; try: ssh -o BatchMode=yes {target} true"),
    ("Could not resolve hostname", "no such host name", "an address, or an alias of ~/.ssh/config"),
    ("No route to host", "no route to it", "is it switched on, and on this network?"),
    ("Network is unreachable", "no route to it", "is this machine on a network?"),
    ("Connection refused", "nobody listens there", "is sshd running, and at this port?"),
    ("timed out", "it did not answer", "is it switched on, and does a firewall let ssh through?"),
    ("Too many authentication failures", "it refused the login", "IdentitiesOnly yes for it in ~/.ssh/config"),
    ("command not found", "it lacks a program", "a POSIX shell with mktemp, head, wc and find"),
)  # fmt: skip
_STATUSES = {
    3: "the line was closed before the agent was sent",
    5: "no folder there lets programs be started: /tmp, /var/tmp and /dev/shm are mounted noexec",
    6: "the agent did not arrive whole: is the disk there full?",
    126: "the agent can't be started there",
    127: "no shell there could start the agent",
}


def explained(target: str, status: int | None, said: str) -> str:
    """Why the ssh to `target` ended, from its exit status and what it said on standard error."""
    for words, problem, right in _FAILURES:
        if words in said:
            return f"{problem}; {right.format(target=target)}"
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    known = _STATUSES.get(status or 0, f"ssh ended with status {status}")
    return f"{known}: {last}" if last else known
