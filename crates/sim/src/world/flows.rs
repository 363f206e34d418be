//! Flows from start to stop: endpoints, applications, datagrams and probes.

use super::hops::sending_side;
use super::{RECEIVER, SENDER, World, end_id, rank};
use crate::event_queue::Kind;
use crate::net::DeviceId;
use crate::plan::Work;
use crate::traffic::Traffic;
use crate::traffic::tcp::SocketInterest;
use crate::traffic::udp::Datagrams;
use dumbbell_net::cc::Controller;
use dumbbell_net::packet::{
    Body, Damage, Direction, ETHERNET_BYTES, Ecn, FlowId, IPV4_BYTES, Packet, Segment, fragments,
};
use dumbbell_net::queue::Verdict;
use dumbbell_net::rng::Rng;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::{Endpoint, Identity, Settings};

impl World {
    /// Starts the next flow and schedules the one after it.
    pub(super) fn start_next(&mut self) {
        let Some(&(planned, number)) = self.starts.last() else { return };
        if planned.max(self.opens_at) > self.now {
            return; // Flows that waited for others came before; another event is for this one.
        }
        self.starts.pop();
        // One program opens all connections: flows that start at the same time start one after the other.
        self.opens_at = self.now + OPENING;
        self.schedule_start();
        let flow = &mut self.flows[number as usize];
        if flow.follows && flow.stop.is_some_and(|stop| stop <= planned) {
            return;
        }
        flow.report.started_ns = Some(planned.as_nanos());
        if let Some(stop) = flow.stop.filter(|&stop| stop >= self.now) {
            self.event_queue.add(stop, Kind::Stop, number);
        }
        match &mut flow.traffic {
            Traffic::Tcp(_) => self.connect(number as usize),
            Traffic::Udp(udp) => {
                udp.start(planned);
                flow.report.connected_ns = Some(self.now.as_nanos());
                self.sampler.begin(flow);
                self.send_datagram(number as usize);
            }
        }
    }

    fn schedule_start(&mut self) {
        if let Some(&(at, next)) = self.starts.last() {
            self.event_queue.add(at.max(self.opens_at), Kind::Start, next);
        }
    }

    /// A flow has completed: those that waited for it and its group start.
    fn start_followers(&mut self, completed: usize) {
        let released = self.waits.completed(self.flows[completed].position as usize);
        if released.is_empty() {
            return;
        }
        for position in released {
            let number = self.numbers[position];
            let at = Time::from_nanos(self.now.as_nanos().saturating_add(self.flows[number as usize].start.as_nanos()));
            self.starts.push((at, number));
        }
        self.starts.sort_unstable_by(|one, other| other.cmp(one));
        self.schedule_start();
    }

    /// Flows behind a barrier that has opened ask again.
    fn ask_again(&mut self, positions: &[usize]) {
        let mut numbers: Vec<_> = positions.iter().map(|&position| self.numbers[position]).collect();
        numbers.sort_unstable();
        for number in numbers {
            let Traffic::Tcp(application) = &self.flows[number as usize].traffic else { continue };
            match application.think() {
                Span::ZERO => self.instant.askers.push_back(number),
                think => self.event_queue.add(self.now + think, Kind::Wake, number),
            }
        }
    }

    fn connect(&mut self, number: usize) {
        let flow = &self.flows[number];
        let Traffic::Tcp(application) = &flow.traffic else { unreachable!("only TCP connects") };
        let plan = &application.plan;
        let identity = |direction| Identity { direction, ..flow.identity };
        let is_exchange = matches!(plan.work, Work::Exchange { .. });
        // The agent's receiver of responses reads each packet on arrival, unlike others.
        // Telemetry is returned with each packet's own ACK.
        let quickack = self.telemetry.wants(number);
        let set_up = |side: usize, settings: &Settings| Settings {
            prompt_reads: settings.prompt_reads || is_exchange,
            quickack: settings.quickack || quickack,
            queue_paces: self.net.devices[self.ends[number][side].device as usize].paces,
            ..settings.clone()
        };
        let controller = |end: &str| {
            let rng = Rng::from_name(self.seed, &format!("{}.{end}.cc", flow.report.name));
            Controller::from_name(&plan.cc, &mut plan.parameters.clone(), rng).expect("checked when the world was made")
        };
        let sender = Endpoint::new(identity(Direction::Forward), set_up(SENDER, &plan.sender), controller("sender"));
        let mut receiver =
            Endpoint::new(identity(Direction::Backward), set_up(RECEIVER, &plan.receiver), controller("receiver"));
        if application.max_bytes() < u64::MAX {
            receiver.expect(application.max_bytes());
        }
        if let Some(at) = application.first_step(self.now) {
            self.event_queue.add(at, Kind::Wake, rank(number));
        }
        let ends = &mut self.ends[number];
        for end in ends.iter_mut() {
            end.opened = self.now + FIRST_WRITE;
        }
        ends[SENDER].endpoint.insert(Box::new(sender)).connect(self.now);
        ends[RECEIVER].endpoint = Some(Box::new(receiver));
        self.update_interest(number);
        self.flush(number, SENDER);
    }

