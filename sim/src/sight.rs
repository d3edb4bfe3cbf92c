//! What a worker has seen: the first look from its caches, every further one live, as the operator reads.

mod objects;

use noderotation_core::rotation::observation::{Look, Observation};

use crate::annotation::{Key, Value};
use crate::setup::{Policy, Setup};
use crate::world::World;
use crate::world::object::{Bytes, Claim, Node, Pod, Pool, Role};

/// Caches that stand still, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// The NodePool.
    pub pool: Option<Pool>,
    /// All claims.
    pub claims: Option<Vec<Claim>>,
    /// All Nodes.
    pub nodes: Option<Vec<Node>>,
    /// Placeholders.
    pub pods: Option<Vec<Pod>>,
    /// The policy.
    pub policy: Option<Policy>,
}

/// An observation, small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The pool.
    pub pool: Pool,
    /// The policy in the cache.
    pub policy: Policy,
    /// The pool's claims in the cache.
    pub claims: Vec<Claim>,
    /// The pool's Nodes in the cache.
    pub nodes: Vec<Node>,
    /// The pool's placeholders in the cache.
    pub placeholders: Vec<Pod>,
    /// Live reads.
    pub close_up: Option<CloseUp>,
    /// Live reads of all that may carry our marks.
    pub leftovers: Option<Leftovers>,
    /// What was read first of a look that is made of several reads.
    pub half: Option<Half>,
}

/// What may carry our marks in the pool, and after that every anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// Placeholders of the pool.
    pub placeholders: Vec<Pod>,
    /// Nodes of the pool.
    pub nodes: Vec<Node>,
    /// Claims of the pool.
    pub claims: Vec<Claim>,
    /// Names in the anchors of all pools; read last.
    pub anchored: Vec<Value>,
}

/// The first part of a look, before the world may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Half {
    /// What belongs to a claim, before what belongs to its placeholder's host.
    CloseUp(Box<CloseUp>),
    /// What carries marks, before the anchors.
    Leftovers(Box<Leftovers>),
}

/// Live reads about one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseUp {
    /// The name that was asked for.
    pub name: Value,
    /// The claim of this name.
    pub claim: Option<Claim>,
    /// Its Node.
    pub node: Option<Node>,
    /// Its placeholder.
    pub placeholder: Option<Pod>,
    /// The claim of the placeholder's host.
    pub surge_claim: Option<Claim>,
    /// The placeholder's host.
    pub surge_node: Option<Node>,
    /// Pods on the claim's Node.
    pub pods_on_candidate: Option<Vec<Pod>>,
    /// Pods on the placeholder's host.
    pub pods_on_surge_node: Option<Vec<Pod>>,
    /// All Nodes of the pool.
    pub pool_nodes: Option<Vec<Node>>,
    /// The PodDisruptionBudgets were read; there are none here that anybody could name.
    pub budgets: bool,
}

/// Something asked for that the world cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the world has no way to represent {0}")]
pub struct Unrepresentable(pub String);

impl Sight {
    /// The first look of a pass; `None` if the pool does not exist. With `live`, the pool itself is read anew.
    #[must_use]
    pub fn first(world: &World, cached: Option<&Cached>, pool: u8, live: bool) -> Option<Self> {
        let current = world.pool(pool);
        let cached_pool = cached.and_then(|cached| cached.pool.as_ref()).filter(|_| !live);
        let claims = cached.and_then(|cached| cached.claims.as_ref()).unwrap_or(&world.claims);
        let nodes = cached.and_then(|cached| cached.nodes.as_ref()).unwrap_or(&world.nodes);
        Some(Self {
            pool: *cached_pool.or(current)?,
            policy: cached.and_then(|cached| cached.policy).unwrap_or(world.policy),
            claims: claims_of(claims, pool),
            nodes: nodes_of(nodes, pool),
            placeholders: placeholders(cached.and_then(|cached| cached.pods.as_ref()).unwrap_or(&world.pods), pool),
            close_up: None,
            leftovers: None,
            half: None,
        })
    }

