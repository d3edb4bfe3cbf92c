//! The writes of rotations, as the API server took them.

use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;

/// A write of a rotation that was passed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// `PATCH`, `POST` or `DELETE`.
    pub verb: String,
    /// `nodepools`, `nodeclaims`, `nodes` or `pods`.
    pub resource: String,
    /// Name of the object; empty where it is being created.
    pub name: String,
    /// What was sent; null where that is no JSON.
    pub body: Value,
    /// Status of the API server's answer.
    pub status: u16,
    /// The operator was told of it.
    pub answered: bool,
}

impl Entry {
    /// A request that is a write of a rotation, not answered yet.
    pub(crate) fn of(request: &Request<Bytes>) -> Option<Self> {
        let (resource, name) = place(request.uri().path())?;
        let verb = request.method().to_string();
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        (verb != "GET").then(|| Self { verb, resource: resource.to_owned(), name: name.to_owned(), body, status: 0, answered: false })
    }

    /// It has changed something.
    #[must_use]
    pub fn landed(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Resource and name of an object that rotations write to.
fn place(path: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let rest = match parts.as_slice() {
        ["apis", "karpenter.sh", _, rest @ ..] | ["api", "v1", "namespaces", _, rest @ ..] | ["api", "v1", rest @ ..] => rest,
        _ => return None,
    };
    let (resource, name) = match rest {
        [resource] => (*resource, ""),
        [resource, name] => (*resource, *name),
        _ => return None,
    };
    ["nodepools", "nodeclaims", "nodes", "pods"].contains(&resource).then_some((resource, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_from_a_path() {
        let rows = [
            ("/apis/karpenter.sh/v1/nodepools/a", Some(("nodepools", "a"))),
            ("/api/v1/nodes/n", Some(("nodes", "n"))),
            ("/api/v1/namespaces/x/pods", Some(("pods", ""))),
            ("/api/v1/namespaces/x/pods/p", Some(("pods", "p"))),
            ("/api/v1/namespaces/x/events", None),
            ("/apis/noderotation.io/v1alpha1/rotationpolicies/p/status", None),
            ("/version", None),
        ];
        for (path, expected) in rows {
            assert_eq!(place(path), expected, "{path}");
        }
    }
}
