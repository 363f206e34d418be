"""Settings at boot, and the drop-in as text: it is read as written, and every other text is detected as edited."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.host import boot_settings
from dumbbell.host.sources import LocalHost, Reading

NAMES = st.from_regex(r"[a-z0-9_]{1,15}", fullmatch=True)
VALUES = st.one_of(st.none(), NAMES.filter(lambda name: name != "unknown"))
RECORDS = st.builds(
    boot_settings.Record,
    st.dictionaries(st.sampled_from([boot_settings.QDISC]), NAMES).flatmap(
        lambda qdisc: NAMES.map(lambda name: {boot_settings.CONTROLLER: name, **qdisc})
    ),
    st.dictionaries(st.sampled_from([boot_settings.CONTROLLER, boot_settings.QDISC]), VALUES),
    st.lists(NAMES.map(lambda name: f"{boot_settings.CONTROLLER} = {name}"), max_size=3).map(tuple),
    st.lists(NAMES, max_size=3).map(tuple),
    st.lists(NAMES.map(lambda name: f"tcp_{name}"), max_size=3).map(tuple),
    st.sampled_from([(), ("/etc/sysctl.d",), ("/etc/sysctl.d", "/etc/modules-load.d")]),
)


@given(RECORDS)
def test_a_drop_in_is_read_as_written(record: boot_settings.Record) -> None:
    assert boot_settings.read(boot_settings.composed(record)) == record


@given(RECORDS, st.data())
def test_a_drop_in_with_one_changed_character_is_detected_as_edited(
    record: boot_settings.Record, data: st.DataObject
) -> None:
    text = boot_settings.composed(record)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda character: character != text[at]))
    with pytest.raises(boot_settings.EditedFileError):
        boot_settings.read(text[:at] + other + text[at + 1 :])


@given(st.text())
def test_any_text_is_detected_as_edited(text: str) -> None:
    with pytest.raises(boot_settings.EditedFileError):
        boot_settings.read(text)
    assert not boot_settings.is_modules_text(text)


@given(RECORDS)
def test_sysctl_d_parses_the_same_settings_from_a_drop_in(record: boot_settings.Record) -> None:
    lines = boot_settings.parsed(Reading("", boot_settings.composed(record)), "f")
    assert {line.key: line.value for line in lines} == record.sets


@given(st.text())
def test_any_text_is_parsed_as_settings_or_nothing(text: str) -> None:
    for line in boot_settings.parsed(Reading("", text), "f"):
        assert 1 <= line.line <= len(text.splitlines())


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("net.ipv4.tcp_congestion_control=bbr", boot_settings.CONTROLLER),
        ("net/ipv4/tcp_congestion_control = bbr", boot_settings.CONTROLLER),
        ("-net.ipv4.tcp_congestion_control = bbr", boot_settings.CONTROLLER),
        ("net/ipv4/conf/eth0.1/forwarding = bbr", "net.ipv4.conf.eth0/1.forwarding"),
    ],
)
def test_a_key_has_several_spellings(line: str, key: str) -> None:
    (found,) = boot_settings.parsed(Reading("", line), "f")
    assert (found.key, found.value) == (key, "bbr")


@pytest.mark.parametrize("line", ["# a = b", "; a = b", "", "-net.ipv4.conf.all"])
def test_comments_and_exclusions_set_nothing(line: str) -> None:
    assert list(boot_settings.parsed(Reading("", line), "f")) == []


def test_later_files_win_and_hidden_files_are_ignored(tmp_path: Path) -> None:
    def file(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    key = boot_settings.CONTROLLER
    file("etc/sysctl.d/10-early.conf", f"{key} = early")
    file("usr/lib/sysctl.d/99-late.conf", "# one\nnet.ipv4.tcp_congestion_* = glob\n")
    file("usr/lib/sysctl.d/95-hidden.conf", f"{key} = hidden")
    file("etc/sysctl.d/95-hidden.conf", "")
    file("usr/lib/sysctl.d/96-masked.conf", f"{key} = masked")
    (tmp_path / "etc/sysctl.d/96-masked.conf").symlink_to("/dev/null")
    file("etc/sysctl.d/97-not.txt", f"{key} = other")
    file("etc/sysctl.conf", f"\n{key} = old")
    (tmp_path / "etc/sysctl.d/99-sysctl.conf").symlink_to("../sysctl.conf")
    (tmp_path / "etc/sysctl.d/98-absolute.conf").symlink_to("/etc/sysctl.conf")
    (tmp_path / "etc/sysctl.d/94-loop.conf").symlink_to("94-loop.conf")
    found = [
        (line.file, line.line, line.value)
        for line in boot_settings.later(LocalHost(tmp_path), boot_settings.DROPIN, key)
    ]
    assert found == [
        ("/etc/sysctl.d/98-absolute.conf", 2, "old"),
        ("/etc/sysctl.d/99-sysctl.conf", 2, "old"),
        ("/etc/sysctl.conf", 2, "old"),
    ]
