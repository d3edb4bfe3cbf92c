//! What a step may look at.
//!
//! An idle pool is judged from watch caches. As soon as a rotation is under way, or about to begin, the step asks for
//! a close-up: live reads of the objects that it is going to decide on (D2). A stale cache can so delay a step but
//! never misdirect one. What has not been asked for is `None`, and a step that needs it says so with a [`Look`].

use std::ops::ControlFlow;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use crate::karpenter::{NodeClaim, NodePool};
use crate::placeholder;
use crate::resolve::Resolution;
use crate::selection::Nodes;
use crate::sweep::Leftovers;

/// How placeholders are made on this installation; the same for all pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Namespace of the placeholders.
    pub namespace: String,
    /// Image of the placeholder's container.
    pub placeholder_image: String,
    /// Secrets for pulling that image, in the same namespace.
    pub placeholder_pull_secrets: Vec<String>,
    /// PriorityClass of the placeholders.
    pub priority_class: String,
}

/// One NodePool and all that bears on it.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The pool: from the cache, or live once there is a close-up.
    pub pool: NodePool,
    /// Which policy governs it.
    pub governing: Resolution,
    /// Its claims, from the cache.
    pub claims: Vec<NodeClaim>,
    /// Its nodes, from the cache.
    pub nodes: Vec<Node>,
    /// Its placeholders, from the cache.
    pub placeholders: Vec<Pod>,
    /// How placeholders are made.
    pub settings: Settings,
    /// Live reads about one claim.
    pub close_up: Option<CloseUp>,
    /// Live reads of all that may carry our marks.
    pub leftovers: Option<Leftovers>,
}

/// Live reads about one claim, all later than the step's first look at the pool.
#[derive(Clone, Debug, Default)]
pub struct CloseUp {
    /// The claim that was looked at.
    pub name: String,
    /// The claim, if it exists.
    pub claim: Option<NodeClaim>,
    /// The claim's Node, if it exists.
    pub node: Option<Node>,
    /// The Pod of its placeholder's name, if it exists; [`Self::own_placeholder`] says whether it is one.
    pub placeholder: Option<Pod>,
    /// The claim that the placeholder is bound to; without a bind the one persisted as `surge-claim`.
    pub surge_claim: Option<NodeClaim>,
    /// The Node that the placeholder is bound to; without a bind that of the persisted claim.
    pub surge_node: Option<Node>,
    /// Pods bound to the claim's Node.
    pub pods_on_candidate: Option<Vec<Pod>>,
    /// Pods bound to the surge Node.
    pub pods_on_surge_node: Option<Vec<Pod>>,
    /// All PodDisruptionBudgets; none where nobody may list them.
    pub budgets: Option<Vec<PodDisruptionBudget>>,
    /// All Nodes of the pool, by metadata alone, to find those that carry our marks.
    pub pool_nodes: Option<Vec<Node>>,
}

/// What a step must see before it can decide. Serving it writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// The pool, this claim, and what belongs to its rotation, live.
    CloseUp {
        /// Name of the claim.
        claim: String,
    },
    /// The Pods bound to the candidate's Node, for sizing.
    PodsOnCandidate,
    /// The Pods bound to the surge Node, to guard a reap.
    PodsOnSurgeNode,
    /// All PodDisruptionBudgets, to say what a drain waits for.
    Budgets,
    /// All Nodes of the pool, to take our marks off; their metadata is enough.
    PoolNodes,
    /// All that may carry our marks in the pool, then the anchors of all pools, then the pool.
    Leftovers,
}

/// Either a value, or what must be seen first.
pub type Seen<T> = ControlFlow<Look, T>;

impl Observation {
    /// The close-up of claim `name`.
    pub(super) fn close_up(&self, name: &str) -> Seen<&CloseUp> {
        match &self.close_up {
            Some(close_up) if close_up.name == name => Seen::Continue(close_up),
            Some(_) | None => Seen::Break(Look::CloseUp { claim: name.to_owned() }),
        }
    }

    pub(super) fn leftovers(&self) -> Seen<&Leftovers> {
        self.leftovers.as_ref().map_or(Seen::Break(Look::Leftovers), Seen::Continue)
    }

    /// The pool's nodes by name: those of the cache, but the candidate's of the close-up as it is now.
    pub(super) fn nodes_by_name(&self) -> Nodes<'_> {
        let candidate = self.close_up.as_ref().and_then(|close_up| Some((close_up.claim.as_ref()?.node_name()?, close_up.node.as_ref())));
        let Some((name, node)) = candidate else {
            return Nodes::new(&self.nodes);
        };
        Nodes::new(self.nodes.iter().filter(|other| other.metadata.name.as_deref() != Some(name)).chain(node))
    }
}

impl CloseUp {
    pub(super) fn pods_on_candidate(&self) -> Seen<&[Pod]> {
        seen(self.pods_on_candidate.as_deref(), Look::PodsOnCandidate)
    }

    pub(super) fn pods_on_surge_node(&self) -> Seen<&[Pod]> {
        seen(self.pods_on_surge_node.as_deref(), Look::PodsOnSurgeNode)
    }

    pub(super) fn budgets(&self) -> Seen<&[PodDisruptionBudget]> {
        seen(self.budgets.as_deref(), Look::Budgets)
    }

    pub(super) fn pool_nodes(&self) -> Seen<&[Node]> {
        seen(self.pool_nodes.as_deref(), Look::PoolNodes)
    }

    /// The placeholder, if the Pod of its name is one of this claim; a stranger's counts as nothing.
    #[must_use]
    pub fn own_placeholder(&self) -> Option<&Pod> {
        self.placeholder.as_ref().filter(|pod| placeholder::belongs_to(pod, &self.name))
    }

    /// Name of the Node that the placeholder is bound to.
    #[must_use]
    pub fn bound_to(&self) -> Option<&str> {
        self.own_placeholder()?.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
    }
}

fn seen<T>(value: Option<T>, look: Look) -> Seen<T> {
    value.map_or(Seen::Break(look), Seen::Continue)
}
