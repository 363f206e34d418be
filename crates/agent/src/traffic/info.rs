//! The fields of a raw `struct tcp_info` that the agent uses; `dumbbell.engines.decode` reads all others.

/// Bytes received in order, from raw `tcp_info`.
pub fn received_bytes(info: &[u8]) -> u64 {
    info.get(BYTES_RECEIVED..BYTES_RECEIVED + 8)
        .map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
}

/// Autotuned receive space, from raw `tcp_info`.
pub fn receive_space(info: &[u8]) -> u32 {
    if info.len() >= RCV_SPACE + 4 { word(info, RCV_SPACE) } else { 0 }
}

/// Retransmitted segments.
pub fn total_retrans(info: &[u8]) -> u32 {
    word(info, TOTAL_RETRANS)
}

/// Data segments sent.
pub fn data_segs_out(info: &[u8]) -> u32 {
    word(info, DATA_SEGS_OUT)
}

fn word(info: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"))
}

/// Offsets in `struct tcp_info` (include/uapi/linux/tcp.h).
const RCV_SPACE: usize = 96;
const TOTAL_RETRANS: usize = 100;
const BYTES_RECEIVED: usize = 128;
const DATA_SEGS_OUT: usize = 156;
