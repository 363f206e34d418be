#!/bin/sh
# Sixteen HPCC senders at once into one link: the queue is drained within a few round trips
# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.
set -e
trap 'for n in sender1 sender2 sender3 sender4 sender5 sender6 sender7 sender8 sender9 sender10 sender11 sender12 sender13 sender14 sender15 sender16 router receiver access1 access2 access3 access4 access5 access6 access7 access8 access9 access10 access11 access12 access13 access14 access15 access16; do ip netns del $n; done' EXIT


# namespaces and wires
echo 13us > /sys/module/tcp_hpcc/parameters/base_rtt
ip netns add sender1
ip netns add sender2
ip netns add sender3
ip netns add sender4
ip netns add sender5
ip netns add sender6
ip netns add sender7
ip netns add sender8
ip netns add sender9
ip netns add sender10
ip netns add sender11
ip netns add sender12
ip netns add sender13
ip netns add sender14
ip netns add sender15
ip netns add sender16
ip netns add router
ip netns add receiver
ip netns add access1
ip netns add access2
ip netns add access3
ip netns add access4
ip netns add access5
ip netns add access6
ip netns add access7
ip netns add access8
ip netns add access9
ip netns add access10
ip netns add access11
ip netns add access12
ip netns add access13
ip netns add access14
ip netns add access15
ip netns add access16
ip link add right address 02:00:00:00:01:01 mtu 1052 netns sender1 type veth peer name left address 02:00:00:00:01:02 mtu 1052 netns access1
ip link add right address 02:00:00:00:02:01 mtu 1052 netns access1 type veth peer name left address 02:00:00:00:02:02 mtu 1052 netns router
ip link add right address 02:00:00:00:03:01 mtu 1052 netns sender2 type veth peer name left address 02:00:00:00:03:02 mtu 1052 netns access2
ip link add right address 02:00:00:00:04:01 mtu 1052 netns access2 type veth peer name left2 address 02:00:00:00:04:02 mtu 1052 netns router
ip link add right address 02:00:00:00:05:01 mtu 1052 netns sender3 type veth peer name left address 02:00:00:00:05:02 mtu 1052 netns access3
ip link add right address 02:00:00:00:06:01 mtu 1052 netns access3 type veth peer name left3 address 02:00:00:00:06:02 mtu 1052 netns router
ip link add right address 02:00:00:00:07:01 mtu 1052 netns sender4 type veth peer name left address 02:00:00:00:07:02 mtu 1052 netns access4
ip link add right address 02:00:00:00:08:01 mtu 1052 netns access4 type veth peer name left4 address 02:00:00:00:08:02 mtu 1052 netns router
ip link add right address 02:00:00:00:09:01 mtu 1052 netns sender5 type veth peer name left address 02:00:00:00:09:02 mtu 1052 netns access5
ip link add right address 02:00:00:00:0a:01 mtu 1052 netns access5 type veth peer name left5 address 02:00:00:00:0a:02 mtu 1052 netns router
ip link add right address 02:00:00:00:0b:01 mtu 1052 netns sender6 type veth peer name left address 02:00:00:00:0b:02 mtu 1052 netns access6
ip link add right address 02:00:00:00:0c:01 mtu 1052 netns access6 type veth peer name left6 address 02:00:00:00:0c:02 mtu 1052 netns router
ip link add right address 02:00:00:00:0d:01 mtu 1052 netns sender7 type veth peer name left address 02:00:00:00:0d:02 mtu 1052 netns access7
ip link add right address 02:00:00:00:0e:01 mtu 1052 netns access7 type veth peer name left7 address 02:00:00:00:0e:02 mtu 1052 netns router
ip link add right address 02:00:00:00:0f:01 mtu 1052 netns sender8 type veth peer name left address 02:00:00:00:0f:02 mtu 1052 netns access8
ip link add right address 02:00:00:00:10:01 mtu 1052 netns access8 type veth peer name left8 address 02:00:00:00:10:02 mtu 1052 netns router
ip link add right address 02:00:00:00:11:01 mtu 1052 netns sender9 type veth peer name left address 02:00:00:00:11:02 mtu 1052 netns access9
ip link add right address 02:00:00:00:12:01 mtu 1052 netns access9 type veth peer name left9 address 02:00:00:00:12:02 mtu 1052 netns router
ip link add right address 02:00:00:00:13:01 mtu 1052 netns sender10 type veth peer name left address 02:00:00:00:13:02 mtu 1052 netns access10
ip link add right address 02:00:00:00:14:01 mtu 1052 netns access10 type veth peer name left10 address 02:00:00:00:14:02 mtu 1052 netns router
ip link add right address 02:00:00:00:15:01 mtu 1052 netns sender11 type veth peer name left address 02:00:00:00:15:02 mtu 1052 netns access11
ip link add right address 02:00:00:00:16:01 mtu 1052 netns access11 type veth peer name left11 address 02:00:00:00:16:02 mtu 1052 netns router
ip link add right address 02:00:00:00:17:01 mtu 1052 netns sender12 type veth peer name left address 02:00:00:00:17:02 mtu 1052 netns access12
ip link add right address 02:00:00:00:18:01 mtu 1052 netns access12 type veth peer name left12 address 02:00:00:00:18:02 mtu 1052 netns router
ip link add right address 02:00:00:00:19:01 mtu 1052 netns sender13 type veth peer name left address 02:00:00:00:19:02 mtu 1052 netns access13
ip link add right address 02:00:00:00:1a:01 mtu 1052 netns access13 type veth peer name left13 address 02:00:00:00:1a:02 mtu 1052 netns router
ip link add right address 02:00:00:00:1b:01 mtu 1052 netns sender14 type veth peer name left address 02:00:00:00:1b:02 mtu 1052 netns access14
ip link add right address 02:00:00:00:1c:01 mtu 1052 netns access14 type veth peer name left14 address 02:00:00:00:1c:02 mtu 1052 netns router
ip link add right address 02:00:00:00:1d:01 mtu 1052 netns sender15 type veth peer name left address 02:00:00:00:1d:02 mtu 1052 netns access15
ip link add right address 02:00:00:00:1e:01 mtu 1052 netns access15 type veth peer name left15 address 02:00:00:00:1e:02 mtu 1052 netns router
ip link add right address 02:00:00:00:1f:01 mtu 1052 netns sender16 type veth peer name left address 02:00:00:00:1f:02 mtu 1052 netns access16
ip link add right address 02:00:00:00:20:01 mtu 1052 netns access16 type veth peer name left16 address 02:00:00:00:20:02 mtu 1052 netns router
ip link add right address 02:00:00:00:21:01 mtu 1052 netns router type veth peer name left address 02:00:00:00:21:02 mtu 1052 netns receiver

