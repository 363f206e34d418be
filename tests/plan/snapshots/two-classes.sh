#!/bin/sh
# BBR and CUBIC side by side, 1 % loss and 10 ms each: as reported
# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.
set -e
trap 'for n in sender1 sender2 router receiver access1 air1 access2 air2; do ip netns del $n; done' EXIT


# namespaces and wires
ip netns add sender1
ip netns add sender2
ip netns add router
ip netns add receiver
ip netns add access1
ip netns add air1
ip netns add access2
ip netns add air2
ip link add right address 02:00:00:00:01:01 mtu 4200 netns sender1 type veth peer name left address 02:00:00:00:01:02 mtu 4200 netns access1
ip link add right address 02:00:00:00:02:01 mtu 4200 netns access1 type veth peer name left address 02:00:00:00:02:02 mtu 4200 netns air1
ip link add right address 02:00:00:00:03:01 mtu 4200 netns air1 type veth peer name left address 02:00:00:00:03:02 mtu 4200 netns router
ip link add right address 02:00:00:00:04:01 mtu 4200 netns sender2 type veth peer name left address 02:00:00:00:04:02 mtu 4200 netns access2
ip link add right address 02:00:00:00:05:01 mtu 4200 netns access2 type veth peer name left address 02:00:00:00:05:02 mtu 4200 netns air2
ip link add right address 02:00:00:00:06:01 mtu 4200 netns air2 type veth peer name left2 address 02:00:00:00:06:02 mtu 4200 netns router
ip link add right address 02:00:00:00:07:01 mtu 4200 netns router type veth peer name left address 02:00:00:00:07:02 mtu 4200 netns receiver

# sender1
ip netns exec sender1 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender1 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender1 link set lo up
ip -n sender1 addr add 10.0.1.1/24 dev right
ip -n sender1 link set right up
ip -n sender1 neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent
ip -n sender1 route add default via 10.0.1.2

# sender2
ip netns exec sender2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender2 link set lo up
ip -n sender2 addr add 10.0.4.1/24 dev right
ip -n sender2 link set right up
ip -n sender2 neigh add 10.0.4.2 lladdr 02:00:00:00:04:02 dev right nud permanent
ip -n sender2 route add default via 10.0.4.2

# router
ip netns exec router sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec router sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec router sysctl -w net.ipv4.ip_forward=1
ip -n router link set lo up
ip -n router addr add 10.0.7.1/24 dev right
ip -n router link set right up
ip -n router neigh add 10.0.7.2 lladdr 02:00:00:00:07:02 dev right nud permanent
ip -n router addr add 10.0.3.2/24 dev left
ip -n router link set left up
ip -n router neigh add 10.0.3.1 lladdr 02:00:00:00:03:01 dev left nud permanent
ip -n router addr add 10.0.6.2/24 dev left2
ip -n router link set left2 up
ip -n router neigh add 10.0.6.1 lladdr 02:00:00:00:06:01 dev left2 nud permanent
ip -n router route add default via 10.0.7.2
ip -n router route add 10.0.1.0/24 via 10.0.3.1
ip -n router route add 10.0.4.0/24 via 10.0.6.1

# receiver
ip netns exec receiver sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver link set lo up
ip -n receiver addr add 10.0.7.2/24 dev left
ip -n receiver link set left up
ip -n receiver neigh add 10.0.7.1 lladdr 02:00:00:00:07:01 dev left nud permanent
ip -n receiver route add 10.0.1.0/24 via 10.0.7.1
ip -n receiver route add 10.0.4.0/24 via 10.0.7.1

# access1
ip netns exec access1 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access1 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access1 sysctl -w net.ipv4.ip_forward=1
ip -n access1 link set lo up
ip -n access1 addr add 10.0.2.1/24 dev right
ip -n access1 link set right up
ip -n access1 neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev right nud permanent
ip -n access1 addr add 10.0.1.2/24 dev left
ip -n access1 link set left up
ip -n access1 neigh add 10.0.1.1 lladdr 02:00:00:00:01:01 dev left nud permanent
ip -n access1 route add default via 10.0.2.2

# air1
ip netns exec air1 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec air1 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec air1 sysctl -w net.ipv4.ip_forward=1
ip -n air1 link set lo up
ip -n air1 addr add 10.0.3.1/24 dev right
ip -n air1 link set right up
ip -n air1 neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev right nud permanent
ip -n air1 addr add 10.0.2.2/24 dev left
ip -n air1 link set left up
ip -n air1 neigh add 10.0.2.1 lladdr 02:00:00:00:02:01 dev left nud permanent
ip -n air1 route add default via 10.0.3.2
ip -n air1 route add 10.0.1.0/24 via 10.0.2.1

