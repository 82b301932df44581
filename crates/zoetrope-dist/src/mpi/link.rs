//! One connection of the channel on which processes watch each other: frames in, frames out, never
//! blocking.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde::{Deserialize, Serialize};

use crate::site::Position;
use crate::watch::Verdict;

/// What is said on the channel: one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Frame {
    /// A rank introduces itself to rank 0, with the secret that only ranks of the job know.
    Hello { token: String, rank: usize },
    /// Rank 0 has recognised it.
    Welcome,
    /// How far the sender is.
    Progress(Position),
    /// How far everyone is; from rank 0.
    Table(Vec<Position>),
    /// A rank is lost.
    Verdict(Verdict),
    /// The sender has finished and will close the connection.
    Bye,
}

/// No frame is longer: a table of 100,000 ranks fits.
const FRAME_BYTES_MAX: usize = 32 << 20;

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    stream: TcpStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    written: usize,
}

/// Why nothing comes from a connection any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// The other end closed it, or its host did.
    Closed,
    /// What came is no frame.
    Garbled,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, inbox: Vec::new(), outbox: Vec::new(), written: 0 })
    }

    /// What has come since the last time.
    pub(super) fn read(&mut self) -> Result<Vec<Frame>, Broken> {
        let mut closed = false;
        let mut part = [0; 4096];
        while !closed {
            match self.stream.read(&mut part) {
                Ok(0) => closed = true,
                Ok(len) => self.inbox.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => closed = true,
            }
            if self.inbox.len() > FRAME_BYTES_MAX {
                return Err(Broken::Garbled);
            }
        }
        let mut frames = Vec::new();
        let whole = self.inbox.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        for line in self.inbox[..whole].split_inclusive(|&byte| byte == b'\n') {
            frames.push(serde_json::from_slice(line).map_err(|_| Broken::Garbled)?);
        }
        self.inbox.drain(..whole);
        if closed && frames.is_empty() { Err(Broken::Closed) } else { Ok(frames) }
    }

    /// Whether everything said has left.
    pub(super) fn is_quiet(&self) -> bool {
        self.written == self.outbox.len()
    }

    /// Says something; it leaves as soon as the other end has room.
    pub(super) fn say(&mut self, frame: &Frame) {
        // Frames are plain data, which JSON can always hold.
        if let Ok(line) = serde_json::to_vec(frame) {
            self.outbox.extend(line);
            self.outbox.push(b'\n');
        }
        self.flush();
    }

    /// Says something that will be said again, unless earlier words wait to leave.
    pub(super) fn mention(&mut self, frame: &Frame) {
        self.flush();
        if self.is_quiet() {
            self.say(frame);
        }
    }

    /// Lets leave what can. A broken connection is noticed by reading.
    pub(super) fn flush(&mut self) {
        while self.written < self.outbox.len() {
            match self.stream.write(&self.outbox[self.written..]) {
                Ok(0) => break,
                Ok(len) => self.written += len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if self.is_quiet() {
            self.outbox.clear();
            self.written = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    fn pair() -> [Link; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        [near, far].map(|stream| Link::new(stream).unwrap())
    }

    fn read(link: &mut Link) -> Result<Vec<Frame>, Broken> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let frames = link.read()?;
            if !frames.is_empty() || Instant::now() > deadline {
                return Ok(frames);
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn frames_arrive_whole_and_in_order_and_then_the_end() {
        let [mut near, mut far] = pair();
        let position = Position { step: 3, ..Position::default() };
        let said = [Frame::Progress(position), Frame::Table(vec![position; 50]), Frame::Bye];
        said.iter().for_each(|frame| near.say(frame));
        let mut heard = Vec::new();
        while heard.len() < said.len() {
            heard.extend(read(&mut far).unwrap());
        }
        assert_eq!(heard, said);
        drop(near);
        assert!(matches!(read(&mut far), Err(Broken::Closed)));
    }

    #[test]
    fn something_that_is_no_frame_breaks_the_connection() {
        let [near, mut far] = pair();
        (&near.stream).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(matches!(read(&mut far), Err(Broken::Garbled)));
    }

    #[test]
    fn someone_who_does_not_listen_holds_nobody_up() {
        let [mut near, _far] = pair();
        let table = Frame::Table(vec![Position::default(); 10_000]);
        for _ in 0..100 {
            near.mention(&table);
        }
        assert!(!near.is_quiet());
        assert!(near.outbox.len() < FRAME_BYTES_MAX);
    }
}
