//! Who sends a request, and whether they are still there.

use std::net::IpAddr;
use std::sync::Arc;

use crate::connections::Life;

/// Who sends a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender<'a> {
    /// The other end of the connection.
    pub(crate) peer: IpAddr,
    /// The connection, if the server has it.
    pub(crate) life: Option<&'a Arc<Life>>,
}

impl Sender<'_> {
    /// What a future gives, unless the sender hangs up before.
    pub(super) async fn while_there<T>(self, future: impl Future<Output = T>) -> Option<T> {
        let Some(life) = self.life else { return Some(future.await) };
        tokio::select! {
            given = future => Some(given),
            () = life.hung_up() => None,
        }
    }
}
