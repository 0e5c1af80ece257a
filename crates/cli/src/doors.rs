//! The addresses of a process, which are answered from the beginning: first that it starts, then what it serves.
//!
//! A store can take long to open, and whoever watches the process must be able to tell that it lives.

use std::net::SocketAddr;
use std::sync::Arc;

use latchkey_http::{Door, Limits, Served, Server, Service};
use latchkey_worker::Workers;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::Failure;

/// Addresses that are answered.
pub(crate) struct Doors {
    /// That of callers, with the port it was given.
    pub(crate) public: SocketAddr,
    /// That of those who watch the process, if it has one of its own.
    pub(crate) admin: Option<SocketAddr>,
    served: Arc<Served>,
    /// Dropped when no more is to be accepted.
    stop: oneshot::Sender<()>,
    answering: JoinHandle<()>,
}

impl Doors {
    /// Listens, and has requests answered by a service that starts.
    pub(crate) async fn open(
        public: (SocketAddr, Limits),
        admin: Option<SocketAddr>,
        starting: Service,
    ) -> Result<Doors, Failure> {
        let (address, limits) = public;
        let server = Server::listen(address, limits).await.map_err(Failure::unusable)?;
        let admin = match admin {
            Some(address) => {
                let admin = Server::listen_at(Door::Admin, address, Limits::default()).await;
                Some(admin.map_err(Failure::unusable)?)
            }
            None => None,
        };
        let served = Arc::new(Served::new(Arc::new(starting)));
        let (stop, stopped) = oneshot::channel();
        let (public, watched) = (server.address(), admin.as_ref().map(Server::address));
        let answering = tokio::spawn(answer(server, admin, Arc::clone(&served), stopped));
        Ok(Doors { public, admin: watched, served, stop, answering })
    }

    /// From now on a service answers that has started.
    pub(crate) fn serve(&self, service: Arc<Service>) {
        self.served.replace(service);
    }

    /// Waits until the process is told to stop. Addresses and workers then accept nothing new, and finish what they
    /// have.
    pub(crate) async fn until_stopped(
        self,
        stop: impl Future<Output = ()>,
        workers: Option<Workers>,
    ) {
        stop.await;
        drop(self.stop);
        let drained = async {
            if let Some(workers) = workers {
                workers.stop().await;
            }
        };
        let (answered, ()) = tokio::join!(self.answering, drained);
        if let Err(error) = answered {
            tracing::error!(%error, "the addresses are not answered any more");
        }
    }
}

/// Answers both addresses until the sender of `stopped` is gone, and then what was accepted.
async fn answer(
    server: Server,
    admin: Option<Server>,
    served: Arc<Served>,
    stopped: oneshot::Receiver<()>,
) {
    // Those who watch are answered until callers are.
    let (answered, all_answered) = oneshot::channel::<()>();
    let watched = async {
        if let Some(admin) = admin {
            let stop = async { drop(all_answered.await) };
            admin.run_served(Arc::clone(&served), stop).await;
        }
    };
    let called = async {
        server.run_served(Arc::clone(&served), async { drop(stopped.await) }).await;
        drop(answered);
    };
    tokio::join!(called, watched);
}
