#!/bin/sh
# Two flows of one controller, one of them five times as far away: reno, bfifo limit 1bdp
# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.
set -e
trap 'for n in sender sender2 router receiver air2; do ip netns del $n; done' EXIT


# namespaces and wires
ip netns add sender
ip netns add sender2
ip netns add router
ip netns add receiver
ip netns add air2
ip link add right address 02:00:00:00:01:01 netns sender type veth peer name left address 02:00:00:00:01:02 netns router
ip link add right address 02:00:00:00:02:01 netns sender2 type veth peer name left address 02:00:00:00:02:02 netns air2
ip link add right address 02:00:00:00:03:01 netns air2 type veth peer name left2 address 02:00:00:00:03:02 netns router
ip link add right address 02:00:00:00:04:01 netns router type veth peer name left address 02:00:00:00:04:02 netns receiver

# sender
ip netns exec sender sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender link set lo up
ip -n sender addr add 10.0.1.1/24 dev right
ip -n sender link set right up
ip -n sender neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent
ip -n sender route add default via 10.0.1.2

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
ip -n router addr add 10.0.4.1/24 dev right
ip -n router link set right up
ip -n router neigh add 10.0.4.2 lladdr 02:00:00:00:04:02 dev right nud permanent
ip -n router addr add 10.0.1.2/24 dev left
ip -n router link set left up
ip -n router neigh add 10.0.1.1 lladdr 02:00:00:00:01:01 dev left nud permanent
ip -n router addr add 10.0.3.2/24 dev left2
ip -n router link set left2 up
ip -n router neigh add 10.0.3.1 lladdr 02:00:00:00:03:01 dev left2 nud permanent
ip -n router route add default via 10.0.4.2
ip -n router route add 10.0.2.0/24 via 10.0.3.1

# receiver
ip netns exec receiver sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver link set lo up
ip -n receiver addr add 10.0.4.2/24 dev left
ip -n receiver link set left up
ip -n receiver neigh add 10.0.4.1 lladdr 02:00:00:00:04:01 dev left nud permanent
ip -n receiver route add 10.0.1.0/24 via 10.0.4.1
ip -n receiver route add 10.0.2.0/24 via 10.0.4.1

# air2
ip netns exec air2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec air2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec air2 sysctl -w net.ipv4.ip_forward=1
ip -n air2 link set lo up
ip -n air2 addr add 10.0.3.1/24 dev right
ip -n air2 link set right up
ip -n air2 neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev right nud permanent
ip -n air2 addr add 10.0.2.2/24 dev left
ip -n air2 link set left up
ip -n air2 neigh add 10.0.2.1 lladdr 02:00:00:00:02:01 dev left nud permanent
ip -n air2 route add default via 10.0.3.2

# sender
ip netns exec sender ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left tso off gso off gro off

# sender2
ip netns exec sender2 ethtool -K right tso off gso off gro off

# air2
ip netns exec air2 ethtool -K left tso off gso off gro off
ip netns exec air2 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left2 tso off gso off gro off
ip netns exec router ethtool -K right tso off gso off gro off

# receiver
ip netns exec receiver ethtool -K left tso off gso off gro off

# sender
ip netns exec sender sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender2
ip netns exec sender2 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender2 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender2 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver
ip netns exec receiver sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# air2
tc -n air2 qdisc add dev right root handle 1: netem limit 5100000 delay 40ms

# router
tc -n router qdisc add dev right root handle 1: htb default 1
tc -n router class add dev right parent 1: classid 1:1 htb rate 100mbit burst 1514 cburst 1514 quantum 1514
tc -n router qdisc add dev right parent 1:1 handle 10: bfifo limit 125000
tc -n router qdisc add dev left root handle 1: netem limit 101250 delay 10ms
tc -n router qdisc add dev left2 root handle 1: netem limit 101250 delay 10ms

# receivers
ip netns exec receiver iperf3 -s -D -1 -p 5201
ip netns exec receiver iperf3 -s -D -1 -p 5202
sleep 1

# probes
ip netns exec sender ping -q -i 0.1 -s 56 -w 60 10.0.4.2 &

# flows
(exec ip netns exec sender iperf3 -c 10.0.4.2 -p 5201 -C reno -t 60) &
(exec ip netns exec sender2 iperf3 -c 10.0.4.2 -p 5202 -C reno -t 60) &
wait

# What the queues did
tc -n air2 -s qdisc show
tc -n router -s qdisc show
