/* Random numbers that Dumbbell's simulator draws too: one stream per qdisc and per flow. */
#ifndef _NET_NAMED_STREAMS_H
#define _NET_NAMED_STREAMS_H

#include <linux/types.h>

struct Qdisc;
struct sk_buff;
struct sock;

/* The stream of a qdisc; NULL stands for the bottleneck's. */
u64 named_u64(const struct Qdisc *sch);
u32 named_u32(const struct Qdisc *sch);
u32 named_u32_below(const struct Qdisc *sch, u32 limit);
/* The key that the qdisc drew first. */
u64 named_secret(const struct Qdisc *sch);
/* A hash of the packet's flow; with the draws of its socket, or by addresses alone. */
u64 named_flow_mixed(const struct sk_buff *skb, u64 secret, bool of_socket);

static inline u32 named_flow_hash(const struct sk_buff *skb, u64 secret, bool of_socket)
{
	return named_flow_mixed(skb, secret, of_socket) >> 32;
}

/* A connection begins. */
void named_connect(const struct sock *sk);
/* The stream of the controller at one end of a connection. */
u32 named_ts_off(const struct sk_buff *skb);
u32 named_cc_u32(const struct sock *sk);
u32 named_cc_u32_below(const struct sock *sk, u32 limit);

#endif
