#!/bin/sh
# BBR leads CUBIC at a shallow buffer; their shares rise and fall
# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.
set -e
trap 'for n in sender router receiver; do ip netns del $n; done' EXIT


# namespaces and wires
ip netns add sender
ip netns add router
ip netns add receiver
ip link add right address 02:00:00:00:01:01 netns sender type veth peer name left address 02:00:00:00:01:02 netns router
ip link add right address 02:00:00:00:02:01 netns router type veth peer name left address 02:00:00:00:02:02 netns receiver

# sender
ip netns exec sender sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender link set lo up
ip -n sender addr add 10.0.1.1/24 dev right
ip -n sender link set right up
ip -n sender neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent
ip -n sender route add default via 10.0.1.2

# router
ip netns exec router sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec router sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec router sysctl -w net.ipv4.ip_forward=1
ip -n router link set lo up
ip -n router addr add 10.0.2.1/24 dev right
ip -n router link set right up
ip -n router neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev right nud permanent
ip -n router addr add 10.0.1.2/24 dev left
ip -n router link set left up
ip -n router neigh add 10.0.1.1 lladdr 02:00:00:00:01:01 dev left nud permanent
ip -n router route add default via 10.0.2.2

# receiver
ip netns exec receiver sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver link set lo up
ip -n receiver addr add 10.0.2.2/24 dev left
ip -n receiver link set left up
ip -n receiver neigh add 10.0.2.1 lladdr 02:00:00:00:02:01 dev left nud permanent
ip -n receiver route add 10.0.1.0/24 via 10.0.2.1

# sender
ip netns exec sender ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left tso off gso off gro off
ip netns exec router ethtool -K right tso off gso off gro off

# receiver
ip netns exec receiver ethtool -K left tso off gso off gro off

# sender
ip netns exec sender sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver
ip netns exec receiver sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# router
tc -n router qdisc add dev right root handle 1: htb default 1
tc -n router class add dev right parent 1: classid 1:1 htb rate 80mbit burst 1514 cburst 1514 quantum 1514
tc -n router qdisc add dev right parent 1:1 handle 10: bfifo limit 225000
tc -n router qdisc add dev left root handle 1: netem limit 101300 delay 13ms

# receivers
ip netns exec receiver iperf3 -s -D -1 -p 20000
ip netns exec receiver iperf3 -s -D -1 -p 20001
ip netns exec receiver iperf3 -s -D -1 -p 20002
ip netns exec receiver iperf3 -s -D -1 -p 20003
sleep 1

# probes
ip netns exec sender ping -q -i 0.1 -s 56 -w 120 10.0.2.2 &

# flows
(exec ip netns exec sender iperf3 -c 10.0.2.2 -p 20000 -C bbr -t 120) &
(exec ip netns exec sender iperf3 -c 10.0.2.2 -p 20001 -C bbr -t 120) &
(exec ip netns exec sender iperf3 -c 10.0.2.2 -p 20002 -C cubic -t 120) &
(exec ip netns exec sender iperf3 -c 10.0.2.2 -p 20003 -C cubic -t 120) &
wait

# What the queues did
tc -n router -s qdisc show