# sender1
ip netns exec sender1 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender1 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender1 link set lo up
ip -n sender1 addr add 10.0.1.1/24 dev right
ip -n sender1 link set right up
ip -n sender1 neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent
ip -n sender1 route add default via 10.0.1.2 initcwnd 162

# sender2
ip netns exec sender2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender2 link set lo up
ip -n sender2 addr add 10.0.3.1/24 dev right
ip -n sender2 link set right up
ip -n sender2 neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev right nud permanent
ip -n sender2 route add default via 10.0.3.2 initcwnd 162

# sender3
ip netns exec sender3 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender3 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender3 link set lo up
ip -n sender3 addr add 10.0.5.1/24 dev right
ip -n sender3 link set right up
ip -n sender3 neigh add 10.0.5.2 lladdr 02:00:00:00:05:02 dev right nud permanent
ip -n sender3 route add default via 10.0.5.2 initcwnd 162

# sender4
ip netns exec sender4 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender4 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender4 link set lo up
ip -n sender4 addr add 10.0.7.1/24 dev right
ip -n sender4 link set right up
ip -n sender4 neigh add 10.0.7.2 lladdr 02:00:00:00:07:02 dev right nud permanent
ip -n sender4 route add default via 10.0.7.2 initcwnd 162

# sender5
ip netns exec sender5 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender5 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender5 link set lo up
ip -n sender5 addr add 10.0.9.1/24 dev right
ip -n sender5 link set right up
ip -n sender5 neigh add 10.0.9.2 lladdr 02:00:00:00:09:02 dev right nud permanent
ip -n sender5 route add default via 10.0.9.2 initcwnd 162

# sender6
ip netns exec sender6 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender6 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender6 link set lo up
ip -n sender6 addr add 10.0.11.1/24 dev right
ip -n sender6 link set right up
ip -n sender6 neigh add 10.0.11.2 lladdr 02:00:00:00:0b:02 dev right nud permanent
ip -n sender6 route add default via 10.0.11.2 initcwnd 162

# sender7
ip netns exec sender7 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender7 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender7 link set lo up
ip -n sender7 addr add 10.0.13.1/24 dev right
ip -n sender7 link set right up
ip -n sender7 neigh add 10.0.13.2 lladdr 02:00:00:00:0d:02 dev right nud permanent
ip -n sender7 route add default via 10.0.13.2 initcwnd 162

# sender8
ip netns exec sender8 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender8 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender8 link set lo up
ip -n sender8 addr add 10.0.15.1/24 dev right
ip -n sender8 link set right up
ip -n sender8 neigh add 10.0.15.2 lladdr 02:00:00:00:0f:02 dev right nud permanent
ip -n sender8 route add default via 10.0.15.2 initcwnd 162

