"""A TOML file to experiments: settings from the command line, cases, and errors that name the place."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dumbbell import limits
from dumbbell.control_characters import visible_line
from dumbbell.errors import ExperimentError
from dumbbell.spec.model import Experiment
from dumbbell.spec.plain import copied
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.texts import check_texts
from dumbbell.spec.toml import check_values, parsed, too_deep
from dumbbell.spec.units import Wrong

__all__ = [
    "Case",
    "chosen",
    "explained",
    "load",
    "parse",
    "read",
    "seeds",
    "split_setting",
    "text_of",
    "toml",
    "with_settings",
    "without_cases",
]

MOST_NAME = 4000
"""Characters of a case's name, which values are put into."""


@dataclass(frozen=True)
class Case:
    """One experiment of a file."""

    name: str
    """Empty when the file is one experiment."""
    experiment: Experiment
    file: Path
    """Where it was written."""
    settings: dict[str, Any]
    """What this case set, by dotted key."""
    folder: Path | None = None
    """Files that it names lie below this one; None where its file is not here."""


def load(file: Path, settings: Sequence[str] = ()) -> list[Case]:
    """Read a file; `settings` are `key=value` texts that come last.

    Raises `ExperimentError`.
    """
    # The user named this file: where it is a link, what it leads to is meant, with the files beside that.
    return read(toml(text_of(file), file), file, settings, file.resolve().parent)


def text_of(file: Path) -> str:
    """A file's text. Raises `ExperimentError`."""
    try:
        return limits.read(file, "text").decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ExperimentError("no such experiment file", file=str(file)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"can't be read: {error}", file=str(file)) from error


def chosen(cases: Sequence[Case], name: str | None, file: str) -> Case:
    """The case of this name; the first when none is named. Raises `ExperimentError`."""
    if name is None:
        return cases[0]
    names = [case.name for case in cases]
    if name not in names:
        raise ExperimentError(f"no case is called '{name}'", file=file, right="there is: " + "; ".join(names))
    return cases[names.index(name)]


def parse(text: str, file: Path, settings: Sequence[str] = ()) -> list[Case]:
    """The same for a text that came from `file`."""
    return read(toml(text, file), file, settings)


def toml(text: str, file: Path) -> dict[str, Any]:
    """A text as a document. Raises `ExperimentError`."""
    return parsed(text, str(file))


def read(document: dict[str, Any], file: Path, settings: Sequence[str] = (), folder: Path | None = None) -> list[Case]:
    """The same for a document that was read already; files that it names lie in `folder`, or else beside `file`."""
    check_values(document, str(file))
    document = with_settings(document, dict(split_setting(setting) for setting in settings), file)
    check_texts(document, str(file))
    document.setdefault("title", visible_line(file.stem))
    cases = document.pop("cases", [])
    return [
        Case(name, _experiment(changed, file, name), file, changes, folder or file.parent)
        for name, changed, changes in _variants(document, cases, file)
    ]


