//! Who owns our placeholders: the ServiceAccount that creates them, so that none outlives a release that is removed without
//! its hooks (review 25).

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, PostParams};
use tracing::debug;

use crate::telemetry::words;

/// The account of `client`, if it is one of `namespace`; an owner in another namespace would count as gone. Everybody may ask
/// who he is. Where no answer comes, placeholders have no owner, and are found by their label as ever.
pub(super) async fn account(client: &kube::Client, namespace: &str) -> Option<OwnerReference> {
    let review = Api::<SelfSubjectReview>::all(client.clone()).create(&PostParams::default(), &SelfSubjectReview::default()).await;
    match review {
        Ok(review) => {
            let user = review.status?.user_info?;
            let name = user.username?.strip_prefix(&format!("system:serviceaccount:{namespace}:"))?.to_owned();
            let uid = user.uid.filter(|uid| !uid.is_empty())?;
            let (api_version, kind) = ("v1".to_owned(), "ServiceAccount".to_owned());
            Some(OwnerReference { api_version, kind, name, uid, ..OwnerReference::default() })
        }
        Err(error) => {
            debug!(error = words(&error), "not told whose account this is; placeholders have no owner");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::scripted::{Server, refusal};

    async fn owner(answer: (u16, Value)) -> Option<OwnerReference> {
        account(&Server::answering([answer]).client(), "system").await
    }

    fn user(name: &str, uid: &str) -> (u16, Value) {
        (201, json!({"metadata": {}, "status": {"userInfo": {"username": name, "uid": uid}}}))
    }

    #[tokio::test]
    async fn only_an_account_of_the_same_namespace_owns_and_nobody_is_as_good() {
        let account = owner(user("system:serviceaccount:system:operator", "u1")).await.unwrap();
        assert_eq!((account.kind.as_str(), account.name.as_str(), account.uid.as_str()), ("ServiceAccount", "operator", "u1"));
        assert_eq!((account.controller, account.block_owner_deletion), (None, None));
        for answer in [
            user("system:serviceaccount:other:operator", "u1"),
            user("system:serviceaccount:system:operator", ""),
            user("kubernetes-admin", "u1"),
            (201, json!({"metadata": {}})),
            refusal(403, "Forbidden"),
        ] {
            assert_eq!(owner(answer).await, None);
        }
    }
}