# sender9
ip netns exec sender9 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender9 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender9 link set lo up
ip -n sender9 addr add 10.0.17.1/24 dev right
ip -n sender9 link set right up
ip -n sender9 neigh add 10.0.17.2 lladdr 02:00:00:00:11:02 dev right nud permanent
ip -n sender9 route add default via 10.0.17.2 initcwnd 162

# sender10
ip netns exec sender10 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender10 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender10 link set lo up
ip -n sender10 addr add 10.0.19.1/24 dev right
ip -n sender10 link set right up
ip -n sender10 neigh add 10.0.19.2 lladdr 02:00:00:00:13:02 dev right nud permanent
ip -n sender10 route add default via 10.0.19.2 initcwnd 162

# sender11
ip netns exec sender11 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender11 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender11 link set lo up
ip -n sender11 addr add 10.0.21.1/24 dev right
ip -n sender11 link set right up
ip -n sender11 neigh add 10.0.21.2 lladdr 02:00:00:00:15:02 dev right nud permanent
ip -n sender11 route add default via 10.0.21.2 initcwnd 162

# sender12
ip netns exec sender12 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender12 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender12 link set lo up
ip -n sender12 addr add 10.0.23.1/24 dev right
ip -n sender12 link set right up
ip -n sender12 neigh add 10.0.23.2 lladdr 02:00:00:00:17:02 dev right nud permanent
ip -n sender12 route add default via 10.0.23.2 initcwnd 162

# sender13
ip netns exec sender13 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender13 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender13 link set lo up
ip -n sender13 addr add 10.0.25.1/24 dev right
ip -n sender13 link set right up
ip -n sender13 neigh add 10.0.25.2 lladdr 02:00:00:00:19:02 dev right nud permanent
ip -n sender13 route add default via 10.0.25.2 initcwnd 162

# sender14
ip netns exec sender14 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender14 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender14 link set lo up
ip -n sender14 addr add 10.0.27.1/24 dev right
ip -n sender14 link set right up
ip -n sender14 neigh add 10.0.27.2 lladdr 02:00:00:00:1b:02 dev right nud permanent
ip -n sender14 route add default via 10.0.27.2 initcwnd 162

# sender15
ip netns exec sender15 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender15 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender15 link set lo up
ip -n sender15 addr add 10.0.29.1/24 dev right
ip -n sender15 link set right up
ip -n sender15 neigh add 10.0.29.2 lladdr 02:00:00:00:1d:02 dev right nud permanent
ip -n sender15 route add default via 10.0.29.2 initcwnd 162

# sender16
ip netns exec sender16 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec sender16 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n sender16 link set lo up
ip -n sender16 addr add 10.0.31.1/24 dev right
ip -n sender16 link set right up
ip -n sender16 neigh add 10.0.31.2 lladdr 02:00:00:00:1f:02 dev right nud permanent
ip -n sender16 route add default via 10.0.31.2 initcwnd 162

