// An experiment of Dumbbell on ns-3: groups of TCP flows, each group from a host, over a router and a bottleneck.
//
// It prints its cost and its counters as JSON. `bench/ns3_peer.py` selects the experiments, converts their parameters
// to those of ns-3, and computes metrics from the counters.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

constexpr uint32_t kMss = 1448;
constexpr uint16_t kFirstPort = 20000;

volatile std::sig_atomic_t too_long = 0;

struct Options {
    uint64_t rate_bps = 0;
    Time rtt, duration, sample;
    uint32_t limit_packets = 0;
    bool codel = false;
    uint32_t wall_limit_s = 0;
    std::string groups;  // "TcpBbr:2,TcpCubic:2"
};

struct Flow {
    size_t group = 0;
    Ptr<PacketSink> sink{};
    uint64_t segments = 0, retransmits = 0;
    SequenceNumber32 highest{};

    void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
        if (packet->GetSize() == 0) return;
        if (too_long) Simulator::Stop();
        ++segments;
        if (segments > 1 && header.GetSequenceNumber() < highest) {
            ++retransmits;
        } else {
            highest = header.GetSequenceNumber() + packet->GetSize();
        }
    }
};

// The bottleneck's queue: the device's own FIFO, or CoDel in front of a device queue of one packet.
struct Bottleneck {
    Ptr<Queue<Packet>> device;
    Ptr<QueueDisc> codel;
    std::vector<uint32_t> backlog_packets;

    uint32_t Backlog() const { return codel ? codel->GetNPackets() : device->GetNPackets(); }
    uint64_t Sent() const { return device->GetTotalReceivedPackets() - device->GetNPackets(); }
    uint64_t Dropped() const {
        return codel ? codel->GetStats().nTotalDroppedPackets : device->GetTotalDroppedPackets();
    }
    void Sample(Time every) {
        backlog_packets.push_back(Backlog());
        Simulator::Schedule(every, &Bottleneck::Sample, this, every);
    }
};

Options Read(int argc, char* argv[]) {
    Options options;
    uint32_t seed = 1;
    CommandLine command(__FILE__);
    command.AddValue("rate", "rate of the bottleneck, bit/s", options.rate_bps);
    command.AddValue("rtt", "base RTT", options.rtt);
    command.AddValue("duration", "duration of the flows", options.duration);
    command.AddValue("sample", "interval between samples of the backlog", options.sample);
    command.AddValue("limit", "limit of the bottleneck's queue, packets", options.limit_packets);
    command.AddValue("codel", "CoDel instead of FIFO", options.codel);
    command.AddValue("wall-limit", "wall seconds after which the run stops; 0 for no limit", options.wall_limit_s);
    command.AddValue("groups", "TcpBbr:2,TcpCubic:2", options.groups);
    command.AddValue("seed", "run number of the random streams", seed);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
    return options;
}

// Linux's defaults, where ns-3 has an attribute for them.
void SetLinuxDefaults() {
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
}

NetDeviceContainer Connect(Ptr<Node> from, Ptr<Node> to, const std::string& queue, Time delay, bool backpressure) {
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    helper.SetChannelAttribute("Delay", TimeValue(delay));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
    // Without flow control, ns-3 installs no default queue disc.
    if (!backpressure) helper.DisableFlowControl();
    return helper.Install(from, to);
}

Bottleneck MakeBottleneck(const Options& options, Ptr<NetDevice> device) {
    auto port = DynamicCast<PointToPointNetDevice>(device);
    port->SetDataRate(DataRate(options.rate_bps));
    Bottleneck bottleneck{port->GetQueue(), nullptr, {}};
    if (options.codel) {
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize",
                                 StringValue(std::to_string(options.limit_packets) + "p"));
        bottleneck.codel = control.Install(device).Get(0);
    }
    return bottleneck;
}

std::vector<std::pair<std::string, uint32_t>> Groups(const std::string& text) {
    std::vector<std::pair<std::string, uint32_t>> groups;
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ',');) {
        const auto colon = item.find(':');
        groups.emplace_back(item.substr(0, colon), std::stoul(item.substr(colon + 1)));
    }
    return groups;
}