def with_settings(document: Mapping[str, Any], settings: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """A copy of a document with other values, by dotted key. Raises `ExperimentError`."""
    changed = copied(dict(document))
    for key, value in settings.items():
        _apply(changed, key, copied(value), file)
    return changed


def without_cases(document: Mapping[str, Any], file: Path, case: str | None) -> dict[str, Any]:
    """The document of one case; without a name, of a document that has none. Raises `ExperimentError`."""
    plain = copied(dict(document))
    cases = plain.pop("cases", [])
    found = {name: changed for name, changed, _ in _variants(plain, cases, file)}
    if case is None and cases:
        raise ExperimentError(
            "an experiment of several cases", file=str(file), key="cases", right=f"name one: {'; '.join(found)}"
        )
    if (case or "") not in found:
        raise ExperimentError(f"no case is called '{case}'", file=str(file), right="there is: " + "; ".join(found))
    return found[case or ""]


def _variants(
    document: dict[str, Any], cases: object, file: Path
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ExperimentError(
            "not a list of cases", file=str(file), key="cases", right="write [[cases]] with name and set"
        )
    if not cases:
        yield "", document, {}
        return
    _refuse_too_many(document, cases, file)
    names: set[str] = set()
    for number, case in enumerate(cases):
        expected = _expected(document, case, f"cases.{number}", file)
        for name, settings in _crossed(case, f"cases.{number}", file):
            if name in names:
                raise ExperimentError(
                    "two cases have the same name", file=str(file), key=f"cases.{number}.name", value=name
                )
            names.add(name)
            changed = copied(document) | expected
            for key, value in settings.items():
                _apply(changed, key, value, file)
            yield name, changed, settings


def _refuse_too_many(document: dict[str, Any], cases: list[dict[str, Any]], file: Path) -> None:
    """Are the cases few and small enough to be made? Raises `ExperimentError`."""
    size, made, keys = check_values(document, str(file)), 0, 0
    for case in cases:
        settings = case.get("set")
        if isinstance(settings, dict):
            of_this = math.prod(len(value) for value in settings.values() if isinstance(value, list))
            made += of_this
            keys += of_this * (size + sum(size if "*" in key else 1 for key in settings))
    if made > limits.most("cases"):
        right = f"fewer values, or a sweep, {limits.raised('cases', made)}"
        raise ExperimentError(
            f"{made:,} cases, more than {limits.shown('cases')}", file=str(file), key="cases", right=right
        )
    if keys > limits.most("expanded"):
        raise ExperimentError(
            f"{made:,} cases with {keys:,} keys in all, more than {limits.shown('expanded')}",
            file=str(file), key="cases",
            right=f"fewer cases or groups, {limits.raised('expanded', keys)}",
        )  # fmt: skip


def _expected(document: dict[str, Any], case: dict[str, Any], key: str, file: Path) -> dict[str, Any]:
    """What a case expects: what the file does, then what it does itself; nothing when it has nothing to add."""
    if "expect" not in case:
        return {}
    for where, value in (("expect", document.get("expect", [])), (f"{key}.expect", case["expect"])):
        if not isinstance(value, list):
            raise ExperimentError("not a list of expectations", file=str(file), key=where, value=value, right=_EXPECT)
    return {"expect": [*document.get("expect", []), *case["expect"]]}


def _crossed(case: dict[str, Any], key: str, file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of a case's lists, each with its name."""
    unknown = set(case) - {"name", "set", "expect"}
    if unknown or not isinstance(case.get("set"), dict):
        wrong = f"unknown key '{min(unknown)}'" if unknown else "a case without 'set'"
        raise ExperimentError(
            wrong,
            file=str(file),
            key=key,
            right="a case has 'name' and 'set', a table of dotted keys, and may have 'expect'",
        )
    if not isinstance(case.get("name", ""), str):
        raise ExperimentError("the name is not text", file=str(file), key=f"{key}.name", value=case["name"])
    if empty := [k for k, value in case["set"].items() if value == []]:
        raise ExperimentError(
            "a list without values", file=str(file), key=f"{key}.set.{empty[0]}", right="give one value or more"
        )
    choices = [[(k, v) for v in (value if isinstance(value, list) else [value])] for k, value in case["set"].items()]
    several = any(len(choice) > 1 for choice in choices)
    for combination in itertools.product(*choices):
        settings = dict(combination)
        template = case.get("name") or ", ".join(f"{{{k}}}" for k in settings)
        if several and case.get("name") and "{" not in template:
            template = f"{template} {', '.join(f'{{{k}}}' for k, v in case['set'].items() if isinstance(v, list))}"
        yield _name(template, settings, key, file), settings


def _name(template: str, settings: Mapping[str, Any], key: str, file: Path) -> str:
    """A case's name, with values in the place of their keys in braces."""
    if len(template) <= MOST_NAME:
        texts = {hole: str(settings.get(hole, f"{{{hole}}}")) for hole in re.findall(r"\{([^{}]+)\}", template)}
        if all(len(text) <= MOST_NAME for text in texts.values()):
            name = re.sub(r"\{([^{}]+)\}", lambda match: texts[match[1]], template)
            if len(name) <= MOST_NAME:
                return name
    raise ExperimentError(
        f"a name of more than {MOST_NAME} characters", file=str(file), key=f"{key}.name", right="a shorter one"
    )


def _experiment(document: Mapping[str, Any], file: Path, case: str) -> Experiment:
    where = f"{file} (case '{case}')" if case else str(file)
    document = dict(document)
    if "seed" in document:
        if "seeds" in document:
            raise ExperimentError("both 'seed' and 'seeds'", file=where, right="give one of them")
        document["seeds"] = [document.pop("seed")]
    try:
        if "seeds" in document:
            document["seeds"] = seeds(document["seeds"])
        return Experiment.model_validate(document)
    except Wrong as wrong:
        raise ExperimentError(
            wrong.problem, file=where, key="seeds", value=document["seeds"], right=wrong.right
        ) from None
    except ValidationError as error:
        raise explained(error, where, Experiment) from None


def seeds(value: object) -> tuple[int, ...]:
    """Seeds from `7`, `[1, 2]` or `"1..5"`; raises `Wrong`."""
    right = 'a whole number, a list such as [1, 2, 3], or a range such as "1..5"'
    if isinstance(value, str) and (match := re.fullmatch(r"([0-9]{1,19})\.\.([0-9]{1,19})", value)):
        value = range(int(match[1]), int(match[2]) + 1)
        value = list(value) if len(value) <= limits.most("cases") else None
    if isinstance(value, int):
        value = [value]
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value):
        value = [int(value)]
    if not isinstance(value, list | tuple) or not value or len(value) > limits.most("cases"):
        raise Wrong("not a seed", right)
    if any(isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63 for seed in value):
        raise Wrong("not a seed", right)
    return tuple(value)


def explained(error: ValidationError, where: str, model: type[BaseModel]) -> ExperimentError:
    """The first thing that is wrong with a file of this model, in the field's words."""
    first = error.errors()[0]
    location = tuple(part for part in first["loc"] if part != "function-before")
    key = ".".join(str(part) for part in location)
    value = first["input"]
    match first["type"]:
        case "extra_forbidden":
            at = _model_at(model, location[:-1])
            known = [name for name in _by_key(at) if at is not Experiment or name != "seeds"]
            return ExperimentError(
                f"unknown key '{location[-1]}'", file=where, key=key, right=suggest(str(location[-1]), known)
            )
        case "missing":
            return ExperimentError("this key is missing", file=where, key=key, right=_EXAMPLES.get(key, ""))
        case "value_error" if isinstance(wrong := first["ctx"]["error"], Wrong):
            shown = None if isinstance(value, dict) else value
            return ExperimentError(wrong.problem, file=where, key=key, value=shown, right=wrong.right)
        case "bool_type" | "bool_parsing":
            return ExperimentError("not a boolean", file=where, key=key, value=value, right="write true or false")
        case _:
            shown = None if isinstance(value, dict) else value
            return ExperimentError(first["msg"][:1].lower() + first["msg"][1:], file=where, key=key, value=shown)


def _model_at(model: type[BaseModel], location: Sequence[str | int]) -> type[BaseModel]:
    """The model whose keys are allowed at this place."""
    for part in location:
        if isinstance(part, str) and part in (fields := _by_key(model)):
            model = _models_in(fields[part].annotation)[0]
    return model


def _by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields by their key in a file: the alias where a field has one."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def split_setting(setting: str) -> tuple[str, Any]:
    """A `key=value` text's key and value. Raises `ExperimentError`."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ExperimentError("not a setting", value=setting, right="--set KEY=VALUE, such as --set duration=20s")
    return key.strip(), _toml_value(text.strip())


def _toml_value(text: str) -> Any:
    """The value as TOML where it is TOML, else the text itself: `20s` needs no quotes on a command line."""
    try:
        return parsed(f"value = {text}")["value"]
    except ExperimentError:
        return text


def _apply(document: dict[str, Any], key: str, value: Any, file: Path) -> None:
    """Set a dotted key; numbers index lists, `flows.bbr.count` finds a group by name or controller, `*` finds all."""
    if key.count(".") >= limits.MOST_DEPTH:
        raise too_deep(str(file))
    if ".*" in key:
        listed, _, rest = key.partition(".*")
        items = _at(document, listed.split("."), key, file)
        if not isinstance(items, list):
            raise ExperimentError(f"'{listed}' is not a list", file=str(file), key=key, right="such as flows.*.cc")
        for number in range(len(items)):
            _apply(document, f"{listed}.{number}{rest}", value, file)
        return
    *parents, last = key.split(".")
    place = _at(document, parents, key, file)
    if isinstance(place, list):
        place[_index(place, last, key, file)] = value
    else:
        place[last] = value


def _at(document: dict[str, Any], parts: list[str], key: str, file: Path) -> Any:
    place: Any = document
    for part in parts:
        place = _step(place, part, key, file)
    return place


def _step(place: Any, part: str, key: str, file: Path) -> Any:
    below = place[_index(place, part, key, file)] if isinstance(place, list) else place.setdefault(part, {})
    if not isinstance(below, dict | list):
        raise ExperimentError(f"'{part}' holds a value, not keys", file=str(file), key=key)
    return below


def _index(items: list[Any], part: str, key: str, file: Path) -> int:
    if re.fullmatch(r"[0-9]{1,9}", part) and int(part) < len(items):
        return int(part)
    names = [str(item.get("name") or item.get("cc") or "") if isinstance(item, dict) else "" for item in items]
    if part in names:
        return names.index(part)
    right = f"a number from 0 to {len(items) - 1}, or a name: {', '.join(name for name in names if name)}"
    raise ExperimentError(f"nothing is called '{part}' here", file=str(file), key=key, right=right)


_EXPECT = 'such as expect = ["groups.bbr.share > 0.6"]'
_EXAMPLES = {
    "duration": 'such as duration = "60s"',
    "path": 'such as [path] with rtt = "13ms"',
    "path.rtt": 'such as rtt = "13ms"',
    "experiment": 'such as experiment = "cyclic", a file of yours, or a table [experiment]',
    "flows": 'such as [[flows]] with cc = "cubic"',
}
