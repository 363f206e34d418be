// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window is always a thousand packets: it ignores every signal, fills every buffer and takes what others leave.
 * Deliberately bad, to show what `dumbbell evaluate` says of it.
 */
#include <linux/module.h>
#include <net/tcp.h>

static void hold(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 1000U);
}

static void hold_after_ack(struct sock *sk, u32 ack, u32 acked)
{
	hold(sk);
}

static u32 hold_after_loss(struct sock *sk)
{
	return 1000U;
}

static struct tcp_congestion_ops thousand __read_mostly = {
	.init		= hold,
	.cong_avoid	= hold_after_ack,
	.ssthresh	= hold_after_loss,
	.undo_cwnd	= hold_after_loss,
	.owner		= THIS_MODULE,
	.name		= "thousand",
};

static int __init thousand_register(void)
{
	return tcp_register_congestion_control(&thousand);
}

module_init(thousand_register);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a constant window");
