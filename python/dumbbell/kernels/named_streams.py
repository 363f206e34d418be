"""A kernel that draws the simulator's random numbers: an edit that no other kernel gets.

Queue disciplines and controllers of Linux draw from one generator, the simulator's each from a stream of their own
(`crates/net/src/rng.rs`). With this edit they draw from streams of the same names, so that both engines make the same
choices, and a difference between them has another cause. It covers fq, fq_codel, fq_pie, pie, red, choke, sfb, sfq,
hhf, cake, BBR, CDG, NV and LP, and the hash of a flow, which follows the simulator's number of the flow.
"""

import hashlib
from pathlib import Path

from dumbbell.errors import KernelError

__all__ = ["STREAMS_EDIT", "add_streams", "streams_identity"]

STREAMS_EDIT = "random numbers in named streams"
"""Name of the edit."""
CODE, HEADER = (Path(__file__).with_name(f"named_streams.{suffix}") for suffix in "ch")
TREE_CODE, TREE_HEADER = "net/sched/named_streams.c", "include/net/named_streams.h"
INCLUDE = "#include <net/named_streams.h>\n"
KEY = "perturbation.key[0]"

CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "net/sched/Makefile": (("obj-y\t:= sch_generic.o", "obj-y\t:= named_streams.o sch_generic.o"),),
    "net/sched/sch_pie.c": (("get_random_bytes(&rnd, 8);", "rnd = named_u64(sch);"),),
    "net/sched/sch_fq_pie.c": (("skb_get_hash(skb)", "named_flow_hash(skb, named_secret(NULL), true)"),),
    "net/sched/sch_fq_codel.c": (
        ("skb_get_hash(skb), q->flows_cnt", "named_flow_hash(skb, q->secret, true), q->flows_cnt"),
        ("\tu32\t\tflows_cnt;", "\tu64\t\tsecret;\n\tu32\t\tflows_cnt;"),
        ("\tq->flows_cnt = 1024;", "\tq->flows_cnt = 1024;\n\tq->secret = named_secret(sch);"),
    ),
    "net/sched/sch_fq.c": (
        ("skb_get_hash(skb) & q", "named_flow_mixed(skb, q->secret, true) & q"),
        ("\tu32\t\tquantum;\n", "\tu64\t\tsecret;\n\tu32\t\tquantum;\n"),
        ("\tsch->limit\t\t= 10000;", "\tq->secret = named_secret(sch);\n\tsch->limit\t\t= 10000;"),
    ),
    "net/sched/sch_choke.c": (("get_random_u32_below(", "named_u32_below(NULL, "),),
    "include/net/red.h": (("get_random_u32()", "named_u32(NULL)"),),
    "net/sched/sch_sfb.c": (
        ("get_random_bytes(&q->bins[slot].perturbation,\n\t\t\t sizeof(q->bins[slot].perturbation));",
         f"q->bins[slot].{KEY} = named_u64(NULL);"),
        ("skb_get_hash_perturb(skb, &q->bins[slot].perturbation)", f"named_flow_hash(skb, q->bins[slot].{KEY}, false)"),
        ("skb_get_hash_perturb(skb,\n\t\t\t    &q->bins[slot].perturbation)",
         f"named_flow_hash(skb, q->bins[slot].{KEY}, false)"),
        ("get_random_u16()", "(named_u32(NULL) >> 16)"),
    ),
    "net/sched/sch_sfq.c": (
        ("skb_get_hash_perturb(skb, &q->perturbation) & (q->divisor - 1)",
         f"reciprocal_scale(named_flow_hash(skb, q->{KEY}, false), q->divisor)"),
        ("get_random_bytes(&nkey, sizeof(nkey));", "nkey.key[0] = named_u64(q->sch);"),
        ("\t\tget_random_bytes(&q->perturbation, sizeof(q->perturbation));\n\t}", "\t}"),
        ("get_random_bytes(&q->perturbation, sizeof(q->perturbation));", f"q->{KEY} = named_u64(sch);"),
    ),
    "net/sched/sch_hhf.c": (
        ("skb_get_hash_perturb(skb, &q->perturbation)", f"named_flow_hash(skb, q->{KEY}, false)"),
        ("get_random_bytes(&q->perturbation, sizeof(q->perturbation));", f"q->{KEY} = named_u64(sch);"),
    ),
    "net/sched/sch_cake.c": (
        ("(get_random_u32() < vars->p_drop)", "(named_u32(NULL) < vars->p_drop)"),
        ("flow_hash = skb->hash;", "flow_hash = named_flow_hash(skb, named_secret(NULL), true);"),
        ("get_random_u16()) >> 16", "(named_u32(NULL) & 0xffff)) >> 16"),
    ),
    "net/ipv4/tcp_bbr.c": (("get_random_u32_below(", "named_cc_u32_below(sk, "),),
    "net/ipv4/tcp_cdg.c": (("get_random_u32()", "named_cc_u32(sk)"),),
    "net/ipv4/tcp_nv.c": (("get_random_bytes(&rand, 1);", "rand = named_cc_u32(sk);"),),
    "net/ipv4/tcp_ipv4.c": (
        ("\tsk_set_txhash(sk);\n\n\trt =", "\tsk_set_txhash(sk);\n\tnamed_connect(sk);\n\n\trt ="),
        ("\treturn secure_tcp_seq_and_ts_off(", "\tunion tcp_seq_and_ts_off st = secure_tcp_seq_and_ts_off("),
        ("tcp_hdr(skb)->source);\n}", "tcp_hdr(skb)->source);\n\n\tst.ts_off = named_ts_off(skb);\n\treturn st;\n}"),
    ),
    # A socket's hash counts how often it was drawn.
    "include/net/sock.h": (
        ("\tu32 v = get_random_u32();\n\n\treturn v ?: 1;", "\treturn 1;"),
        ("sk->sk_txhash, net_tx_rndhash()", "sk->sk_txhash, sk->sk_txhash + 1"),
    ),
}  # fmt: skip
"""By file: each text and what takes its place."""
WITHOUT_INCLUDE = ("net/sched/Makefile", "include/net/sock.h")


def streams_identity() -> str:
    """Changes when such a kernel would change."""
    hashed = hashlib.sha256(repr(CHANGES).encode())
    for file in (CODE, HEADER):
        hashed.update(file.read_bytes())
    return f"{STREAMS_EDIT} {hashed.hexdigest()[:8]}"


def add_streams(tree: Path) -> str:
    """Edit a tree of Linux, unless it is edited; returns the edit's name.

    Raises `KernelError` if a text to replace is missing: then the edit is not for this version.
    """
    done = (tree / TREE_CODE).is_file()
    (tree / TREE_CODE).write_bytes(CODE.read_bytes())
    (tree / TREE_HEADER).write_bytes(HEADER.read_bytes())
    if not done:
        texts = {name: _changed(tree, name) for name in CHANGES}
        for name, text in texts.items():
            (tree / name).write_text(text, encoding="utf-8")
    return STREAMS_EDIT


def _changed(tree: Path, name: str) -> str:
    text = (tree / name).read_text(encoding="utf-8")
    for old, new in CHANGES[name]:
        if old not in text:
            (tree / TREE_CODE).unlink()
            raise KernelError(
                f"{tree / name}: lacks '{old.strip()}', so the simulator's random numbers can't be added to this "
                "version of Linux; this edit was made for 6.12.117"
            )
        text = text.replace(old, new)
    first = text.index("#include") if name not in WITHOUT_INCLUDE else 0
    return text if name in WITHOUT_INCLUDE else text[:first] + INCLUDE + text[first:]
