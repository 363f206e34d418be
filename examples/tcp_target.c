// SPDX-License-Identifier: GPL-2.0-only
/*
 * Target: a window that holds a queue of so many milliseconds, and no longer one.
 *
 * Once a round (the time in which a window is acknowledged) the shortest RTT of the round gives the queue:
 *
 *	queue = shortest RTT of the round - shortest RTT of the path
 *
 * Below the target the window grows by a packet a round; above it, it gives back half of the excess, so that
 * flows that share a queue reach equal windows (additive increase, multiplicative decrease, as in Swift: Kumar et
 * al., SIGCOMM 2020). Slow start ends where the target is passed. A loss takes three tenths of the window, as CUBIC's.
 *
 * With a standing queue the path's own RTT is never measured; so a flow that has not measured it for ten seconds
 * uses three quarters of the path's window for two rounds, one that drains the queue and one that measures.
 */
#include <linux/module.h>
#include <net/tcp.h>

static int target_ms __read_mostly = 5;
module_param(target_ms, int, 0644);
MODULE_PARM_DESC(target_ms, "queue to hold, in milliseconds");

#define LOOK_AFTER	(10 * HZ)
#define FEW_SAMPLES	8	/* slow start, which can't wait for a round, believes the shortest of so many RTTs */
#define LEAST_WINDOW	2U
#define NEVER		U32_MAX

struct target {
	u32 path_us;		/* the shortest RTT of the path */
	u32 seen_at;		/* when it was seen, in jiffies */
	u32 round_us;		/* the shortest RTT of this round so far */
	u32 round_end;		/* the round is over when this is acknowledged */
	u32 kept_window;	/* while we look for the path's RTT: what to go back to; else 0 */
	u16 samples;		/* of this round */
	bool drained;		/* have the packets from before the look been acknowledged? */
	bool above;		/* was there too much of a queue in the last round? */
};

static u32 target_us(void)
{
	return max(READ_ONCE(target_ms), 1) * USEC_PER_MSEC;
}

/* The queue that the samples since they were begun tell of. */
static u32 queue_us(const struct target *t)
{
	return t->round_us - min(t->round_us, t->path_us);
}

static void set_window(struct tcp_sock *tp, u32 window)
{
	tcp_snd_cwnd_set(tp, clamp(window, LEAST_WINDOW, tp->snd_cwnd_clamp));
}

static void begin_samples(struct target *t)
{
	t->round_us = NEVER;
	t->samples = 0;
}

static void begin_round(const struct tcp_sock *tp, struct target *t)
{
	t->round_end = tp->snd_nxt;
	begin_samples(t);
}

static void target_init(struct sock *sk)
{
	struct target *t = inet_csk_ca(sk);

	memset(t, 0, sizeof(*t));
	t->path_us = NEVER;
	t->seen_at = tcp_jiffies32;
	begin_round(tcp_sk(sk), t);
	/* Windows at once would be queues of their own: let TCP spread them over the RTT. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* A look takes two rounds. What the second one shows is the path, even if that is longer than it was. */
static void go_on_looking(struct tcp_sock *tp, struct target *t)
{
	if (!t->drained) {
		t->drained = true;
		return;
	}

	t->path_us = t->round_us;
	t->seen_at = tcp_jiffies32;
	set_window(tp, t->kept_window);
	t->kept_window = 0;
}

/* Let the queue run empty: of the window only that share which the path itself holds, and of it three quarters. */
static void begin_look(struct tcp_sock *tp, struct target *t)
{
	t->kept_window = tcp_snd_cwnd(tp);
	t->drained = false;
	set_window(tp, div_u64((u64)t->kept_window * t->path_us * 3, t->round_us * 4));
}

/* What is acknowledged now left under half of this window: slow start doubles it every round. */
static void leave_slow_start(struct tcp_sock *tp, struct target *t)
{
	u64 window = (u64)tcp_snd_cwnd(tp) * (t->path_us + target_us());

	set_window(tp, div_u64(window, 2 * t->round_us));
	tp->snd_ssthresh = tcp_snd_cwnd(tp);
	begin_round(tp, t);
}

static void end_round(struct tcp_sock *tp, struct target *t)
{
	u32 window = tcp_snd_cwnd(tp);
	u32 queue = queue_us(t);

	t->above = queue > target_us();
	if (!t->above)
		return;
	/* Half of what is too much: what this round does, only the next one will show. */
	set_window(tp, window - div_u64((u64)window * (queue - target_us()), 2 * t->round_us));
	tp->snd_ssthresh = tcp_snd_cwnd(tp);
}

static void target_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct target *t = inet_csk_ca(sk);

	if (tcp_in_slow_start(tp) && !t->kept_window && t->samples >= FEW_SAMPLES) {
		if (queue_us(t) > target_us())
			leave_slow_start(tp, t);
		else
			begin_samples(t);
	}

	if (!before(ack, t->round_end) && t->round_us != NEVER) {
		if (t->kept_window)
			go_on_looking(tp, t);
		else if (tcp_jiffies32 - t->seen_at > LOOK_AFTER)
			begin_look(tp, t);
		else
			end_round(tp, t);
		begin_round(tp, t);
	}

	if (t->kept_window || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked && !t->above)
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static void target_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct target *t = inet_csk_ca(sk);

	if (sample->rtt_us <= 0)
		return;
	t->round_us = min_t(u32, t->round_us, sample->rtt_us);
	t->samples += t->samples < U16_MAX;
	if (sample->rtt_us <= t->path_us) {
		t->path_us = sample->rtt_us;
		t->seen_at = tcp_jiffies32;
	}
}

static u32 target_ssthresh(struct sock *sk)
{
	struct target *t = inet_csk_ca(sk);
	u32 window = max(tcp_snd_cwnd(tcp_sk(sk)), t->kept_window);

	t->kept_window = 0;
	return max(window * 7 / 10, LEAST_WINDOW);
}

static struct tcp_congestion_ops target __read_mostly = {
	.init		= target_init,
	.ssthresh	= target_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= target_cong_avoid,
	.pkts_acked	= target_pkts_acked,
	.owner		= THIS_MODULE,
	.name		= "target",
};

static int __init target_register(void)
{
	BUILD_BUG_ON(sizeof(struct target) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&target);
}

module_init(target_register);
MODULE_LICENSE("GPL");
