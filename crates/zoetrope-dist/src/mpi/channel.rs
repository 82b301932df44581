//! The channel on which processes of a job watch each other while MPI may be stuck.
//!
//! A star of TCP connections to rank 0, whose addresses and a secret go over MPI once. A thread of
//! each process says how far its rank is, within 20 ms of a change and ten times a second anyway; rank 0
//! tells everyone about everyone, judges, and announces the verdict. A process that dies loses its connection at once. One that is
//! stopped falls silent. One that hangs goes on talking, but its position stands still.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::DistError;
use crate::mpi::addresses;
use crate::mpi::link::{Broken, Frame, Link};
use crate::ranks::Ranks;
use crate::site::Position;
use crate::watch::{Board, Cause, Manner, Verdict};

/// How often a process listens, and speaks if it has news.
const TICK_INTERVAL: Duration = Duration::from_millis(20);

/// A process speaks at least once in so many ticks: a silent one counts as stopped.
const HEARTBEAT_TICKS: u64 = 5;

/// A process that did not come to a tick for this long was stopped itself.
const STOPPED_AFTER: Duration = Duration::from_secs(1);

/// How long ranks have to find each other: less than [`Start`](crate::mpi::start) gives them, so that rank 0
/// says who is missing.
const SETUP_TIMEOUT: Duration = Duration::from_secs(25);

/// How long one address is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a process stays after a verdict, for the others to hear it.
const LINGER_TIME: Duration = Duration::from_millis(500);

/// Said of a rank whose connection broke.
const PROCESS_GONE: &str = "its process is gone: killed, crashed or exited";

/// Where rank 0 listens.
#[derive(Debug, Serialize, Deserialize)]
struct Invitation {
    addresses: Vec<SocketAddr>,
    token: String,
}

/// The ends of the connections of this process, by rank.
#[derive(Debug)]
pub(super) struct Channel {
    links: Vec<Peer>,
    board: Arc<Board>,
    rank: usize,
    announced: bool,
    ticks: u64,
    said: Position,
}

#[derive(Debug)]
struct Peer {
    rank: usize,
    link: Link,
    left: bool,
    gone: bool,
}

impl Channel {
    /// Connects all ranks. All call it.
    pub(super) fn open(ranks: &Ranks, board: &Arc<Board>) -> Result<Self, DistError> {
        let fail = |message| DistError::Channel { rank: ranks.rank(), message };
        let host = match ranks.rank() {
            0 => Some(listen().map_err(|error| fail(format!("cannot listen: {error}")))?),
            _ => None,
        };
        let mut text = match &host {
            Some((_, invitation)) => serde_json::to_vec(invitation).unwrap_or_default(),
            None => Vec::new(),
        };
        let mut len = [text.len() as u64];
        ranks.broadcast(0, &mut len)?;
        text.resize(len[0] as usize, 0);
        ranks.broadcast(0, &mut text)?;
        let links = match host {
            Some((listener, invitation)) => receive(&listener, &invitation, ranks.size()),
            None => serde_json::from_slice(&text)
                .map_err(|error| error.to_string())
                .and_then(|invitation| join(&invitation, ranks.rank())),
        };
        let links = links.map_err(fail)?;
        links.iter().for_each(|peer| board.heard(peer.rank, Position::default()));
        let (board, rank, said) = (Arc::clone(board), ranks.rank(), Position::default());
        Ok(Self { links, board, rank, announced: false, ticks: 0, said })
    }

