"""`dumbbell upgrade` and the warning of older spellings."""

from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.engines import Request, Simulator
from dumbbell.errors import ExperimentError
from dumbbell.spec import load, parse
from dumbbell.spec.document import upgraded

OLD = """# a lossy link
duration = "2s"  # short
trace = "samples"
[path]
rtt = "20ms"
delay = "5ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
kind = "udp"
rate = "1mbit"
packet = 500  # bytes
on = "1s"
off = "100ms"
"""
NEW = (
    OLD.replace("trace =", "record =")
    .replace("delay =", "forward_delay =")
    .replace("packet =", "payload =")
    .replace("\non =", "\non_time =")
    .replace("\noff =", "\noff_time =")
)


def test_an_older_file_is_rewritten_and_means_the_same(tmp_path: Path, dumbbell: Dumbbell) -> None:
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    with pytest.warns(FutureWarning, match=r"'flows\.0\.packet' is now 'flows\.0\.payload'.*dumbbell upgrade"):
        before = load(file)
    assert dumbbell("upgrade", "--check", str(file)).returncode == 1
    assert file.read_text() == OLD
    assert dumbbell("upgrade", str(file)).returncode == 0
    assert file.read_text() == NEW
    assert load(file)[0].experiment == before[0].experiment
    assert "up to date" in dumbbell("upgrade", "--check", str(file)).stdout


def test_one_wrong_file_leaves_all_as_they_were(tmp_path: Path, dumbbell: Dumbbell) -> None:
    good, wrong = tmp_path / "good.toml", tmp_path / "wrong.toml"
    good.write_text(OLD)
    wrong.write_text("packet = [")
    done = dumbbell("upgrade", str(good), str(wrong))
    assert done.returncode == 2
    assert "wrong.toml" in done.stderr
    assert good.read_text() == OLD


def test_a_newer_format_says_what_reads_it() -> None:
    assert parse("format = 1\n" + NEW, Path("mine.toml"))
    with pytest.raises(ExperimentError, match="newer than this Dumbbell") as caught:
        parse("format = 2\n" + NEW, Path("mine.toml"))
    assert caught.value.key == "format"


ROOT = Path(__file__).parents[2]


def test_every_built_in_file_has_todays_spellings() -> None:
    files = [*ROOT.glob("scenarios/**/*.toml"), *ROOT.glob("docs/**/*.toml"), *ROOT.glob("examples/**/*.toml")]
    older = {str(file.relative_to(ROOT)): renamed for file in files if (renamed := upgraded(file.read_text(), file)[1])}
    assert len(files) > 100
    assert older == {}


def test_a_text_of_the_first_version_gives_the_same_run(tmp_path: Path) -> None:
    """Each older spelling of a key and of a value, as 0.1.0 has them."""
    text = OLD + 'ecn = true\n[[flows]]\ncc = "dctcp"\necn = false\n[tcp]\necn = false\n'
    made, renamed = upgraded(text)
    assert [new for _, new in renamed if "ecn" in new] == [
        'flows.0.ecn = "classic"', 'flows.1.ecn = "auto"', 'tcp.ecn = "auto"',
    ]  # fmt: skip
    runs = []
    for name, each in (("old", text), ("new", made)):
        case = parse(each, tmp_path / f"{name}.toml")[0]
        runs.append(Simulator().run_and_keep(Request("one", case, 1, tmp_path / name), lambda _: None))
    assert all(
        runs[0].table(name).frame().equals(runs[1].table(name).frame()) for name in ("flows", "queues", "probes")
    )
