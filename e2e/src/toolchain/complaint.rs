//! From a failed Go build to one sentence that says what to do.
//!
//! Go prints up to hundreds of lines for one unreachable host. They stay in a file; a person needs the cause.

/// The least release that fetches another release by itself.
const OLDEST: (u32, u32) = (1, 21);

/// A piece of Go's output, and what a person should do about it. The first that occurs is the cause.
const CAUSES: &[(&str, &str)] = &[
    (
        "no space left on device",
        "the disk is full; free about 12 GB, or set GOCACHE, GOMODCACHE and NODE_ROTATION_E2E_CACHE to folders on another disk",
    ),
    ("GOPROXY=off", "GOPROXY is `off`, so no module can be fetched; unset it, or set it to a mirror"),
    ("GOSUMDB=off", "GOSUMDB is `off`, so the Go release cannot be verified; unset GOSUMDB"),
    (
        "SECURITY ERROR",
        "a module differs from what go.sum records; clear the module cache with `go clean -modcache`, and look at GOPROXY if it happens again",
    ),
    ("no such host", NO_NETWORK),
    ("connection refused", NO_NETWORK),
    ("network is unreachable", NO_NETWORK),
    ("i/o timeout", NO_NETWORK),
    ("TLS handshake timeout", NO_NETWORK),
    ("server misbehaving", NO_NETWORK),
    (
        "certificate signed by unknown authority",
        "the module proxy's certificate is not trusted here; install your proxy's CA certificate in the system's store",
    ),
    ("407 Proxy Authentication Required", "the HTTP proxy wants a password; put it into HTTPS_PROXY"),
    ("toolchain not available", "the module proxy does not offer the Go release that is needed; unset GOPROXY, or set it to one that does"),
    ("signal: killed", "the compiler was killed, most likely for lack of memory; 4 GB must be free"),
];

const NO_NETWORK: &str = "the Go modules cannot be fetched: there is no network, or GOPROXY is not reachable; connect, or set GOPROXY (or HTTPS_PROXY) to what is reachable here";

/// The sentence for the output of a failed build.
#[must_use]
pub fn cause(output: &str) -> &'static str {
    let known = CAUSES.iter().find(|(piece, _)| output.contains(piece));
    known.map_or("the Go compiler failed in a way that is not known here", |(_, sentence)| sentence)
}

/// Whether an installed Go can be used, from the output of `go env GOVERSION`.
///
/// # Errors
/// The sentence that says what to install.
pub fn installed(output: &str) -> Result<(), String> {
    let version = output.trim();
    let numbers: Option<Vec<u32>> = version
        .strip_prefix("go")
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).take(2).map_while(|part| part.parse().ok()).collect());
    match numbers.as_deref() {
        Some([major, minor]) if (*major, *minor) < OLDEST => {
            Err(format!("the installed {version} is too old to fetch another release by itself; install Go 1.21 or newer"))
        }
        // Development builds have no release number; whether they can do it shows.
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_causes_are_named() {
        let cases = [
            ("no network", "go: k8s.io/api@v0.37.2: Get \"https://proxy/x\": dial tcp: lookup proxy: no such host", "no network"),
            ("proxy down", "dial tcp 127.0.0.1:9: connect: connection refused", "no network"),
            ("proxy switched off", "module lookup disabled by GOPROXY=off", "GOPROXY is `off`"),
            ("full disk", "write /tmp/go-build/b001/_pkg_.a: no space left on device", "disk is full"),
            ("tampered", "verifying module: checksum mismatch\nSECURITY ERROR", "go.sum"),
            ("out of memory", "compile: signal: killed", "memory"),
            ("unknown", "undefined: foo", "not known here"),
        ];
        for (name, output, expected) in cases {
            assert!(cause(output).contains(expected), "{name}: {}", cause(output));
        }
    }

    #[test]
    fn releases_before_toolchain_switching_are_refused() {
        let cases = [
            ("go1.20.14", false),
            ("go1.9", false),
            ("go1.21.0", true),
            ("go1.21rc2", true),
            ("go1.26.8\n", true),
            ("go2.0", true),
            ("devel go1.28-abcdef", true),
            ("", true),
        ];
        for (version, usable) in cases {
            assert_eq!(installed(version).is_ok(), usable, "{version:?}");
        }
    }
}