    /// Watches until `over` is set; then takes leave.
    pub(super) fn watch(mut self, over: &AtomicBool, overdue: impl Fn(&Verdict)) {
        let mut last = Instant::now();
        let mut since_verdict = None;
        while !over.load(Ordering::Acquire) {
            std::thread::sleep(TICK_INTERVAL);
            let pause = last.elapsed();
            last = Instant::now();
            if pause > STOPPED_AFTER {
                self.board.forgive(pause);
            }
            self.tick();
            if let Some(verdict) = self.board.verdict() {
                let since = *since_verdict.get_or_insert_with(Instant::now);
                if since.elapsed() > self.board.timeouts().grace && !over.load(Ordering::Acquire) {
                    overdue(verdict);
                }
            }
        }
        self.tick();
        match self.board.verdict() {
            None => self.links.iter_mut().for_each(|peer| peer.link.say(&Frame::Bye)),
            Some(_) => self.linger(),
        }
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        // Words to a process that is gone never leave, and its launcher will not wait for them.
        let is_done = |peer: &Peer| peer.gone || peer.link.is_quiet();
        while Instant::now() < deadline && !self.links.iter().all(is_done) {
            self.links.iter_mut().for_each(|peer| peer.link.flush());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the others hear the verdict and tell their users: a launcher may end them as soon as the
    /// first process exits.
    fn linger(&mut self) {
        let deadline = Instant::now() + LINGER_TIME;
        while Instant::now() < deadline && !self.links.iter().all(|peer| peer.gone) {
            std::thread::sleep(TICK_INTERVAL);
            self.tick();
        }
    }

    fn tick(&mut self) {
        for at in 0..self.links.len() {
            self.hear(at);
        }
        if self.rank == 0 {
            if let Some(verdict) = self.board.judge() {
                self.board.record(verdict);
            }
        } else {
            self.expect_host();
        }
        self.speak();
    }

    fn hear(&mut self, at: usize) {
        let peer = &mut self.links[at];
        if peer.gone {
            return;
        }
        match peer.link.read() {
            Ok(frames) => {
                for frame in frames {
                    match frame {
                        Frame::Progress(position) => self.board.heard(peer.rank, position),
                        Frame::Table(positions) => {
                            let others = positions.into_iter().enumerate();
                            let others = others.filter(|(rank, _)| *rank != self.rank);
                            others.for_each(|(rank, position)| self.board.heard(rank, position));
                        }
                        Frame::Verdict(verdict) => self.board.record(verdict),
                        Frame::Bye => {
                            peer.left = true;
                            self.board.update(peer.rank, |position| position.left = true);
                        }
                        Frame::Hello { .. } | Frame::Welcome => {}
                    }
                }
            }
            Err(Broken::Closed) if peer.left => peer.gone = true,
            Err(broken) => {
                peer.gone = true;
                let how = match broken {
                    Broken::Closed => PROCESS_GONE,
                    Broken::Garbled => "it speaks another language: is it the same version?",
                };
                self.board.record(self.board.ended(peer.rank, how));
            }
        }
    }

    /// Rank 0 judges everyone; the others judge rank 0.
    fn expect_host(&self) {
        let Some(host) = self.links.first().filter(|host| !host.left) else { return };
        let silent = self.board.silence(host.rank);
        if silent >= self.board.timeouts().timeout {
            let cause = Cause::Hung { manner: Manner::Silent, seconds: silent.as_secs_f64() };
            let positions = self.board.positions();
            self.board.record(Verdict { rank: host.rank, cause, positions });
        }
    }

    fn speak(&mut self) {
        let verdict = self.board.verdict().filter(|_| !self.announced).cloned();
        if let Some(verdict) = verdict {
            self.announced = true;
            let frame = Frame::Verdict(verdict);
            self.links.iter_mut().for_each(|peer| peer.link.say(&frame));
        }
        self.ticks += 1;
        let beat = self.ticks.is_multiple_of(HEARTBEAT_TICKS);
        let position = self.board.position(self.rank);
        let frame = match self.rank {
            0 if beat => Frame::Table(self.board.positions()),
            1.. if beat || position != self.said => Frame::Progress(position),
            _ => return,
        };
        self.said = position;
        self.links.iter_mut().for_each(|peer| peer.link.mention(&frame));
    }
}

fn listen() -> io::Result<(TcpListener, Invitation)> {
    let any: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    let any = any.map(|address| SocketAddr::new(address, 0));
    let listener = TcpListener::bind(&any[..])?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let addresses = addresses::own().into_iter().map(|address| SocketAddr::new(address, port));
    // Each hasher is seeded by the system's source of randomness.
    let random = || RandomState::new().build_hasher().finish();
    let token = format!("{:016x}{:016x}", random(), random());
    Ok((listener, Invitation { addresses: addresses.collect(), token }))
}

/// Rank 0 waits for everyone else.
fn receive(
    listener: &TcpListener,
    invitation: &Invitation,
    size: usize,
) -> Result<Vec<Peer>, String> {
    let deadline = Instant::now() + SETUP_TIMEOUT;
    let mut guests = Vec::new();
    let mut peers: Vec<Peer> = Vec::new();
    while peers.len() + 1 < size {
        if Instant::now() > deadline {
            let here = |rank: &usize| peers.iter().any(|peer| peer.rank == *rank);
            let missing: Vec<usize> = (1..size).filter(|rank| !here(rank)).collect();
            return Err(format!("ranks {missing:?} did not connect within {SETUP_TIMEOUT:?}"));
        }
        if let Ok((stream, _)) = listener.accept() {
            guests.extend(Link::new(stream));
        }
        for at in (0..guests.len()).rev() {
            match guests[at].read() {
                Ok(frames) if frames.is_empty() => {}
                Ok(frames) => {
                    let mut link = guests.swap_remove(at);
                    // Anyone else who knocks is sent away.
                    let Some(Frame::Hello { token, rank }) = frames.into_iter().next() else {
                        continue;
                    };
                    let known = peers.iter().any(|peer| peer.rank == rank);
                    if token == invitation.token && (1..size).contains(&rank) && !known {
                        link.say(&Frame::Welcome);
                        peers.push(Peer { rank, link, left: false, gone: false });
                    }
                }
                Err(_) => drop(guests.swap_remove(at)),
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    peers.sort_by_key(|peer| peer.rank);
    Ok(peers)
}

/// Another rank connects to rank 0, at the first of its addresses that answers as it should.
fn join(invitation: &Invitation, rank: usize) -> Result<Vec<Peer>, String> {
    let mut tried = Vec::new();
    for address in &invitation.addresses {
        match greet(*address, &invitation.token, rank) {
            Ok(link) => return Ok(vec![Peer { rank: 0, link, left: false, gone: false }]),
            Err(error) => tried.push(format!("{address}: {error}")),
        }
    }
    Err(format!("cannot reach rank 0 ({})", tried.join("; ")))
}

fn greet(address: SocketAddr, token: &str, rank: usize) -> io::Result<Link> {
    let mut link = Link::new(TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?)?;
    link.say(&Frame::Hello { token: token.to_owned(), rank });
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    while Instant::now() < deadline {
        link.flush();
        match link.read() {
            Ok(frames) if frames.first() == Some(&Frame::Welcome) => return Ok(link),
            Ok(frames) if frames.is_empty() => std::thread::sleep(Duration::from_millis(1)),
            _ => return Err(io::Error::other("somebody else answers")),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}