# access2
ip netns exec access2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access2 sysctl -w net.ipv4.ip_forward=1
ip -n access2 link set lo up
ip -n access2 addr add 10.0.5.1/24 dev right
ip -n access2 link set right up
ip -n access2 neigh add 10.0.5.2 lladdr 02:00:00:00:05:02 dev right nud permanent
ip -n access2 addr add 10.0.4.2/24 dev left
ip -n access2 link set left up
ip -n access2 neigh add 10.0.4.1 lladdr 02:00:00:00:04:01 dev left nud permanent
ip -n access2 route add default via 10.0.5.2

# air2
ip netns exec air2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec air2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec air2 sysctl -w net.ipv4.ip_forward=1
ip -n air2 link set lo up
ip -n air2 addr add 10.0.6.1/24 dev right
ip -n air2 link set right up
ip -n air2 neigh add 10.0.6.2 lladdr 02:00:00:00:06:02 dev right nud permanent
ip -n air2 addr add 10.0.5.2/24 dev left
ip -n air2 link set left up
ip -n air2 neigh add 10.0.5.1 lladdr 02:00:00:00:05:01 dev left nud permanent
ip -n air2 route add default via 10.0.6.2
ip -n air2 route add 10.0.4.0/24 via 10.0.5.1

# sender1
ip netns exec sender1 ethtool -K right tso on gso on gro on

# access1
ip netns exec access1 ethtool -K left tso on gso on gro on
ip netns exec access1 ethtool -K right tso on gso on gro on

# air1
ip netns exec air1 ethtool -K left tso on gso on gro on
ip netns exec air1 ethtool -K right tso on gso on gro on

# router
ip netns exec router ethtool -K left tso on gso on gro on

# sender2
ip netns exec sender2 ethtool -K right tso on gso on gro on

# access2
ip netns exec access2 ethtool -K left tso on gso on gro on
ip netns exec access2 ethtool -K right tso on gso on gro on

# air2
ip netns exec air2 ethtool -K left tso on gso on gro on
ip netns exec air2 ethtool -K right tso on gso on gro on

# router
ip netns exec router ethtool -K left2 tso on gso on gro on
ip netns exec router ethtool -K right tso on gso on gro on

# receiver
ip netns exec receiver ethtool -K left tso on gso on gro on

# sender1
ip netns exec sender1 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender1 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'
ip netns exec sender1 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 4194304'

# sender2
ip netns exec sender2 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender2 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'
ip netns exec sender2 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 4194304'

# receiver
ip netns exec receiver sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'
ip netns exec receiver sysctl -w 'net.ipv4.tcp_wmem=4096 16384 4194304'

# access1
tc -n access1 qdisc add dev right root handle 1: htb default 1
tc -n access1 class add dev right parent 1: classid 1:1 htb rate 5gbit burst 4214 cburst 4214 quantum 4214
tc -n access1 qdisc add dev right parent 1:1 handle 10: pfifo limit 1000

# air1
tc -n air1 qdisc add dev right root handle 1: netem limit 162500 delay 10ms loss 1%

# access2
tc -n access2 qdisc add dev right root handle 1: htb default 1
tc -n access2 class add dev right parent 1: classid 1:1 htb rate 5gbit burst 4214 cburst 4214 quantum 4214
tc -n access2 qdisc add dev right parent 1:1 handle 10: pfifo limit 1000

# air2
tc -n air2 qdisc add dev right root handle 1: netem limit 162500 delay 10ms loss 1%

# router
tc -n router qdisc add dev right root handle 1: htb default 1
tc -n router class add dev right parent 1: classid 1:1 htb rate 10gbit burst 4214 cburst 4214 quantum 4214
tc -n router qdisc add dev right parent 1:1 handle 10: pfifo limit 1000
tc -n router qdisc add dev left root handle 1: netem limit 101250 delay 100us
tc -n router qdisc add dev left2 root handle 1: netem limit 101250 delay 100us

# receivers
ip netns exec receiver iperf3 -s -D -1 -p 5201
ip netns exec receiver iperf3 -s -D -1 -p 5202
sleep 1

# probes
ip netns exec sender1 ping -q -i 0.1 -s 56 -w 60 10.0.7.2 &

# flows
(exec ip netns exec sender1 iperf3 -c 10.0.7.2 -p 5201 -C cubic -t 60) &
(exec ip netns exec sender2 iperf3 -c 10.0.7.2 -p 5202 -C bbr -t 60) &
wait

# What the queues did
tc -n access1 -s qdisc show
tc -n air1 -s qdisc show
tc -n access2 -s qdisc show
tc -n air2 -s qdisc show
tc -n router -s qdisc show
