/*
 * Random numbers that Dumbbell's simulator draws too, for a kernel that is compared with it packet by packet.
 *
 * The boot arguments named_seed=NUMBER and named_flows=PORT:ID=NAME,...;PORT:... give the seed, and the flows of each
 * port in the order in which they connect. A stream is xoshiro256++, seeded by splitmix64 from the seed and the name.
 */
#include <linux/bitops.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/named_streams.h>
#include <net/sch_generic.h>

#define MOST_QDISCS 64
#define MOST_FLOWS 4096
#define NAME_BYTES 48
/* The guest's clock when an experiment starts. */
#define START_MS 104

struct stream {
	bool is_seeded;
	u64 s[4];
};

struct qdisc_stream {
	const struct Qdisc *sch;
	bool has_secret;
	u64 secret;
	struct stream stream;
};

struct connection {
	u16 client;
	u16 server;
	u16 flow;
	char name[NAME_BYTES];
	struct stream ends[2];
};

static u64 seed;
static char flows[3584];
static char bottleneck[NAME_BYTES] = "bottleneck";
static struct qdisc_stream qdiscs[MOST_QDISCS];
static struct connection connections[MOST_FLOWS];
static unsigned int connected;

static int __init set_seed(char *text)
{
	return kstrtou64(text, 0, &seed) == 0;
}
__setup("named_seed=", set_seed);

static int __init set_flows(char *text)
{
	strscpy(flows, text, sizeof(flows));
	return 1;
}
__setup("named_flows=", set_flows);

static int __init set_bottleneck(char *text)
{
	strscpy(bottleneck, text, sizeof(bottleneck));
	return 1;
}
__setup("named_bottleneck=", set_bottleneck);

