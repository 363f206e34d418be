"""Lines of a terminal around a program's output: prompts and the commands typed there, colours, another encoding.

People paste a log together with its command. The command is no line of the log; its options may explain the log.
"""

import re
import shlex

__all__ = ["command_of", "is_prompt", "option", "plain_bytes", "typed", "words_of"]

_PROGRAMS = (
    r"iperf3?|ss|ping6?|fping6?|tc|curl|wget|time|date|while|for|watch|ip|sudo|nsenter|docker|kubectl|ssh|taskset|timeout"
    r"|cat|tail|head|trace-cmd|perf|flent|tcpdump|tshark|busybox|chrt|nice|env|cd|echo|LANG=\S+|LC_ALL=\S+|bash|sh|h\d+"
)
_NAMED_PROMPT = (
    r"(?:\(\S+\) ?)?(?:\[[^\]\s]+@[^\]]*\] ?|[\w.-]+@[\w.-]+(?:[: ]\S*)? ?|bash-[\d.]+|sh-[\d.]+|mininet"
    r"|PS [A-Za-z]:\\[^>]*|[A-Za-z]:\\[^>]*)[$#%>] ?"
)
_PROMPT = re.compile(rf"(?:{_NAMED_PROMPT}|\$ *)\Z")
_TYPED = re.compile(
    rf"(?:{_NAMED_PROMPT}(?P<named>\S.*)|\$ +(?P<plain>\S.*)|[#%>] +(?P<known>(?:\S*/)?(?:{_PROGRAMS})\b .*))\Z"
)
_BARE = re.compile(
    r"(?:(?:sudo|time|stdbuf -\S+|timeout \S+|ip netns exec \S+|LANG=\S+|LC_ALL=\S+) +)*(?:\S*/)?"
    r"(?:iperf3?|ss|ping6?|fping6?|tc|curl|wget|trace-cmd|flent|tcpdump) +(?:[^\n]* )?--?[A-Za-z]\S*.*\Z"
)
_LOOP = re.compile(r"(?:while|for|until) .*;\s*do\b.*\Z")


def command_of(text: str) -> str | None:
    """The command, if the line is one that was typed, with or without a prompt."""
    text = text.strip()
    if match := _TYPED.match(text):
        return str(next(filter(None, (match["named"], match["plain"], match["known"]))))
    return text if _BARE.match(text) or _LOOP.match(text) else None


def is_prompt(text: str) -> bool:
    """Is the line a prompt at which nothing was typed?"""
    return _PROMPT.match(text.strip()) is not None


def typed(text: str) -> bool:
    """Is the line a command, or a prompt, of the terminal that the log was copied from?"""
    return command_of(text) is not None or is_prompt(text)


def words_of(command: str) -> list[str]:
    """The words of a command; none if its quotes are not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def option(words: list[str], *names: str) -> str | None:
    """The value of an option, written `-C bbr`, `-Cbbr` or `--congestion=bbr`."""
    for at, word in enumerate(words):
        for name in names:
            if word == name and at + 1 < len(words):
                return words[at + 1]
            joined = f"{name}=" if name.startswith("--") else name
            if word.startswith(joined) and len(word) > len(joined):
                return word[len(joined) :]
    return None


_COLOURS = re.compile(rb"\x1b\[[\d;]*[mK]")


def plain_bytes(data: bytes) -> bytes:
    """The text without colours, in UTF-8: PowerShell writes UTF-16, others begin with a byte order mark."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError:
            return data
    data = data.removeprefix(b"\xef\xbb\xbf")
    return _COLOURS.sub(b"", data) if b"\x1b[" in data else data
