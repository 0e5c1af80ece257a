//! The way to a service, which can be cut and mended while both ends stay up.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections to one port, passed on to another.
pub struct Proxy {
    port: u16,
    /// Where to, as `127.0.0.1:PORT`.
    to: String,
    way: Option<Way>,
    /// Connections that nobody takes lead nowhere.
    hung: Option<TcpListener>,
}

/// While it is mended.
struct Way {
    cut: Arc<AtomicBool>,
    accepting: JoinHandle<Vec<TcpStream>>,
}

impl Proxy {
    pub fn to(endpoint: &str) -> Proxy {
        let to = endpoint.strip_prefix("http://").unwrap().to_owned();
        let mut proxy = Proxy { port: 0, to, way: None, hung: None };
        proxy.mend();
        proxy
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Refuses connections, and ends those there are, whatever is under way on them.
    pub fn cut(&mut self) {
        let Some(way) = self.way.take() else { return };
        way.cut.store(true, Ordering::Relaxed);
        for stream in way.accepting.join().unwrap() {
            // It may have ended before.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends the connections there are. New ones can be made, but nothing comes of them.
    pub fn hang(&mut self) {
        self.cut();
        self.hung = Some(TcpListener::bind(("127.0.0.1", self.port)).unwrap());
    }

    /// Takes connections again, at the same port.
    pub fn mend(&mut self) {
        self.hung = None;
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        self.port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicBool::new(false));
        let (to, heard) = (self.to.clone(), Arc::clone(&cut));
        let accepting = thread::spawn(move || accept(&listener, &to, &heard));
        self.way = Some(Way { cut, accepting });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Takes connections until the way is cut. Gives both ends of all that were open.
fn accept(listener: &TcpListener, to: &str, cut: &AtomicBool) -> Vec<TcpStream> {
    let mut open = Vec::new();
    while !cut.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((near, _)) => {
                near.set_nonblocking(false).unwrap();
                let far = TcpStream::connect(to).unwrap();
                for (from, into) in [(&near, &far), (&far, &near)] {
                    from.set_nodelay(true).unwrap();
                    let (from, into) = (from.try_clone().unwrap(), into.try_clone().unwrap());
                    thread::spawn(move || pass_on(from, into));
                }
                open.extend([near, far]);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
    open
}

/// Passes on what one end says, until it has said all.
fn pass_on(mut from: TcpStream, mut into: TcpStream) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(Shutdown::Write);
}
