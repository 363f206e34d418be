"""What docs/experiment.md says that no engine supports is refused, and the message names it."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec import read

PAGE = (Path(__file__).parents[2] / "docs" / "experiment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("qdisc", "named", "in_page"),
    [
        ("hfsc", "'hfsc'", "`hfsc`"),
        ("ingress", "'ingress'", "`ingress`"),
        ("pfifo limit 10 stab overhead 10", "'stab'", "`stab`"),
        ("netem limit 10kb", "'limit' takes a packets, got '10kb'", "netem's `limit` in bytes"),
        ("netem slot 1ms 2ms bytes 10k", "'bytes' takes a count, got '10k'", "`slot … bytes`"),
        ("netem slot distribution normal 1ms 1ms", "'slot' takes a time, got 'distribution'", "`slot distribution`"),
        ("tbf rate 10mbit burst 10kb lat 50ms", "'lat'", "`lat`"),
        ("tbf rate 10mbit burst 10kb/8 latency 50ms", "'burst' takes a size, got '10kb/8'", "`burst 10kb/8`"),
    ],
)
def test_what_no_engine_supports_is_refused_by_name(qdisc: str, named: str, in_page: str) -> None:
    document = {"duration": "1s", "path": {"rtt": "20ms", "bottleneck": {"qdisc": qdisc}}, "flows": [{"cc": "cubic"}]}
    with pytest.raises(ExperimentError) as error:
        read(document, Path("mine.toml"))
    assert named in str(error.value)
    assert "path.bottleneck.qdisc" in str(error.value)
    assert in_page in PAGE
