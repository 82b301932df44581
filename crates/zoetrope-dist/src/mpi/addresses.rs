//! The addresses under which other hosts may reach this one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Every address of a running interface of this host, loopback first: ranks of the same host take
/// that one. Link-local addresses of IPv6 are left out, because they need the interface's name.
pub(super) fn own() -> Vec<IpAddr> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    let mut found = Vec::new();
    // SAFETY: `list` is written.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return vec![Ipv4Addr::LOCALHOST.into()];
    }
    let mut at = list;
    // SAFETY: `at` is null or an entry of the list, which lives until it is freed below.
    while let Some(entry) = unsafe { at.as_ref() } {
        let up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
        // SAFETY: the address of an entry is null or a socket address of its family.
        found.extend(unsafe { read(entry.ifa_addr) }.filter(|_| up));
        at = entry.ifa_next;
    }
    // SAFETY: the list came from getifaddrs and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    found.sort_by_key(|address| !address.is_loopback());
    found.dedup();
    found
}

/// An address that can be connected to from elsewhere.
///
/// # Safety
/// `address` is null or points to a socket address of the family that it says.
unsafe fn read(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null or valid, as the caller promises.
    let family = unsafe { address.as_ref() }?.sa_family;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is one; copied because it may not be aligned.
            let inet = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(inet.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let inet = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            let address = Ipv6Addr::from(inet.sin6_addr.s6_addr);
            (!address.is_unicast_link_local()).then_some(address.into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_comes_first_and_nothing_comes_twice() {
        let found = own();
        assert!(found.first().is_some_and(IpAddr::is_loopback), "{found:?}");
        let mut unique = found.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), found.len());
    }
}