# router
ip netns exec router sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec router sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec router sysctl -w net.ipv4.ip_forward=1
ip -n router link set lo up
ip -n router addr add 10.0.33.1/24 dev right
ip -n router link set right up
ip -n router neigh add 10.0.33.2 lladdr 02:00:00:00:21:02 dev right nud permanent
ip -n router addr add 10.0.2.2/24 dev left
ip -n router link set left up
ip -n router neigh add 10.0.2.1 lladdr 02:00:00:00:02:01 dev left nud permanent
ip -n router addr add 10.0.4.2/24 dev left2
ip -n router link set left2 up
ip -n router neigh add 10.0.4.1 lladdr 02:00:00:00:04:01 dev left2 nud permanent
ip -n router addr add 10.0.6.2/24 dev left3
ip -n router link set left3 up
ip -n router neigh add 10.0.6.1 lladdr 02:00:00:00:06:01 dev left3 nud permanent
ip -n router addr add 10.0.8.2/24 dev left4
ip -n router link set left4 up
ip -n router neigh add 10.0.8.1 lladdr 02:00:00:00:08:01 dev left4 nud permanent
ip -n router addr add 10.0.10.2/24 dev left5
ip -n router link set left5 up
ip -n router neigh add 10.0.10.1 lladdr 02:00:00:00:0a:01 dev left5 nud permanent
ip -n router addr add 10.0.12.2/24 dev left6
ip -n router link set left6 up
ip -n router neigh add 10.0.12.1 lladdr 02:00:00:00:0c:01 dev left6 nud permanent
ip -n router addr add 10.0.14.2/24 dev left7
ip -n router link set left7 up
ip -n router neigh add 10.0.14.1 lladdr 02:00:00:00:0e:01 dev left7 nud permanent
ip -n router addr add 10.0.16.2/24 dev left8
ip -n router link set left8 up
ip -n router neigh add 10.0.16.1 lladdr 02:00:00:00:10:01 dev left8 nud permanent
ip -n router addr add 10.0.18.2/24 dev left9
ip -n router link set left9 up
ip -n router neigh add 10.0.18.1 lladdr 02:00:00:00:12:01 dev left9 nud permanent
ip -n router addr add 10.0.20.2/24 dev left10
ip -n router link set left10 up
ip -n router neigh add 10.0.20.1 lladdr 02:00:00:00:14:01 dev left10 nud permanent
ip -n router addr add 10.0.22.2/24 dev left11
ip -n router link set left11 up
ip -n router neigh add 10.0.22.1 lladdr 02:00:00:00:16:01 dev left11 nud permanent
ip -n router addr add 10.0.24.2/24 dev left12
ip -n router link set left12 up
ip -n router neigh add 10.0.24.1 lladdr 02:00:00:00:18:01 dev left12 nud permanent
ip -n router addr add 10.0.26.2/24 dev left13
ip -n router link set left13 up
ip -n router neigh add 10.0.26.1 lladdr 02:00:00:00:1a:01 dev left13 nud permanent
ip -n router addr add 10.0.28.2/24 dev left14
ip -n router link set left14 up
ip -n router neigh add 10.0.28.1 lladdr 02:00:00:00:1c:01 dev left14 nud permanent
ip -n router addr add 10.0.30.2/24 dev left15
ip -n router link set left15 up
ip -n router neigh add 10.0.30.1 lladdr 02:00:00:00:1e:01 dev left15 nud permanent
ip -n router addr add 10.0.32.2/24 dev left16
ip -n router link set left16 up
ip -n router neigh add 10.0.32.1 lladdr 02:00:00:00:20:01 dev left16 nud permanent
ip -n router route add default via 10.0.33.2
ip -n router route add 10.0.1.0/24 via 10.0.2.1
ip -n router route add 10.0.3.0/24 via 10.0.4.1
ip -n router route add 10.0.5.0/24 via 10.0.6.1
ip -n router route add 10.0.7.0/24 via 10.0.8.1
ip -n router route add 10.0.9.0/24 via 10.0.10.1
ip -n router route add 10.0.11.0/24 via 10.0.12.1
ip -n router route add 10.0.13.0/24 via 10.0.14.1
ip -n router route add 10.0.15.0/24 via 10.0.16.1
ip -n router route add 10.0.17.0/24 via 10.0.18.1
ip -n router route add 10.0.19.0/24 via 10.0.20.1
ip -n router route add 10.0.21.0/24 via 10.0.22.1
ip -n router route add 10.0.23.0/24 via 10.0.24.1
ip -n router route add 10.0.25.0/24 via 10.0.26.1
ip -n router route add 10.0.27.0/24 via 10.0.28.1
ip -n router route add 10.0.29.0/24 via 10.0.30.1
ip -n router route add 10.0.31.0/24 via 10.0.32.1

# receiver
ip netns exec receiver sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec receiver sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip -n receiver link set lo up
ip -n receiver addr add 10.0.33.2/24 dev left
ip -n receiver link set left up
ip -n receiver neigh add 10.0.33.1 lladdr 02:00:00:00:21:01 dev left nud permanent
ip -n receiver route add 10.0.1.0/24 via 10.0.33.1
ip -n receiver route add 10.0.3.0/24 via 10.0.33.1
ip -n receiver route add 10.0.5.0/24 via 10.0.33.1
ip -n receiver route add 10.0.7.0/24 via 10.0.33.1
ip -n receiver route add 10.0.9.0/24 via 10.0.33.1
ip -n receiver route add 10.0.11.0/24 via 10.0.33.1
ip -n receiver route add 10.0.13.0/24 via 10.0.33.1
ip -n receiver route add 10.0.15.0/24 via 10.0.33.1
ip -n receiver route add 10.0.17.0/24 via 10.0.33.1
ip -n receiver route add 10.0.19.0/24 via 10.0.33.1
ip -n receiver route add 10.0.21.0/24 via 10.0.33.1
ip -n receiver route add 10.0.23.0/24 via 10.0.33.1
ip -n receiver route add 10.0.25.0/24 via 10.0.33.1
ip -n receiver route add 10.0.27.0/24 via 10.0.33.1
ip -n receiver route add 10.0.29.0/24 via 10.0.33.1
ip -n receiver route add 10.0.31.0/24 via 10.0.33.1

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

# access2
ip netns exec access2 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access2 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access2 sysctl -w net.ipv4.ip_forward=1
ip -n access2 link set lo up
ip -n access2 addr add 10.0.4.1/24 dev right
ip -n access2 link set right up
ip -n access2 neigh add 10.0.4.2 lladdr 02:00:00:00:04:02 dev right nud permanent
ip -n access2 addr add 10.0.3.2/24 dev left
ip -n access2 link set left up
ip -n access2 neigh add 10.0.3.1 lladdr 02:00:00:00:03:01 dev left nud permanent
ip -n access2 route add default via 10.0.4.2

