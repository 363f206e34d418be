// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window is never more than two packets: it harms nobody and uses nothing.
 * Deliberately bad, to show what `dumbbell evaluate` says of it.
 */
#include <linux/module.h>
#include <net/tcp.h>

static void hold(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 2U);
}

static void hold_after_ack(struct sock *sk, u32 ack, u32 acked)
{
	hold(sk);
}

static u32 hold_after_loss(struct sock *sk)
{
	return 2U;
}

static struct tcp_congestion_ops two __read_mostly = {
	.init		= hold,
	.cong_avoid	= hold_after_ack,
	.ssthresh	= hold_after_loss,
	.undo_cwnd	= hold_after_loss,
	.owner		= THIS_MODULE,
	.name		= "two",
};

static int __init two_register(void)
{
	return tcp_register_congestion_control(&two);
}

module_init(two_register);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a constant window");
