"""The system's ssh: its command line, the script it runs on the other host, and its errors.

The user's ssh configuration applies: aliases, keys, agents, jump hosts. Nothing is interactive (BatchMode): a login
that needs input fails at once with advice. `DUMBBELL_SSH` replaces the command, like `GIT_SSH_COMMAND` for git.
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
"""No terminal, no forwarding, no prompts; a dead connection is detected within ten seconds."""
GREETING = "dumbbell-shell "
"""Prefix of the line with the host's properties; earlier lines are a banner."""

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
"""Runs in a POSIX shell on the other host: prints the host's properties, reads the agent's program from standard input
into a new folder, and executes the agent, which removes both. The folder is removed if the shell fails before;
the next run removes what a killed shell left. An executable empty file serves as a test program. The script contains no
single quotes."""


def command(target: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The command to start. Raises `ToolMissing` if there is no ssh."""
    ssh = shlex.split(environment.get("DUMBBELL_SSH") or "ssh")
    if not ssh or shutil.which(ssh[0]) is None:
        raise ToolMissing(ssh[0] if ssh else "ssh", "to reach real hosts", "openssh-client")
    return [*ssh, *OPTIONS, "--", target, f"sh -c {shlex.quote(LAUNCH)}"]


_FAILURES = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key has changed",
     "if that is expected, remove the old key with ssh-keygen -R and log in once by hand"),
    ("Host key verification failed", "its host key is not known here", "log in once by hand: ssh {target}"),
    ("Permission denied", "it refused the login",
     "set up a key that needs no input with ssh-copy-id {target} and ssh-add; try: ssh -o BatchMode=yes {target} true"),
    ("Could not resolve hostname", "no such host name", "use an address, or an alias of ~/.ssh/config"),
    ("No route to host", "no route to it", "is it switched on, and on this network?"),
    ("Network is unreachable", "no route to it", "is this host on a network?"),
    ("Connection refused", "the port is closed", "is sshd running on this port?"),
    ("timed out", "it did not answer", "is it switched on, and does a firewall let ssh through?"),
    ("Too many authentication failures", "it refused the login", "set IdentitiesOnly yes for it in ~/.ssh/config"),
    ("command not found", "a program is missing", "it needs a POSIX shell with mktemp, head, wc and find"),
)  # fmt: skip
_STATUSES = {
    3: "the connection was closed before the agent was sent",
    5: "no folder there allows programs to run: /tmp, /var/tmp and /dev/shm are mounted noexec",
    6: "the agent's file is incomplete: is the disk there full?",
    126: "the agent can't run there",
    127: "no shell there could start the agent",
}


def explained(target: str, status: int | None, stderr: str) -> str:
    """Why the ssh to `target` exited, from its exit status and standard error."""
    for words, problem, right in _FAILURES:
        if words in stderr:
            return f"{problem}; {right.format(target=target)}"
    last = next((line.strip() for line in reversed(stderr.splitlines()) if line.strip()), "")
    known = _STATUSES.get(status or 0, f"ssh ended with status {status}")
    return f"{known}: {last}" if last else known
