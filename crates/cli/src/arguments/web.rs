//! The arguments about browsers, about those who watch a server, and about the pages of problems.

use std::net::SocketAddr;

use clap::Args;
use latchkey_http::{Cors, Limits};

use crate::{Failure, handles};

/// Who is let in from the web, and what is kept from callers.
#[derive(Debug, Args)]
pub(crate) struct Web {
    /// Let pages of an origin call, such as https://app.example or http://localhost:3000; `*` lets in all. Several are
    /// given one by one, or with commas.
    #[arg(long = "cors", value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) origins: Vec<String>,
    /// Answer `/metrics` and `/ready` at this address, such as 127.0.0.1:9090, and not at that of callers. No token is
    /// asked for there: choose an address that only those who watch the server can reach.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) admin_listen: Option<SocketAddr>,
    /// How many of the 4,096 connections one address may have; without it half of them, or with --proxies all of them. A
    /// network of 64 bits of IPv6 counts as one address.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) connections_per_address: Option<u32>,
    /// Serve the console also on an address that others can reach. On loopback, and at --admin-listen, it is there anyway.
    #[arg(long)]
    pub(crate) console: bool,
    /// Serve no console.
    #[arg(long, conflicts_with = "console")]
    pub(crate) no_console: bool,
    /// The role that may see the table, the queues and the traffic in the console [default: admin]
    #[arg(long, value_name = "ROLE")]
    console_admin: Option<String>,
    /// Where the pages are to which the `type` of a problem leads, such as https://docs.example/problems; without it,
    /// the server has them under `/problems/`.
    #[arg(long, value_name = "URL", value_parser = problem_base)]
    pub(crate) problem_base: Option<String>,
}

impl Web {
    /// The pages that may call.
    pub(crate) fn cors(&self) -> Result<Cors, Failure> {
        Cors::read(&self.origins).map_err(|bad| Failure::Unusable(format!("--cors: {bad}")))
    }

    /// The role that may see what is behind the contracts.
    pub(crate) fn admin_role(&self) -> &str {
        self.console_admin.as_deref().unwrap_or("admin")
    }

    /// What is odd about the role, if it was given: that no document has it. A provider may still put it into tokens.
    pub(crate) fn unknown_admin<'a>(
        &self,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        let role = self.console_admin.as_deref()?;
        let mut known: Vec<&str> = known.into_iter().collect();
        known.sort_unstable();
        known.dedup();
        if known.contains(&role) {
            return None;
        }
        let known: Vec<String> = known.into_iter().map(|known| format!("`{known}`")).collect();
        let known = match known.is_empty() {
            true => "they have none".to_owned(),
            false => format!("they have {}", known.join(", ")),
        };
        Some(format!(
            "--console-admin {role}: the documents have no role of this name ({known}); only tokens that have it all the \
             same see the table, the queues and the traffic"
        ))
    }

    /// The limits of the server of callers.
    pub(crate) fn limits(&self, proxies: usize) -> Limits {
        let usual = Limits::default();
        let connections = handles::connections(usual.connections);
        let connections_per_address = match self.connections_per_address.map(usize::try_from) {
            Some(given) => given.unwrap_or(usize::MAX),
            // All connections come from the proxies.
            None if proxies > 0 => connections,
            None => connections / 2,
        };
        Limits { connections, connections_per_address, ..usual }
    }

    /// Whether there is a console, for callers at an address.
    pub(crate) fn has_console(&self, listen: SocketAddr) -> bool {
        let own = self.admin_listen.unwrap_or(listen);
        !self.no_console && (self.console || self.admin_listen.is_some() || own.ip().is_loopback())
    }

    /// Refuses one address for callers and for those who watch.
    pub(crate) fn refuse_shared(&self, listen: SocketAddr) -> Result<(), Failure> {
        match self.admin_listen {
            Some(admin) if admin == listen && admin.port() != 0 => Err(Failure::Unusable(format!(
                "--admin-listen {admin} is the address of callers; choose another, or leave it out"
            ))),
            _ => Ok(()),
        }
    }
}

/// An address to listen on.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "write an address of IPv4 or IPv6 and a port, such as 127.0.0.1:8080 or [::1]:8080; 0.0.0.0:8080 is every address \
         of this machine"
            .to_owned()
    })
}

/// A place on the web, without a slash at the end.
fn problem_base(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Err("write a whole URL, such as https://docs.example/problems".to_owned());
    };
    if rest.starts_with('/') || rest.is_empty() {
        return Err("the URL has no host".to_owned());
    }
    if rest.contains(['?', '#']) {
        return Err("the code of a problem comes behind it; leave out `?` and `#`".to_owned());
    }
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"\\<>^`{|}".contains(&byte);
    if !rest.bytes().all(fits) {
        return Err("a URL has no such character; write it percent-encoded".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(console_admin: Option<&str>) -> Web {
        Web {
            connections_per_address: None,
            origins: Vec::new(),
            admin_listen: None,
            console: false,
            no_console: false,
            console_admin: console_admin.map(str::to_owned),
            problem_base: None,
        }
    }

    #[test]
    fn a_role_that_no_document_has_is_told_with_those_that_they_have() {
        let roles = ["operator", "admin", "operator"];
        assert_eq!(web(None).admin_role(), "admin");
        assert_eq!(web(None).unknown_admin([]), None);
        assert_eq!(web(Some("operator")).unknown_admin(roles), None);
        let told = web(Some("boss")).unknown_admin(roles).unwrap();
        assert!(told.starts_with("--console-admin boss: "), "{told}");
        assert!(told.contains("(they have `admin`, `operator`)"), "{told}");
        let told = web(Some("boss")).unknown_admin([]).unwrap();
        assert!(told.contains("(they have none)"), "{told}");
    }
}