    /// Serves a look from the world as it is; one that is made of several reads in two turns.
    ///
    /// # Errors
    /// The look names something that does not exist here.
    pub fn look(&mut self, world: &World, look: &Look) -> Result<(), Unrepresentable> {
        match look {
            Look::CloseUp { claim } => {
                let name = Value::read(claim).ok_or_else(|| Unrepresentable(format!("a claim named {claim:?}")))?;
                match self.half.take() {
                    Some(Half::CloseUp(half)) if half.name == name => self.close_up = Some(self.surroundings(world, *half)),
                    Some(_) | None => {
                        self.pool = world.pool(self.pool.id).copied().unwrap_or(self.pool);
                        self.half = Some(Half::CloseUp(Box::new(close_up_of(world, name))));
                    }
                }
            }
            Look::Leftovers => match self.half.take() {
                Some(Half::Leftovers(mut half)) => {
                    half.anchored =
                        world.pools.iter().map(|pool| pool.annotations.get(Key::Anchor)).filter(|name| name.is_present()).collect();
                    self.pool = world.pool(self.pool.id).copied().unwrap_or(self.pool);
                    self.leftovers = Some(*half);
                }
                Some(_) | None => {
                    let pool = self.pool.id;
                    self.half = Some(Half::Leftovers(Box::new(Leftovers {
                        placeholders: placeholders(&world.pods, pool),
                        nodes: nodes_of(&world.nodes, pool),
                        claims: claims_of(&world.claims, pool),
                        anchored: Vec::new(),
                    })));
                }
            },
            Look::Budgets => self.set(|close_up| close_up.budgets = true),
            Look::PodsOnCandidate => {
                let node = self.close_up.as_ref().and_then(|close_up| close_up.node).map(|node| node.id);
                self.set(|close_up| close_up.pods_on_candidate = Some(pods_on(world, node)));
            }
            Look::PodsOnSurgeNode => {
                let node = self.close_up.as_ref().and_then(|close_up| close_up.surge_node).map(|node| node.id);
                self.set(|close_up| close_up.pods_on_surge_node = Some(pods_on(world, node)));
            }
            Look::PoolNodes => {
                let nodes = nodes_of(&world.nodes, self.pool.id);
                self.set(|close_up| close_up.pool_nodes = Some(nodes));
            }
        }
        Ok(())
    }

    fn set(&mut self, change: impl FnOnce(&mut CloseUp)) {
        if let Some(close_up) = &mut self.close_up {
            change(close_up);
        }
    }

    /// What belongs to the placeholder's host, whose claim is found in the cache.
    fn surroundings(&self, world: &World, half: CloseUp) -> CloseUp {
        let claim = half.claim;
        let host = half.placeholder.and_then(|pod| pod.node);
        let persisted = claim.and_then(|claim| claim.annotations.get(Key::SurgeClaim).as_claim());
        let surge_claim = match host {
            Some(host) => self.claims.iter().find(|claim| claim.has_node() && claim.id == host).map(|claim| claim.id),
            None => persisted,
        };
        let surge_claim = surge_claim.and_then(|id| world.claim(id)).copied();
        let surge_node = host.or_else(|| surge_claim.filter(Claim::has_node).map(|claim| claim.id));
        CloseUp {
            node: claim.filter(Claim::has_node).and_then(|claim| world.node(claim.id)).copied(),
            surge_claim,
            surge_node: surge_node.and_then(|id| world.node(id)).copied(),
            ..half
        }
    }

    /// As the product takes it.
    #[must_use]
    pub fn observation(&self, setup: &Setup) -> Observation {
        objects::observation(self, setup)
    }

    /// Version and uid of the copy that [`Self::observation`] numbers `copy`.
    #[must_use]
    pub fn copy(&self, copy: u32) -> Option<(u32, u32)> {
        objects::copies(self).get(usize::try_from(copy).ok()?).copied().flatten()
    }

    /// Its canonical form without versions: what the decision depends on.
    pub fn encode(&self, out: &mut Bytes) {
        out.byte(self.policy as u8);
        self.pool.encode(out);
        out.byte(u8::MAX);
        self.claims.iter().for_each(|claim| claim.encode(out));
        out.byte(u8::MAX);
        self.nodes.iter().for_each(|node| node.encode(out));
        out.byte(u8::MAX);
        self.placeholders.iter().for_each(|pod| pod.encode(out));
        out.byte(u8::MAX);
        if let Some(close_up) = &self.close_up {
            close_up.encode(out);
        }
        out.byte(u8::MAX);
        if let Some(leftovers) = &self.leftovers {
            leftovers.encode(out);
        }
    }

