#!/bin/sh
# A parking lot: one flow over three bottlenecks, one more at each of them: reno
# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.
set -e
trap 'for n in sender sender3 sender4 router after1 after2 receiver air3 air4 receiver-after1 receiver-after2; do ip netns del $n; done' EXIT


# namespaces and wires
ip netns add sender
ip netns add sender3
ip netns add sender4
ip netns add router
ip netns add after1
ip netns add after2
ip netns add receiver
ip netns add air3
ip netns add air4
ip netns add receiver-after1
ip netns add receiver-after2
ip link add right address 02:00:00:00:01:01 netns sender type veth peer name left address 02:00:00:00:01:02 netns router
ip link add right address 02:00:00:00:02:01 netns sender3 type veth peer name left address 02:00:00:00:02:02 netns air3
ip link add right address 02:00:00:00:03:01 netns air3 type veth peer name left address 02:00:00:00:03:02 netns after1
ip link add right address 02:00:00:00:04:01 netns sender4 type veth peer name left address 02:00:00:00:04:02 netns air4
ip link add right address 02:00:00:00:05:01 netns air4 type veth peer name left address 02:00:00:00:05:02 netns after2
ip link add right address 02:00:00:00:06:01 netns router type veth peer name left2 address 02:00:00:00:06:02 netns after1
ip link add right address 02:00:00:00:07:01 netns after1 type veth peer name left2 address 02:00:00:00:07:02 netns after2
ip link add right address 02:00:00:00:08:01 netns after2 type veth peer name left address 02:00:00:00:08:02 netns receiver
ip link add right2 address 02:00:00:00:09:01 netns after1 type veth peer name left address 02:00:00:00:09:02 netns receiver-after1
ip link add right2 address 02:00:00:00:0a:01 netns after2 type veth peer name left address 02:00:00:00:0a:02 netns receiver-after2

# sender
ip netns exec sender sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender link set lo up
ip -n sender addr add 10.0.1.1/24 dev right
ip -n sender link set right up
ip -n sender neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent
ip -n sender route add default via 10.0.1.2

# sender3
ip netns exec sender3 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender3 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender3 link set lo up
ip -n sender3 addr add 10.0.2.1/24 dev right
ip -n sender3 link set right up
ip -n sender3 neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev right nud permanent
ip -n sender3 route add default via 10.0.2.2

# sender4
ip netns exec sender4 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender4 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender4 link set lo up
ip -n sender4 addr add 10.0.4.1/24 dev right
ip -n sender4 link set right up
ip -n sender4 neigh add 10.0.4.2 lladdr 02:00:00:00:04:02 dev right nud permanent
ip -n sender4 route add default via 10.0.4.2

# router
ip netns exec router sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec router sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec router sysctl -w net.ipv4.ip_forward=1
ip -n router link set lo up
ip -n router addr add 10.0.6.1/24 dev right
ip -n router link set right up
ip -n router neigh add 10.0.6.2 lladdr 02:00:00:00:06:02 dev right nud permanent
ip -n router addr add 10.0.1.2/24 dev left
ip -n router link set left up
ip -n router neigh add 10.0.1.1 lladdr 02:00:00:00:01:01 dev left nud permanent
ip -n router route add default via 10.0.6.2

# after1
ip netns exec after1 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec after1 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec after1 sysctl -w net.ipv4.ip_forward=1
ip -n after1 link set lo up
ip -n after1 addr add 10.0.7.1/24 dev right
ip -n after1 link set right up
ip -n after1 neigh add 10.0.7.2 lladdr 02:00:00:00:07:02 dev right nud permanent
ip -n after1 addr add 10.0.9.1/24 dev right2
ip -n after1 link set right2 up
ip -n after1 neigh add 10.0.9.2 lladdr 02:00:00:00:09:02 dev right2 nud permanent
ip -n after1 addr add 10.0.3.2/24 dev left
ip -n after1 link set left up
ip -n after1 neigh add 10.0.3.1 lladdr 02:00:00:00:03:01 dev left nud permanent
ip -n after1 addr add 10.0.6.2/24 dev left2
ip -n after1 link set left2 up
ip -n after1 neigh add 10.0.6.1 lladdr 02:00:00:00:06:01 dev left2 nud permanent
ip -n after1 route add default via 10.0.7.2
ip -n after1 route add 10.0.1.0/24 via 10.0.6.1
ip -n after1 route add 10.0.2.0/24 via 10.0.3.1