// The controller is an attribute of the host, so each group has its own host.
Ptr<Node> Sender(InternetStackHelper& stack, const std::string& controller) {
    auto sender = CreateObject<Node>();
    stack.Install(sender);
    const auto type = TypeId::LookupByName("ns3::" + controller);
    sender->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(type));
    return sender;
}

void Start(Flow& flow, Ptr<Node> sender, Ptr<Node> receiver, const InetSocketAddress& at) {
    PacketSinkHelper sink("ns3::TcpSocketFactory", at);
    flow.sink = DynamicCast<PacketSink>(sink.Install(receiver).Get(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", at);
    bulk.SetAttribute("SendSize", UintegerValue(64 * kMss));
    auto source = DynamicCast<BulkSendApplication>(bulk.Install(sender).Get(0));
    source->SetStartTime(Seconds(0));
    // An application creates its socket when it starts, so trace it just afterwards.
    Simulator::Schedule(NanoSeconds(1), [&flow, source] {
        source->GetSocket()->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::Sent, &flow));
    });
}

// Peak memory of this process; getrusage may report the peak of the parent process.
uint64_t PeakKib() {
    std::ifstream status("/proc/self/status");
    for (std::string item; status >> item;) {
        uint64_t kib = 0;
        if (item == "VmHWM:" && status >> kib) return kib;
    }
    return 0;
}

template <typename Range, typename Of>
void List(const char* name, const Range& range, Of of) {
    std::cout << ", \"" << name << "\": [";
    const char* comma = "";
    for (const auto& each : range) {
        std::cout << comma << of(each);
        comma = ", ";
    }
    std::cout << "]";
}

double Run(const Options& options) {
    std::signal(SIGALRM, [](int) { too_long = 1; });
    alarm(options.wall_limit_s);
    Simulator::Stop(options.duration);
    const auto began = std::chrono::steady_clock::now();
    Simulator::Run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void PrintResult(double wall_s, uint64_t before_kib, const Bottleneck& bottleneck, const std::vector<Flow>& flows) {
    std::cout << "{\"wall_s\": " << wall_s << ", \"reached_s\": " << Simulator::Now().GetSeconds()
              << ", \"before_kib\": " << before_kib << ", \"peak_kib\": " << PeakKib()
              << ", \"events\": " << Simulator::GetEventCount() << ", \"sent_packets\": " << bottleneck.Sent()
              << ", \"drops\": " << bottleneck.Dropped();
    List("groups", flows, [](const Flow& flow) { return flow.group; });
    List("bytes_received", flows, [](const Flow& flow) { return flow.sink->GetTotalRx(); });
    List("segments", flows, [](const Flow& flow) { return flow.segments; });
    List("retransmits", flows, [](const Flow& flow) { return flow.retransmits; });
    List("backlog_packets", bottleneck.backlog_packets, [](uint32_t packets) { return packets; });
    std::cout << "}\n";
}

}  // namespace

int main(int argc, char* argv[]) {
    const Options options = Read(argc, argv);
    SetLinuxDefaults();

    auto router = CreateObject<Node>(), receiver = CreateObject<Node>();
    InternetStackHelper stack;
    stack.Install(NodeContainer(router, receiver));
    const std::string queue = std::to_string(options.codel ? 1 : options.limit_packets) + "p";
    auto last = Connect(router, receiver, queue, options.rtt / 2, options.codel);
    Bottleneck bottleneck = MakeBottleneck(options, last.Get(0));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const auto address = addresses.Assign(last).GetAddress(1);

    std::vector<Flow> flows;
    const auto groups = Groups(options.groups);
    for (size_t group = 0; group < groups.size(); ++group) {
        flows.insert(flows.end(), groups[group].second, Flow{group});
    }
    // The vector does not grow from here on: traces keep pointers to its elements.
    size_t next = 0;
    for (const auto& [controller, count] : groups) {
        auto sender = Sender(stack, controller);
        addresses.NewNetwork();
        addresses.Assign(Connect(sender, router, "10000000p", Time(0), false));
        for (uint32_t each = 0; each < count; ++each, ++next) {
            Start(flows[next], sender, receiver, InetSocketAddress(address, kFirstPort + next));
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Schedule(options.sample, &Bottleneck::Sample, &bottleneck, options.sample);
    const auto before_kib = PeakKib();
    const double wall_s = Run(options);
    PrintResult(wall_s, before_kib, bottleneck, flows);
    Simulator::Destroy();
    return 0;
}