# access3
ip netns exec access3 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access3 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access3 sysctl -w net.ipv4.ip_forward=1
ip -n access3 link set lo up
ip -n access3 addr add 10.0.6.1/24 dev right
ip -n access3 link set right up
ip -n access3 neigh add 10.0.6.2 lladdr 02:00:00:00:06:02 dev right nud permanent
ip -n access3 addr add 10.0.5.2/24 dev left
ip -n access3 link set left up
ip -n access3 neigh add 10.0.5.1 lladdr 02:00:00:00:05:01 dev left nud permanent
ip -n access3 route add default via 10.0.6.2

# access4
ip netns exec access4 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access4 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access4 sysctl -w net.ipv4.ip_forward=1
ip -n access4 link set lo up
ip -n access4 addr add 10.0.8.1/24 dev right
ip -n access4 link set right up
ip -n access4 neigh add 10.0.8.2 lladdr 02:00:00:00:08:02 dev right nud permanent
ip -n access4 addr add 10.0.7.2/24 dev left
ip -n access4 link set left up
ip -n access4 neigh add 10.0.7.1 lladdr 02:00:00:00:07:01 dev left nud permanent
ip -n access4 route add default via 10.0.8.2

# access5
ip netns exec access5 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access5 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access5 sysctl -w net.ipv4.ip_forward=1
ip -n access5 link set lo up
ip -n access5 addr add 10.0.10.1/24 dev right
ip -n access5 link set right up
ip -n access5 neigh add 10.0.10.2 lladdr 02:00:00:00:0a:02 dev right nud permanent
ip -n access5 addr add 10.0.9.2/24 dev left
ip -n access5 link set left up
ip -n access5 neigh add 10.0.9.1 lladdr 02:00:00:00:09:01 dev left nud permanent
ip -n access5 route add default via 10.0.10.2

# access6
ip netns exec access6 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access6 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access6 sysctl -w net.ipv4.ip_forward=1
ip -n access6 link set lo up
ip -n access6 addr add 10.0.12.1/24 dev right
ip -n access6 link set right up
ip -n access6 neigh add 10.0.12.2 lladdr 02:00:00:00:0c:02 dev right nud permanent
ip -n access6 addr add 10.0.11.2/24 dev left
ip -n access6 link set left up
ip -n access6 neigh add 10.0.11.1 lladdr 02:00:00:00:0b:01 dev left nud permanent
ip -n access6 route add default via 10.0.12.2

# access7
ip netns exec access7 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access7 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access7 sysctl -w net.ipv4.ip_forward=1
ip -n access7 link set lo up
ip -n access7 addr add 10.0.14.1/24 dev right
ip -n access7 link set right up
ip -n access7 neigh add 10.0.14.2 lladdr 02:00:00:00:0e:02 dev right nud permanent
ip -n access7 addr add 10.0.13.2/24 dev left
ip -n access7 link set left up
ip -n access7 neigh add 10.0.13.1 lladdr 02:00:00:00:0d:01 dev left nud permanent
ip -n access7 route add default via 10.0.14.2

# access8
ip netns exec access8 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access8 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access8 sysctl -w net.ipv4.ip_forward=1
ip -n access8 link set lo up
ip -n access8 addr add 10.0.16.1/24 dev right
ip -n access8 link set right up
ip -n access8 neigh add 10.0.16.2 lladdr 02:00:00:00:10:02 dev right nud permanent
ip -n access8 addr add 10.0.15.2/24 dev left
ip -n access8 link set left up
ip -n access8 neigh add 10.0.15.1 lladdr 02:00:00:00:0f:01 dev left nud permanent
ip -n access8 route add default via 10.0.16.2

# access9
ip netns exec access9 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access9 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access9 sysctl -w net.ipv4.ip_forward=1
ip -n access9 link set lo up
ip -n access9 addr add 10.0.18.1/24 dev right
ip -n access9 link set right up
ip -n access9 neigh add 10.0.18.2 lladdr 02:00:00:00:12:02 dev right nud permanent
ip -n access9 addr add 10.0.17.2/24 dev left
ip -n access9 link set left up
ip -n access9 neigh add 10.0.17.1 lladdr 02:00:00:00:11:01 dev left nud permanent
ip -n access9 route add default via 10.0.18.2

# access10
ip netns exec access10 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access10 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access10 sysctl -w net.ipv4.ip_forward=1
ip -n access10 link set lo up
ip -n access10 addr add 10.0.20.1/24 dev right
ip -n access10 link set right up
ip -n access10 neigh add 10.0.20.2 lladdr 02:00:00:00:14:02 dev right nud permanent
ip -n access10 addr add 10.0.19.2/24 dev left
ip -n access10 link set left up
ip -n access10 neigh add 10.0.19.1 lladdr 02:00:00:00:13:01 dev left nud permanent
ip -n access10 route add default via 10.0.20.2