# after2
ip netns exec after2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec after2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec after2 sysctl -w net.ipv4.ip_forward=1
ip -n after2 link set lo up
ip -n after2 addr add 10.0.8.1/24 dev right
ip -n after2 link set right up
ip -n after2 neigh add 10.0.8.2 lladdr 02:00:00:00:08:02 dev right nud permanent
ip -n after2 addr add 10.0.10.1/24 dev right2
ip -n after2 link set right2 up
ip -n after2 neigh add 10.0.10.2 lladdr 02:00:00:00:0a:02 dev right2 nud permanent
ip -n after2 addr add 10.0.5.2/24 dev left
ip -n after2 link set left up
ip -n after2 neigh add 10.0.5.1 lladdr 02:00:00:00:05:01 dev left nud permanent
ip -n after2 addr add 10.0.7.2/24 dev left2
ip -n after2 link set left2 up
ip -n after2 neigh add 10.0.7.1 lladdr 02:00:00:00:07:01 dev left2 nud permanent
ip -n after2 route add default via 10.0.8.2
ip -n after2 route add 10.0.1.0/24 via 10.0.7.1
ip -n after2 route add 10.0.2.0/24 via 10.0.7.1
ip -n after2 route add 10.0.4.0/24 via 10.0.5.1

# receiver
ip netns exec receiver sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver link set lo up
ip -n receiver addr add 10.0.8.2/24 dev left
ip -n receiver link set left up
ip -n receiver neigh add 10.0.8.1 lladdr 02:00:00:00:08:01 dev left nud permanent
ip -n receiver route add 10.0.1.0/24 via 10.0.8.1
ip -n receiver route add 10.0.2.0/24 via 10.0.8.1
ip -n receiver route add 10.0.4.0/24 via 10.0.8.1

# air3
ip netns exec air3 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec air3 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec air3 sysctl -w net.ipv4.ip_forward=1
ip -n air3 link set lo up
ip -n air3 addr add 10.0.3.1/24 dev right
ip -n air3 link set right up
ip -n air3 neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev right nud permanent
ip -n air3 addr add 10.0.2.2/24 dev left
ip -n air3 link set left up
ip -n air3 neigh add 10.0.2.1 lladdr 02:00:00:00:02:01 dev left nud permanent
ip -n air3 route add default via 10.0.3.2

# air4
ip netns exec air4 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec air4 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec air4 sysctl -w net.ipv4.ip_forward=1
ip -n air4 link set lo up
ip -n air4 addr add 10.0.5.1/24 dev right
ip -n air4 link set right up
ip -n air4 neigh add 10.0.5.2 lladdr 02:00:00:00:05:02 dev right nud permanent
ip -n air4 addr add 10.0.4.2/24 dev left
ip -n air4 link set left up
ip -n air4 neigh add 10.0.4.1 lladdr 02:00:00:00:04:01 dev left nud permanent
ip -n air4 route add default via 10.0.5.2

# receiver-after1
ip netns exec receiver-after1 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver-after1 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver-after1 link set lo up
ip -n receiver-after1 addr add 10.0.9.2/24 dev left
ip -n receiver-after1 link set left up
ip -n receiver-after1 neigh add 10.0.9.1 lladdr 02:00:00:00:09:01 dev left nud permanent
ip -n receiver-after1 route add 10.0.1.0/24 via 10.0.9.1
ip -n receiver-after1 route add 10.0.2.0/24 via 10.0.9.1

# receiver-after2
ip netns exec receiver-after2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver-after2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver-after2 link set lo up
ip -n receiver-after2 addr add 10.0.10.2/24 dev left
ip -n receiver-after2 link set left up
ip -n receiver-after2 neigh add 10.0.10.1 lladdr 02:00:00:00:0a:01 dev left nud permanent
ip -n receiver-after2 route add 10.0.1.0/24 via 10.0.10.1
ip -n receiver-after2 route add 10.0.2.0/24 via 10.0.10.1
ip -n receiver-after2 route add 10.0.4.0/24 via 10.0.10.1