    /// Sends what an end has to send, and sets its timer.
    pub(super) fn flush(&mut self, flow: usize, side: usize) {
        loop {
            let end = &mut self.ends[flow][side];
            let Some(endpoint) = &mut end.endpoint else { return };
            let polled = endpoint.poll(self.now);
            let Some(packet) = &polled else { break };
            if end.has_telemetry && side == RECEIVER {
                self.telemetry.answered(packet);
            }
            let device = end.device;
            let target = &self.net.devices[device as usize];
            if target.queue.is_none() {
                self.packet_accounting.add_sent(packet);
                let at_once = self.instant.is_releasing || endpoint.departs_at_once(packet);
                if at_once && endpoint.on_departed(packet, 1) {
                    self.instant.released.push_back(end_id(flow, side));
                }
                self.start_transmission(device, packet, at_once);
            } else {
                let departs_early = target.orphans;
                let verdict = self.send_packet(device, packet);
                self.notify_sender(flow, side, packet, verdict, departs_early);
            }
        }
        self.set_endpoint_timer(flow, side);
        if self.every_change && side == SENDER {
            self.sampler.flow_changed(self.now, flow, &self.flows[flow], &self.ends[flow]);
        }
    }

    /// A sender continues that waited for a departure from its host.
    pub(super) fn resume(&mut self, flow: usize, side: usize) {
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            endpoint.on_resumed(self.now);
            self.flush(flow, side);
        }
    }

    /// Reports the verdict of the host's own queue to the sender.
    fn notify_sender(&mut self, flow: usize, side: usize, packet: &Packet, verdict: Verdict, departs_early: bool) {
        let Some(endpoint) = &mut self.ends[flow][side].endpoint else { return };
        let mut resumes = match verdict {
            Verdict::Queued => false,
            Verdict::Dropped => endpoint.on_refused(self.now, packet),
            Verdict::Congested => {
                endpoint.on_congested(self.now);
                false
            }
        };
        if departs_early && verdict != Verdict::Dropped {
            resumes |= endpoint.on_departed(packet, 1);
        }
        if resumes {
            self.instant.released.push_back(end_id(flow, side));
        }
    }

    fn set_endpoint_timer(&mut self, flow: usize, side: usize) {
        let end = &mut self.ends[flow][side];
        let Some(endpoint) = &mut end.endpoint else { return };
        if endpoint.take_read_request() {
            self.instant.readers.push_back(end_id(flow, side));
        }
        if endpoint.wants_to_write() {
            self.instant.writers.push_back(end_id(flow, side));
        }
        let at = endpoint.next_timer();
        end.timer.set(at, self.now, &mut self.event_queue, Kind::Timer, end_id(flow, side));
        if end.shut && !at.is_set() && endpoint.is_finished() {
            end.endpoint = None; // Both ends have closed and nothing is in flight: frees the memory.
        }
    }

    pub(super) fn deliver_segment(&mut self, packet: &Packet) {
        let (flow, side) = (packet.flow.0 as usize, 1 - sending_side(packet));
        let id = Some(end_id(flow, side));
        if self.instant.locked == id || self.instant.writing == id {
            self.instant.held.add(packet);
            return;
        }
        let end = &mut self.ends[flow][side];
        let Some(endpoint) = &mut end.endpoint else {
            self.reset(flow, side, packet);
            return;
        };
        if packet.is_reset() {
            end.endpoint = None;
            return;
        }
        if end.shut && has_more_data(packet, endpoint) {
            end.endpoint = None;
            self.reset(flow, side, packet);
            return;
        }
        if end.has_telemetry {
            if side == RECEIVER {
                self.telemetry.arrived(packet);
            } else if let Some(stack) = self.telemetry.returned(packet) {
                endpoint.on_telemetry(&stack);
            }
        }
        endpoint.on_packet(self.now, packet);
        self.flush(flow, side);
        self.check_endpoint(flow, side);
    }

    /// Schedules the application if the event that it waits for has occurred.
    #[inline]
    pub(super) fn check_endpoint(&mut self, flow: usize, side: usize) {
        let end = &mut self.ends[flow][side];
        if end.interest == SocketInterest::Nothing {
            return;
        }
        let Some(endpoint) = &end.endpoint else { return };
        if end.interest.is_satisfied(endpoint) {
            let is_opening = end.interest == SocketInterest::Established && self.now < end.opened;
            end.interest = SocketInterest::Nothing;
            if is_opening {
                self.event_queue.add(end.opened, Kind::Connected, rank(flow));
            } else {
                self.instant.reactions.push_back(rank(flow));
            }
        }
    }

    /// Runs a flow's application.
    pub(super) fn react(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let Traffic::Tcp(application) = &mut flow.traffic else { return };
        let [Some(sender), Some(receiver)] = self.ends[number].each_mut().map(|end| end.endpoint.as_deref_mut()) else {
            return;
        };
        if flow.report.stopped_ns.is_some() {
            return;
        }
        let step = application.react(self.now, [sender, receiver], &mut flow.report, flow.has_barrier);
        if step.accepted {
            self.sampler.begin(&self.flows[number]);
        }
        if let Some(at) = step.wake_at {
            self.event_queue.add(at, Kind::Wake, rank(number));
        }
        if step.done {
            self.stop(number);
            self.start_followers(number);
            self.flow_done();
        } else {
            self.after_turn(number);
        }
        if step.waits {
            let released = self.waits.responded(self.flows[number].position as usize);
            self.ask_again(&released);
        }
    }

    pub(super) fn wake(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let Traffic::Tcp(application) = &mut flow.traffic else { return };
        let [Some(sender), Some(receiver)] = self.ends[number].each_mut().map(|end| end.endpoint.as_deref_mut()) else {
            return;
        };
        if flow.report.stopped_ns.is_some() {
            return;
        }
        if let Some(at) = application.wake(self.now, [sender, receiver]) {
            self.event_queue.add(at, Kind::Wake, rank(number));
        }
        self.after_turn(number);
    }

    /// After the application ran: updates the event that it waits for, and sends its data.
    fn after_turn(&mut self, number: usize) {
        self.update_interest(number);
        for side in [SENDER, RECEIVER] {
            self.flush(number, side);
            self.check_endpoint(number, side);
            self.lock(number, side);
        }
    }

    fn update_interest(&mut self, number: usize) {
        let Traffic::Tcp(application) = &self.flows[number].traffic else { return };
        let [sender, receiver] = application.interest();
        self.ends[number][SENDER].interest = sender;
        self.ends[number][RECEIVER].interest = receiver;
    }

    /// Ends a flow: records the final socket state and closes the sockets.
    pub(super) fn stop(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if flow.report.started_ns.is_none() || flow.is_over() {
            return;
        }
        flow.report.stopped_ns = Some(self.now.as_nanos());
        self.sampler.end(flow);
        match &flow.traffic {
            Traffic::Udp(udp) => flow.report.bytes_received = udp.received_bytes,
            Traffic::Tcp(_) => self.stop_connection(number),
        }
    }

    fn stop_connection(&mut self, number: usize) {
        self.query_sockets(number);
        let Traffic::Tcp(application) = &self.flows[number].traffic else { return };
        let [sender, receiver] = &mut self.ends[number];
        for end in [&mut *sender, &mut *receiver] {
            (end.shut, end.interest) = (true, SocketInterest::Nothing);
        }
        match &mut sender.endpoint {
            Some(endpoint) if application.is_connected() => application.close(self.now, endpoint),
            _ => sender.endpoint = None,
        }
        let mut has_unread = false;
        if let Some(endpoint) = &mut receiver.endpoint
            && application.is_accepted()
        {
            has_unread = endpoint.received().bytes > endpoint.bytes_read();
            endpoint.close(self.now);
        }
        self.flush(number, SENDER);
        if has_unread {
            // RFC 2525 section 2.17, and tcp_close: closing with unread data resets.
            self.ends[number][RECEIVER].endpoint = None;
            self.send_reset(number, RECEIVER, 0);
        }
        self.flush(number, RECEIVER);
    }

    /// Final socket state for the report.
    fn query_sockets(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let Traffic::Tcp(application) = &flow.traffic else { return };
        let [sender, receiver] = &self.ends[number];
        flow.report.cc = Some(application.plan.cc.clone());
        if let Some(endpoint) = &sender.endpoint {
            flow.report.cc = Some(endpoint.controller().into());
            let info = endpoint.info(self.now);
            flow.report.retransmits = info.total_retrans.into();
            flow.report.data_segs_out = info.data_segs_out.into();
        }
        if let Some(endpoint) = &receiver.endpoint {
            flow.report.bytes_received = flow.received(endpoint);
        }
    }

    /// A failed connection fails its flow, not the run.
    pub(super) fn fail(&mut self, number: usize, why: &str) {
        if !self.flows[number].is_over() {
            self.flows[number].report.error = Some(why.into());
            self.stop(number);
            self.flow_done();
            let released = self.waits.failed(self.flows[number].position as usize);
            self.ask_again(&released);
        }
    }

    /// A flow completed or failed; the experiment may end.
    fn flow_done(&mut self) {
        let Some(unfinished) = &mut self.unfinished else { return };
        *unfinished -= 1;
        if *unfinished == 0 {
            self.event_queue.add(self.now, Kind::Sample, 0);
            self.event_queue.add(self.now, Kind::End, 0);
        }
    }

    /// A packet arrived at a closed socket (RFC 9293 section 3.10.7.1).
    fn reset(&mut self, flow: usize, side: usize, packet: &Packet) {
        let Body::Tcp(segment) = packet.body else { return };
        if !packet.is_reset() {
            self.send_reset(flow, side, segment.ack);
        }
    }

    fn send_reset(&mut self, flow: usize, side: usize, seq: u64) {
        let Identity { port, mark, .. } = self.flows[flow].identity;
        let direction = if side == SENDER { Direction::Forward } else { Direction::Backward };
        let packet = Packet {
            flow: FlowId(rank(flow)),
            direction,
            ecn: Ecn::NotEct,
            segments: 1,
            bytes: RESET_BYTES,
            port,
            mark,
            rehashes: 0,
            damage: Damage::None,
            queued_at: self.now,
            body: Body::Tcp(Segment { seq, sent_at: self.now, ..Segment::default() }),
        };
        let device = self.ends[flow][side].device;
        self.send_packet(device, &packet);
    }

    pub(super) fn send_datagram(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if flow.is_over() {
            return;
        }
        let Traffic::Udp(udp) = &mut flow.traffic else { unreachable!("only UDP flows send datagrams") };
        flow.report.data_segs_out += 1;
        let (packet, next, mtu) = (udp.send(self.now), udp.next_time(self.now), udp.mtu());
        if let Some(packet) = packet {
            let device = self.ends[number][SENDER].device;
            // After a refused fragment the others are not sent (`ip_do_fragment`).
            fragments(packet, mtu).all(|packet| self.send_counted(device, number, &packet) == Verdict::Queued);
        }
        self.event_queue.add(next, Kind::Packet, rank(number));
    }

    /// Sends a datagram, which takes memory of its socket while it waits in the host's own queue.
    fn send_counted(&mut self, device: DeviceId, number: usize, packet: &Packet) -> Verdict {
        let target = &self.net.devices[device as usize];
        if target.queue.is_none() || target.orphans {
            return self.send_packet(device, packet);
        }
        self.change_datagrams(number, |udp| udp.queued(packet));
        let verdict = self.send_packet(device, packet);
        if verdict == Verdict::Dropped {
            self.change_datagrams(number, |udp| udp.departed(packet));
        }
        verdict
    }

    pub(super) fn change_datagrams(&mut self, number: usize, change: impl FnOnce(&mut Datagrams)) {
        if let Some(Traffic::Udp(udp)) = self.flows.get_mut(number).map(|flow| &mut flow.traffic) {
            change(udp);
        }
    }

    pub(super) fn send_probe(&mut self, number: usize) {
        let series = &mut self.probes[number];
        let (packet, interval) = (series.send(self.now), series.interval);
        let device = self.net.first_device(packet.flow, Direction::Forward);
        self.send_packet(device, &packet);
        self.event_queue.add(self.now + interval, Kind::Probe, rank(number));
    }
}

/// Whether it carries bytes that the receiver does not have. A closed socket cannot deliver them (`TCPAbortOnData`).
fn has_more_data(packet: &Packet, endpoint: &Endpoint) -> bool {
    let Body::Tcp(segment) = packet.body else { return false };
    segment.len > 0 && segment.seq + u64::from(segment.len) > endpoint.received().bytes + 1
}

/// Time that the agent needs to open a socket in its network namespace, measured in a guest: 1,003 ns between two SYNs.
const OPENING: Span = Span::from_micros(1);

/// From a SYN to the first data, if the SYN-ACK comes at once: the agent opens the other sockets and sends its probe
/// before. Measured in a guest: 4,007 ns with one flow and a probe, 4,015 with three flows.
const FIRST_WRITE: Span = Span::from_micros(4);

/// Ethernet, IPv4 and a TCP header without options.
const RESET_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES + 20;