# access11
ip netns exec access11 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access11 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access11 sysctl -w net.ipv4.ip_forward=1
ip -n access11 link set lo up
ip -n access11 addr add 10.0.22.1/24 dev right
ip -n access11 link set right up
ip -n access11 neigh add 10.0.22.2 lladdr 02:00:00:00:16:02 dev right nud permanent
ip -n access11 addr add 10.0.21.2/24 dev left
ip -n access11 link set left up
ip -n access11 neigh add 10.0.21.1 lladdr 02:00:00:00:15:01 dev left nud permanent
ip -n access11 route add default via 10.0.22.2

# access12
ip netns exec access12 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access12 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access12 sysctl -w net.ipv4.ip_forward=1
ip -n access12 link set lo up
ip -n access12 addr add 10.0.24.1/24 dev right
ip -n access12 link set right up
ip -n access12 neigh add 10.0.24.2 lladdr 02:00:00:00:18:02 dev right nud permanent
ip -n access12 addr add 10.0.23.2/24 dev left
ip -n access12 link set left up
ip -n access12 neigh add 10.0.23.1 lladdr 02:00:00:00:17:01 dev left nud permanent
ip -n access12 route add default via 10.0.24.2

# access13
ip netns exec access13 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access13 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access13 sysctl -w net.ipv4.ip_forward=1
ip -n access13 link set lo up
ip -n access13 addr add 10.0.26.1/24 dev right
ip -n access13 link set right up
ip -n access13 neigh add 10.0.26.2 lladdr 02:00:00:00:1a:02 dev right nud permanent
ip -n access13 addr add 10.0.25.2/24 dev left
ip -n access13 link set left up
ip -n access13 neigh add 10.0.25.1 lladdr 02:00:00:00:19:01 dev left nud permanent
ip -n access13 route add default via 10.0.26.2

# access14
ip netns exec access14 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access14 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access14 sysctl -w net.ipv4.ip_forward=1
ip -n access14 link set lo up
ip -n access14 addr add 10.0.28.1/24 dev right
ip -n access14 link set right up
ip -n access14 neigh add 10.0.28.2 lladdr 02:00:00:00:1c:02 dev right nud permanent
ip -n access14 addr add 10.0.27.2/24 dev left
ip -n access14 link set left up
ip -n access14 neigh add 10.0.27.1 lladdr 02:00:00:00:1b:01 dev left nud permanent
ip -n access14 route add default via 10.0.28.2

# access15
ip netns exec access15 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access15 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access15 sysctl -w net.ipv4.ip_forward=1
ip -n access15 link set lo up
ip -n access15 addr add 10.0.30.1/24 dev right
ip -n access15 link set right up
ip -n access15 neigh add 10.0.30.2 lladdr 02:00:00:00:1e:02 dev right nud permanent
ip -n access15 addr add 10.0.29.2/24 dev left
ip -n access15 link set left up
ip -n access15 neigh add 10.0.29.1 lladdr 02:00:00:00:1d:01 dev left nud permanent
ip -n access15 route add default via 10.0.30.2

# access16
ip netns exec access16 sysctl -w net.ipv6.conf.all.disable_ipv6=1
ip netns exec access16 sysctl -w net.ipv6.conf.default.disable_ipv6=1
ip netns exec access16 sysctl -w net.ipv4.ip_forward=1
ip -n access16 link set lo up
ip -n access16 addr add 10.0.32.1/24 dev right
ip -n access16 link set right up
ip -n access16 neigh add 10.0.32.2 lladdr 02:00:00:00:20:02 dev right nud permanent
ip -n access16 addr add 10.0.31.2/24 dev left
ip -n access16 link set left up
ip -n access16 neigh add 10.0.31.1 lladdr 02:00:00:00:1f:01 dev left nud permanent
ip -n access16 route add default via 10.0.32.2

# sender1
ip netns exec sender1 ethtool -K right tso off gso off gro off

# access1
ip netns exec access1 ethtool -K left tso off gso off gro off
ip netns exec access1 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left tso off gso off gro off

# sender2
ip netns exec sender2 ethtool -K right tso off gso off gro off

# access2
ip netns exec access2 ethtool -K left tso off gso off gro off
ip netns exec access2 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left2 tso off gso off gro off

# sender3
ip netns exec sender3 ethtool -K right tso off gso off gro off

# access3
ip netns exec access3 ethtool -K left tso off gso off gro off
ip netns exec access3 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left3 tso off gso off gro off

# sender4
ip netns exec sender4 ethtool -K right tso off gso off gro off

# access4
ip netns exec access4 ethtool -K left tso off gso off gro off
ip netns exec access4 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left4 tso off gso off gro off

# sender5
ip netns exec sender5 ethtool -K right tso off gso off gro off

# access5
ip netns exec access5 ethtool -K left tso off gso off gro off
ip netns exec access5 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left5 tso off gso off gro off