# sender
ip netns exec sender ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left tso off gso off gro off

# sender3
ip netns exec sender3 ethtool -K right tso off gso off gro off

# air3
ip netns exec air3 ethtool -K left tso off gso off gro off
ip netns exec air3 ethtool -K right tso off gso off gro off

# after1
ip netns exec after1 ethtool -K left tso off gso off gro off

# sender4
ip netns exec sender4 ethtool -K right tso off gso off gro off

# air4
ip netns exec air4 ethtool -K left tso off gso off gro off
ip netns exec air4 ethtool -K right tso off gso off gro off

# after2
ip netns exec after2 ethtool -K left tso off gso off gro off

# router
ip netns exec router ethtool -K right tso off gso off gro off

# after1
ip netns exec after1 ethtool -K left2 tso off gso off gro off
ip netns exec after1 ethtool -K right tso off gso off gro off

# after2
ip netns exec after2 ethtool -K left2 tso off gso off gro off
ip netns exec after2 ethtool -K right tso off gso off gro off

# receiver
ip netns exec receiver ethtool -K left tso off gso off gro off

# after1
ip netns exec after1 ethtool -K right2 tso off gso off gro off

# receiver-after1
ip netns exec receiver-after1 ethtool -K left tso off gso off gro off

# after2
ip netns exec after2 ethtool -K right2 tso off gso off gro off

# receiver-after2
ip netns exec receiver-after2 ethtool -K left tso off gso off gro off

# sender
ip netns exec sender sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender3
ip netns exec sender3 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender3 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender3 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender4
ip netns exec sender4 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender4 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender4 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver
ip netns exec receiver sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver-after1
ip netns exec receiver-after1 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver-after1 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver-after1 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver-after2
ip netns exec receiver-after2 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver-after2 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver-after2 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# air3
tc -n air3 qdisc add dev right root handle 1: netem limit 3850000 delay 30ms

# air4
tc -n air4 qdisc add dev right root handle 1: netem limit 3850000 delay 30ms

# router
tc -n router qdisc add dev right root handle 1: htb default 1
tc -n router class add dev right parent 1: classid 1:1 htb rate 20mbit burst 1514 cburst 1514 quantum 1514
tc -n router qdisc add dev right parent 1:1 handle 10: bfifo limit 75000
tc -n router qdisc add dev left root handle 1: netem limit 100750 delay 30ms

# after1
tc -n after1 qdisc add dev right root handle 1: htb default 1
tc -n after1 class add dev right parent 1: classid 1:1 htb rate 20mbit burst 1514 cburst 1514 quantum 1514
tc -n after1 qdisc add dev right parent 1:1 handle 10: bfifo limit 75000

# after2
tc -n after2 qdisc add dev right root handle 1: htb default 1
tc -n after2 class add dev right parent 1: classid 1:1 htb rate 20mbit burst 1514 cburst 1514 quantum 1514
tc -n after2 qdisc add dev right parent 1:1 handle 10: bfifo limit 75000

# receivers
ip netns exec receiver iperf3 -s -D -1 -p 5201
ip netns exec receiver-after1 iperf3 -s -D -1 -p 5202
ip netns exec receiver-after2 iperf3 -s -D -1 -p 5203
ip netns exec receiver iperf3 -s -D -1 -p 5204
sleep 1

# probes
ip netns exec sender ping -q -i 0.1 -s 56 -w 60 10.0.8.2 &

# flows
(sleep 0.816266; exec ip netns exec sender iperf3 -c 10.0.8.2 -p 5201 -C reno -t 59.1837) &
(sleep 0.422941; exec ip netns exec sender iperf3 -c 10.0.9.2 -p 5202 -C reno -t 59.5771) &
(sleep 0.626583; exec ip netns exec sender3 iperf3 -c 10.0.10.2 -p 5203 -C reno -t 59.3734) &
(sleep 0.0196882; exec ip netns exec sender4 iperf3 -c 10.0.8.2 -p 5204 -C reno -t 59.9803) &
wait

# What the queues did
tc -n air3 -s qdisc show
tc -n air4 -s qdisc show
tc -n router -s qdisc show
tc -n after1 -s qdisc show
tc -n after2 -s qdisc show