static u64 mixed(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void seed_stream(struct stream *stream, const char *name)
{
	u64 state = 0xcbf29ce484222325ULL;
	int i;

	for (; *name; name++)
		state = (state ^ (u8)*name) * 0x100000001b3ULL;
	state ^= seed;
	for (i = 0; i < 4; i++) {
		state += 0x9e3779b97f4a7c15ULL;
		stream->s[i] = mixed(state);
	}
	stream->is_seeded = true;
}

static u64 next_u64(struct stream *stream)
{
	u64 *s = stream->s;
	u64 result = rol64(s[0] + s[3], 23) + s[0];
	u64 t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rol64(s[3], 45);
	return result;
}

static u32 below(struct stream *stream, u32 limit)
{
	u64 product;

	do {
		product = (next_u64(stream) >> 32) * limit;
	} while ((u32)product < -limit % limit);
	return product >> 32;
}

static struct qdisc_stream *of_qdisc(const struct Qdisc *sch)
{
	struct qdisc_stream *each;
	char name[NAME_BYTES];

	if (sch && sch->parent != TC_H_ROOT)
		sch = NULL;
	for (each = qdiscs; each < qdiscs + MOST_QDISCS - 1; each++)
		if (!each->stream.is_seeded || each->sch == sch)
			break;
	if (!each->stream.is_seeded) {
		snprintf(name, sizeof(name), "host.%x:", sch ? TC_H_MAJ(sch->handle) >> 16 : 0);
		seed_stream(&each->stream, sch ? name : bottleneck);
		each->sch = sch;
	}
	return each;
}

u64 named_u64(const struct Qdisc *sch)
{
	return next_u64(&of_qdisc(sch)->stream);
}

u32 named_u32(const struct Qdisc *sch)
{
	return named_u64(sch) >> 32;
}

u32 named_u32_below(const struct Qdisc *sch, u32 limit)
{
	return below(&of_qdisc(sch)->stream, limit);
}

u64 named_secret(const struct Qdisc *sch)
{
	struct qdisc_stream *of = of_qdisc(sch);

	if (!of->has_secret)
		of->secret = next_u64(&of->stream);
	of->has_secret = true;
	return of->secret;
}

static struct connection *of_ports(u16 client, u16 server)
{
	unsigned int i;

	for (i = connected; i-- > 0;)
		if (connections[i].client == client && connections[i].server == server)
			return &connections[i];
	return NULL;
}

/* The nth flow of a port, from 0; the last one that is listed stands for all later ones. */
static bool listed(u16 port, unsigned int number, u16 *flow, char *name)
{
	char *at = flows;
	unsigned int each, length, id;

	while (at) {
		if (sscanf(at, "%u:", &each) == 1 && each == port)
			break;
		at = strchr(at, ';');
		at = at ? at + 1 : NULL;
	}
	at = at ? strchr(at, ':') : NULL;
	while (at && number--) {
		at = strpbrk(at + 1, ",;");
		if (at && *at == ';')
			return false;
	}
	if (!at || sscanf(at + 1, "%u=", &id) != 1)
		return false;
	*flow = id;
	at = strchr(at, '=') + 1;
	length = strcspn(at, ",;");
	strscpy(name, at, min_t(unsigned int, length + 1, NAME_BYTES));
	return true;
}

void named_connect(const struct sock *sk)
{
	struct connection *one = &connections[connected];
	unsigned int i, number = 0;

	if (connected == MOST_FLOWS)
		return;
	one->client = ntohs(inet_sk(sk)->inet_sport);
	one->server = ntohs(inet_sk(sk)->inet_dport);
	for (i = 0; i < connected; i++)
		number += connections[i].server == one->server;
	if (listed(one->server, number, &one->flow, one->name))
		connected++;
}

static u64 input_of(const struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	const __be16 *ports = (const void *)iph + iph->ihl * 4;
	u16 source, target, flow;
	struct connection *one;
	char name[NAME_BYTES];

	if (skb->protocol != htons(ETH_P_IP))
		return U64_MAX;
	source = ntohs(ports[0]);
	target = ntohs(ports[1]);
	if (iph->protocol == IPPROTO_UDP) {
		if (listed(target, 0, &flow, name))
			return (u64)flow << 1;
		return listed(source, 0, &flow, name) ? ((u64)flow << 1 | 1) : U64_MAX;
	}
	one = of_ports(source, target);
	if (one)
		return (u64)one->flow << 1;
	one = of_ports(target, source);
	return one ? ((u64)one->flow << 1 | 1) : U64_MAX;
}

u64 named_flow_mixed(const struct sk_buff *skb, u64 secret, bool of_socket)
{
	u64 input = input_of(skb);

	/* Here a socket's hash is 1 and the number of times that it drew another. */
	if (of_socket && skb->l4_hash && skb->hash)
		input |= (u64)(skb->hash - 1) << 41;
	return mixed(input ^ secret);
}

static struct stream *of_socket(const struct sock *sk)
{
	static struct stream unknown;
	u16 port = ntohs(inet_sk(sk)->inet_sport), peer = ntohs(inet_sk(sk)->inet_dport);
	struct connection *one = of_ports(port, peer);
	char name[NAME_BYTES + 16];
	bool is_client = one;

	if (!one)
		one = of_ports(peer, port);
	if (!one) {
		if (!unknown.is_seeded)
			seed_stream(&unknown, "unknown");
		return &unknown;
	}
	if (!one->ends[is_client].is_seeded) {
		snprintf(name, sizeof(name), "%s.%s.cc", one->name, is_client ? "sender" : "receiver");
		seed_stream(&one->ends[is_client], name);
	}
	return &one->ends[is_client];
}

/* TCP-LP sees the start of its peer's timestamps, which the simulator draws first from the controller's stream. */
u32 named_ts_off(const struct sk_buff *skb)
{
	const __be16 *ports = (const void *)ip_hdr(skb) + ip_hdr(skb)->ihl * 4;
	struct connection *one = of_ports(ntohs(ports[0]), ntohs(ports[1]));
	char name[NAME_BYTES + 16];
	struct stream stream;

	if (!one)
		return 0;
	snprintf(name, sizeof(name), "%s.sender.cc", one->name);
	seed_stream(&stream, name);
	return (next_u64(&stream) >> 32) - START_MS;
}

u32 named_cc_u32(const struct sock *sk)
{
	return next_u64(of_socket(sk)) >> 32;
}

u32 named_cc_u32_below(const struct sock *sk, u32 limit)
{
	return below(of_socket(sk), limit);
}

