"""What a confined guest's process can't do on the host, as root and as another user."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell.errors import LocalHostError
from dumbbell.host.agent import agent
from dumbbell.testing.guest import _explain_confinement

OTHER_USER = 65_534
"""nobody."""
ATTEMPTS = """
touch inside/new && echo "wrote inside"
touch outside/new; echo changed > outside/file; chmod 777 outside/file; rm outside/file
mount -o remount,rw /; mount --bind inside outside; touch outside/new
unshare -rm sh -c 'mount -o remount,rw /; touch outside/new' 2>/dev/null
grep -h '^Cap' /proc/self/status
echo "can read: $(cat outside/file)"
"""


@pytest.mark.parametrize("user", [None, OTHER_USER])
def test_only_the_named_folder_can_be_written(tmp_path: Path, user: int | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    # pytest's folders are its user's alone.
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 0o005:
            folder.chmod(0o755)
    for name in ("inside", "outside"):
        (tmp_path / name).mkdir(mode=0o777)
        (tmp_path / name).chmod(0o777)
    (tmp_path / "outside/file").write_text("before")
    (tmp_path / "outside/file").chmod(0o666)
    program = tmp_path / "dumbbell-agent"
    shutil.copy2(agent(), program)
    command = [str(program), "confine", str(tmp_path / "inside"), "--", "sh", "-c", ATTEMPTS]
    done = subprocess.run(command, cwd=tmp_path, user=user, capture_output=True, text=True, check=False, timeout=60)
    if "no mount namespace" in done.stderr:
        pytest.skip("this user may not mount in a namespace of its own")
    lines = done.stdout.splitlines()
    assert lines[0] == "wrote inside"
    assert lines[-1] == "can read: before"
    assert {line.split()[1] for line in lines if line.startswith("Cap")} == {"0" * 16}
    assert sorted(path.name for path in (tmp_path / "outside").iterdir()) == ["file"]
    assert (tmp_path / "outside/file").read_text() == "before"
    assert (tmp_path / "outside/file").stat().st_mode & 0o777 == 0o666
    assert (tmp_path / "inside/new").exists()


def test_a_host_without_mount_namespaces_gets_advice(tmp_path: Path) -> None:
    (tmp_path / "console.txt").write_text("dumbbell-agent: no mount namespace: EPERM: Operation not permitted\n")
    with pytest.raises(
        LocalHostError, match=r"can't confine a guest \(EPERM: Operation not permitted\): .*Linux 5\.12"
    ):
        _explain_confinement(tmp_path)
    (tmp_path / "console.txt").write_text("Kernel panic")
    _explain_confinement(tmp_path)