    /// What was read first of a look that is not finished, and which of all copies are still current.
    pub fn encode_rest(&self, world: &World, out: &mut Bytes) {
        match &self.half {
            None => {}
            Some(Half::CloseUp(half)) => half.encode(out),
            Some(Half::Leftovers(half)) => half.encode(out),
        }
        let half = match &self.half {
            Some(Half::CloseUp(half)) => Some(&**half),
            Some(Half::Leftovers(_)) | None => None,
        };
        let close_up = self.close_up.as_ref().or(half);
        let leftovers = match &self.half {
            Some(Half::Leftovers(half)) => Some(&**half),
            Some(Half::CloseUp(_)) | None => self.leftovers.as_ref(),
        };
        if let Some(leftovers) = leftovers {
            leftovers.encode_freshness(world, out);
        }
        out.flags([world.pool(self.pool.id).is_some_and(|pool| pool.version == self.pool.version)]);
        for seen in self.claims.iter().chain(close_up.into_iter().flat_map(|c| c.claim.iter().chain(&c.surge_claim))) {
            out.flags([world.claim(seen.id).is_some_and(|claim| claim.version == seen.version)]);
        }
        let live_nodes = close_up.into_iter().flat_map(|c| c.node.iter().chain(&c.surge_node).chain(c.pool_nodes.iter().flatten()));
        for seen in self.nodes.iter().chain(live_nodes) {
            out.flags([world.node(seen.id).is_some_and(|node| node.version == seen.version)]);
        }
        for seen in close_up.into_iter().flat_map(|c| &c.placeholder) {
            out.flags([world.pod(seen.role).is_some_and(|pod| pod.version == seen.version)]);
        }
    }
}

/// What belongs to the claim itself.
fn close_up_of(world: &World, name: Value) -> CloseUp {
    let id = name.as_claim();
    CloseUp {
        name,
        claim: id.and_then(|id| world.claim(id)).copied(),
        node: None,
        placeholder: id.and_then(|id| world.pod(Role::Placeholder(id))).copied(),
        surge_claim: None,
        surge_node: None,
        pods_on_candidate: None,
        pods_on_surge_node: None,
        pool_nodes: None,
        budgets: false,
    }
}

/// Pods with the label of a placeholder of this pool.
fn placeholders(pods: &[Pod], pool: u8) -> Vec<Pod> {
    pods.iter().filter(|pod| pod.labelled && pod.pool == Some(pool)).copied().collect()
}

fn claims_of(claims: &[Claim], pool: u8) -> Vec<Claim> {
    claims.iter().filter(|claim| claim.pool == pool).copied().collect()
}

fn nodes_of(nodes: &[Node], pool: u8) -> Vec<Node> {
    nodes.iter().filter(|node| node.pool == pool).copied().collect()
}

fn pods_on(world: &World, node: Option<u16>) -> Vec<Pod> {
    node.into_iter().flat_map(|node| world.pods_on(node)).copied().collect()
}

impl Leftovers {
    fn encode(&self, out: &mut Bytes) {
        self.placeholders.iter().for_each(|pod| pod.encode(out));
        out.byte(u8::MAX);
        self.nodes.iter().for_each(|node| node.encode(out));
        out.byte(u8::MAX);
        self.claims.iter().for_each(|claim| claim.encode(out));
        out.byte(u8::MAX);
        self.anchored.iter().for_each(|name| out.word(name.0));
    }

    fn encode_freshness(&self, world: &World, out: &mut Bytes) {
        for seen in &self.placeholders {
            out.flags([world.pod(seen.role).is_some_and(|pod| pod.version == seen.version)]);
        }
        for seen in &self.nodes {
            out.flags([world.node(seen.id).is_some_and(|node| node.version == seen.version)]);
        }
        for seen in &self.claims {
            out.flags([world.claim(seen.id).is_some_and(|claim| claim.version == seen.version)]);
        }
    }
}

impl CloseUp {
    fn encode(&self, out: &mut Bytes) {
        out.word(self.name.0);
        out.flags([
            self.budgets,
            self.claim.is_some(),
            self.node.is_some(),
            self.placeholder.is_some(),
            self.surge_claim.is_some(),
            self.surge_node.is_some(),
        ]);
        self.claim.iter().chain(&self.surge_claim).for_each(|claim| claim.encode(out));
        self.node.iter().chain(&self.surge_node).for_each(|node| node.encode(out));
        self.placeholder.iter().for_each(|pod| pod.encode(out));
        for pods in [&self.pods_on_candidate, &self.pods_on_surge_node] {
            out.byte(u8::from(pods.is_some()));
            for pod in pods.iter().flatten() {
                pod.encode(out);
                out.flags([self.placeholder.is_some_and(|placeholder| placeholder.uid == pod.uid)]);
            }
        }
        out.byte(u8::from(self.pool_nodes.is_some()));
        self.pool_nodes.iter().flatten().for_each(|node| node.encode(out));
    }
}
