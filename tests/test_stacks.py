"""QUIC stacks: what `crates/plan` declares, and what Python gets of it."""

from dumbbell import _sim


def test_each_stack_is_declared_with_its_version_and_controllers() -> None:
    declared = {stack["name"]: stack for stack in _sim.stacks()}
    assert {"quinn", "quic-go", "aioquic", "ngtcp2"} <= declared.keys()
    for stack in declared.values():
        assert stack["version"].replace(".", "").isdigit()
        assert len(set(stack["controllers"])) == len(stack["controllers"]) > 0
        assert all(isinstance(name, str) and isinstance(value, str) for name, value in stack["environment"])
    assert declared["quinn"]["controllers"][0] == "cubic"