# sender6
ip netns exec sender6 ethtool -K right tso off gso off gro off

# access6
ip netns exec access6 ethtool -K left tso off gso off gro off
ip netns exec access6 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left6 tso off gso off gro off

# sender7
ip netns exec sender7 ethtool -K right tso off gso off gro off

# access7
ip netns exec access7 ethtool -K left tso off gso off gro off
ip netns exec access7 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left7 tso off gso off gro off

# sender8
ip netns exec sender8 ethtool -K right tso off gso off gro off

# access8
ip netns exec access8 ethtool -K left tso off gso off gro off
ip netns exec access8 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left8 tso off gso off gro off

# sender9
ip netns exec sender9 ethtool -K right tso off gso off gro off

# access9
ip netns exec access9 ethtool -K left tso off gso off gro off
ip netns exec access9 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left9 tso off gso off gro off

# sender10
ip netns exec sender10 ethtool -K right tso off gso off gro off

# access10
ip netns exec access10 ethtool -K left tso off gso off gro off
ip netns exec access10 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left10 tso off gso off gro off

# sender11
ip netns exec sender11 ethtool -K right tso off gso off gro off

# access11
ip netns exec access11 ethtool -K left tso off gso off gro off
ip netns exec access11 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left11 tso off gso off gro off

# sender12
ip netns exec sender12 ethtool -K right tso off gso off gro off

# access12
ip netns exec access12 ethtool -K left tso off gso off gro off
ip netns exec access12 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left12 tso off gso off gro off

# sender13
ip netns exec sender13 ethtool -K right tso off gso off gro off

# access13
ip netns exec access13 ethtool -K left tso off gso off gro off
ip netns exec access13 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left13 tso off gso off gro off

# sender14
ip netns exec sender14 ethtool -K right tso off gso off gro off

# access14
ip netns exec access14 ethtool -K left tso off gso off gro off
ip netns exec access14 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left14 tso off gso off gro off

# sender15
ip netns exec sender15 ethtool -K right tso off gso off gro off

# access15
ip netns exec access15 ethtool -K left tso off gso off gro off
ip netns exec access15 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left15 tso off gso off gro off

# sender16
ip netns exec sender16 ethtool -K right tso off gso off gro off

# access16
ip netns exec access16 ethtool -K left tso off gso off gro off
ip netns exec access16 ethtool -K right tso off gso off gro off

# router
ip netns exec router ethtool -K left16 tso off gso off gro off
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

# sender3
ip netns exec sender3 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender3 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender3 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender4
ip netns exec sender4 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender4 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender4 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender5
ip netns exec sender5 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender5 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender5 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender6
ip netns exec sender6 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender6 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender6 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender7
ip netns exec sender7 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender7 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender7 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender8
ip netns exec sender8 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender8 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender8 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender9
ip netns exec sender9 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender9 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender9 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender10
ip netns exec sender10 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender10 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender10 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender11
ip netns exec sender11 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender11 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender11 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender12
ip netns exec sender12 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender12 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender12 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender13
ip netns exec sender13 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender13 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender13 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender14
ip netns exec sender14 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender14 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender14 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender15
ip netns exec sender15 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender15 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender15 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# sender16
ip netns exec sender16 sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec sender16 sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec sender16 sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# receiver
ip netns exec receiver sysctl -w net.ipv4.tcp_no_metrics_save=1
ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'
ip netns exec receiver sysctl -w 'net.ipv4.tcp_wmem=4096 16384 67108864'

# access1
tc -n access1 qdisc add dev right root handle 1: htb default 1
tc -n access1 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access1 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access2
tc -n access2 qdisc add dev right root handle 1: htb default 1
tc -n access2 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access2 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access3
tc -n access3 qdisc add dev right root handle 1: htb default 1
tc -n access3 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access3 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access4
tc -n access4 qdisc add dev right root handle 1: htb default 1
tc -n access4 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access4 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access5
tc -n access5 qdisc add dev right root handle 1: htb default 1
tc -n access5 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access5 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access6
tc -n access6 qdisc add dev right root handle 1: htb default 1
tc -n access6 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access6 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access7
tc -n access7 qdisc add dev right root handle 1: htb default 1
tc -n access7 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access7 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access8
tc -n access8 qdisc add dev right root handle 1: htb default 1
tc -n access8 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access8 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access9
tc -n access9 qdisc add dev right root handle 1: htb default 1
tc -n access9 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access9 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access10
tc -n access10 qdisc add dev right root handle 1: htb default 1
tc -n access10 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access10 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access11
tc -n access11 qdisc add dev right root handle 1: htb default 1
tc -n access11 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access11 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access12
tc -n access12 qdisc add dev right root handle 1: htb default 1
tc -n access12 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access12 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access13
tc -n access13 qdisc add dev right root handle 1: htb default 1
tc -n access13 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access13 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access14
tc -n access14 qdisc add dev right root handle 1: htb default 1
tc -n access14 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access14 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access15
tc -n access15 qdisc add dev right root handle 1: htb default 1
tc -n access15 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access15 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# access16
tc -n access16 qdisc add dev right root handle 1: htb default 1
tc -n access16 class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n access16 qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000

