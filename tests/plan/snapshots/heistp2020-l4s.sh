#!/bin/sh
# Prague and CUBIC on queues that know L4S, and on queues that don't: dualpi2, 10 ms
# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.
set -e
trap 'for n in sender1 sender2 router receiver; do ip netns del $n; done' EXIT


# namespaces and wires
ip netns add sender1
ip netns add sender2
ip netns add router
ip netns add receiver
ip link add right address 02:00:00:00:01:01 netns sender1 type veth peer name left address 02:00:00:00:01:02 netns router
ip link add right address 02:00:00:00:02:01 netns sender2 type veth peer name left2 address 02:00:00:00:02:02 netns router
ip link add right address 02:00:00:00:03:01 netns router type veth peer name left address 02:00:00:00:03:02 netns receiver

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
ip -n sender2 addr add 10.0.2.1/24 dev right
ip -n sender2 link set right up
ip -n sender2 neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev right nud permanent
ip -n sender2 route add default via 10.0.2.2

# router
ip netns exec router sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec router sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec router sysctl -w net.ipv4.ip_forward=1
ip -n router link set lo up
ip -n router addr add 10.0.3.1/24 dev right
ip -n router link set right up
ip -n router neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev right nud permanent
ip -n router addr add 10.0.1.2/24 dev left
ip -n router link set left up
ip -n router neigh add 10.0.1.1 lladdr 02:00:00:00:01:01 dev left nud permanent
ip -n router addr add 10.0.2.2/24 dev left2
ip -n router link set left2 up
ip -n router neigh add 10.0.2.1 lladdr 02:00:00:00:02:01 dev left2 nud permanent
ip -n router route add default via 10.0.3.2

# receiver
ip netns exec receiver sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver link set lo up
ip -n receiver addr add 10.0.3.2/24 dev left
ip -n receiver link set left up
ip -n receiver neigh add 10.0.3.1 lladdr 02:00:00:00:03:01 dev left nud permanent
ip -n receiver route add 10.0.1.0/24 via 10.0.3.1
ip -n receiver route add 10.0.2.0/24 via 10.0.3.1

# sender1
ip netns exec sender1 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left tso off gso off gro off

# sender2
ip netns exec sender2 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left2 tso off gso off gro off
ip netns exec router ethtool -K right tso off gso off gro off

# receiver
ip netns exec receiver ethtool -K left tso off gso off gro off

# sender1
ip netns exec sender1 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender1 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender1 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender2
ip netns exec sender2 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender2 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender2 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver
ip netns exec receiver sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# router
tc -n router qdisc add dev right root handle 1: htb default 1
tc -n router class add dev right parent 1: classid 1:1 htb rate 50mbit burst 1514 cburst 1514 quantum 1514
tc -n router qdisc add dev right parent 1:1 handle 10: dualpi2
tc -n router qdisc add dev left root handle 1: netem limit 100625 delay 10ms
tc -n router qdisc add dev left2 root handle 1: netem limit 100625 delay 10ms

# receivers
ip netns exec receiver iperf3 -s -D -1 -p 5201
ip netns exec receiver iperf3 -s -D -1 -p 5202
sleep 1

# probes
ip netns exec sender1 ping -q -i 0.1 -s 56 -w 180 10.0.3.2 &

# flows
(exec ip netns exec sender1 iperf3 -c 10.0.3.2 -p 5201 -C cubic -t 180) &
(exec ip netns exec sender2 iperf3 -c 10.0.3.2 -p 5202 -C prague -t 180) &
wait

# What the queues did
tc -n router -s qdisc show