# router
tc -n router qdisc add dev right root handle 1: htb default 1
tc -n router class add dev right parent 1: classid 1:1 htb rate 100gbit burst 1066 cburst 1066 quantum 1066
tc -n router qdisc add dev right parent 1:1 handle 10: bfifo limit 32000000
tc -n router qdisc add dev left root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left2 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left3 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left4 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left5 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left6 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left7 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left8 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left9 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left10 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left11 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left12 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left13 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left14 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left15 root handle 1: netem limit 101500 delay 12us
tc -n router qdisc add dev left16 root handle 1: netem limit 101500 delay 12us

# receivers
ip netns exec receiver iperf3 -s -D -1 -p 5201
ip netns exec receiver iperf3 -s -D -1 -p 5202
ip netns exec receiver iperf3 -s -D -1 -p 5203
ip netns exec receiver iperf3 -s -D -1 -p 5204
ip netns exec receiver iperf3 -s -D -1 -p 5205
ip netns exec receiver iperf3 -s -D -1 -p 5206
ip netns exec receiver iperf3 -s -D -1 -p 5207
ip netns exec receiver iperf3 -s -D -1 -p 5208
ip netns exec receiver iperf3 -s -D -1 -p 5209
ip netns exec receiver iperf3 -s -D -1 -p 5210
ip netns exec receiver iperf3 -s -D -1 -p 5211
ip netns exec receiver iperf3 -s -D -1 -p 5212
ip netns exec receiver iperf3 -s -D -1 -p 5213
ip netns exec receiver iperf3 -s -D -1 -p 5214
ip netns exec receiver iperf3 -s -D -1 -p 5215
ip netns exec receiver iperf3 -s -D -1 -p 5216
sleep 1

# flows
(exec ip netns exec sender1 iperf3 -c 10.0.33.2 -p 5201 -C hpcc -t 0.002) &
(exec ip netns exec sender2 iperf3 -c 10.0.33.2 -p 5202 -C hpcc -t 0.002) &
(exec ip netns exec sender3 iperf3 -c 10.0.33.2 -p 5203 -C hpcc -t 0.002) &
(exec ip netns exec sender4 iperf3 -c 10.0.33.2 -p 5204 -C hpcc -t 0.002) &
(exec ip netns exec sender5 iperf3 -c 10.0.33.2 -p 5205 -C hpcc -t 0.002) &
(exec ip netns exec sender6 iperf3 -c 10.0.33.2 -p 5206 -C hpcc -t 0.002) &
(exec ip netns exec sender7 iperf3 -c 10.0.33.2 -p 5207 -C hpcc -t 0.002) &
(exec ip netns exec sender8 iperf3 -c 10.0.33.2 -p 5208 -C hpcc -t 0.002) &
(exec ip netns exec sender9 iperf3 -c 10.0.33.2 -p 5209 -C hpcc -t 0.002) &
(exec ip netns exec sender10 iperf3 -c 10.0.33.2 -p 5210 -C hpcc -t 0.002) &
(exec ip netns exec sender11 iperf3 -c 10.0.33.2 -p 5211 -C hpcc -t 0.002) &
(exec ip netns exec sender12 iperf3 -c 10.0.33.2 -p 5212 -C hpcc -t 0.002) &
(exec ip netns exec sender13 iperf3 -c 10.0.33.2 -p 5213 -C hpcc -t 0.002) &
(exec ip netns exec sender14 iperf3 -c 10.0.33.2 -p 5214 -C hpcc -t 0.002) &
(exec ip netns exec sender15 iperf3 -c 10.0.33.2 -p 5215 -C hpcc -t 0.002) &
(exec ip netns exec sender16 iperf3 -c 10.0.33.2 -p 5216 -C hpcc -t 0.002) &
wait

# What the queues did
tc -n access1 -s qdisc show
tc -n access2 -s qdisc show
tc -n access3 -s qdisc show
tc -n access4 -s qdisc show
tc -n access5 -s qdisc show
tc -n access6 -s qdisc show
tc -n access7 -s qdisc show
tc -n access8 -s qdisc show
tc -n access9 -s qdisc show
tc -n access10 -s qdisc show
tc -n access11 -s qdisc show
tc -n access12 -s qdisc show
tc -n access13 -s qdisc show
tc -n access14 -s qdisc show
tc -n access15 -s qdisc show
tc -n access16 -s qdisc show
tc -n router -s qdisc show
