//! A cluster in miniature: the objects, who acts on them, and the time.

pub mod object;
pub mod write;

use crate::annotation::Annotations;
use crate::instant::Instant;
use crate::setup::{Policy, Setup};
use crate::worker::Worker;
use object::{Bytes, Claim, Node, Phase, Pod, Pool, Role, Stage};

/// Everything that changes.
#[derive(Clone, Debug)]
pub struct World {
    /// The true time.
    pub now: Instant,
    /// By number.
    pub pools: Vec<Pool>,
    /// By number.
    pub claims: Vec<Claim>,
    /// By number.
    pub nodes: Vec<Node>,
    /// By role.
    pub pods: Vec<Pod>,
    /// What has become of the policy.
    pub policy: Policy,
    /// The API server lets no placeholder in.
    pub rejecting: bool,
    /// One for each leader and pool.
    pub workers: Vec<Worker>,
    /// Nodes neither come nor go, and nothing is scheduled.
    pub stalled: bool,
    /// No leader acts.
    pub asleep: bool,
    /// The worker that is in the middle of a pass and was the last to act.
    pub running: Option<u8>,
    versions: u32,
}

impl World {
    /// The world as it begins.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let mut world = Self {
            now: setup.start,
            pools: Vec::new(),
            claims: Vec::new(),
            nodes: Vec::new(),
            pods: Vec::new(),
            policy: Policy::Valid,
            rejecting: false,
            stalled: false,
            asleep: false,
            workers: Vec::new(),
            running: None,
            versions: 0,
        };
        for id in 0..setup.pools {
            let version = world.next_version();
            let annotations = Annotations::default();
            world.pools.push(Pool {
                id,
                version,
                selected: true,
                fixed: false,
                full: false,
                annotations,
                told: 0,
                begun: false,
                stripped: false,
                answer_lost: false,
            });
            world.workers.extend((0..setup.leaders).map(|leader| Worker::new(leader, id)));
        }
        let mut work = 0;
        for (id, seed) in (0u16..).zip(&setup.seeds) {
            let version = world.next_version();
            world.claims.push(Claim {
                id,
                version,
                pool: seed.pool,
                created: seed.created,
                expire_after: seed.expire_after,
                grace: seed.grace,
                deleted: None,
                stage: Stage::Ready,
                disrupted: false,
                annotations: Annotations::default(),
                launched_for: None,
                awaited: 0,
                deleter: None,
                stuck: false,
                withdrawn: false,
            });
            world.add_node(id, seed.pool);
            for _ in 0..seed.work {
                world.add_pod(Role::Work(work), setup.node_milli / 2, None, Some(id), Phase::Running);
                work += 1;
            }
        }
        world
    }

    /// A version that no object has had.
    pub fn next_version(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    /// A Ready Node for claim `id`.
    pub fn add_node(&mut self, id: u16, pool: u8) {
        let version = self.next_version();
        let node = Node {
            id,
            version,
            pool,
            ready: true,
            unschedulable: false,
            tainted: false,
            deleting: false,
            annotations: Annotations::default(),
            cordoned_by_person: false,
            protected_by_person: false,
        };
        let place = self.nodes.partition_point(|other| other.id < id);
        self.nodes.insert(place, node);
    }

    /// A Pod with the label that its role asks for, only for nodes of `pool` if that is given.
    pub fn add_pod(&mut self, role: Role, milli: u32, pool: Option<u8>, node: Option<u16>, phase: Phase) {
        let version = self.next_version();
        let labelled = matches!(role, Role::Placeholder(_));
        // The API server's clock never runs back, and a launch may have taken it a second further.
        let latest = self.claims.iter().map(|claim| claim.created).max().unwrap_or_default();
        let created = if labelled { self.now.max(latest) } else { Instant(0) };
        let pod = Pod { role, uid: version, version, created, pool, node, phase, terminating: false, milli, labelled };
        let place = self.pods.partition_point(|other| other.role < role);
        self.pods.insert(place, pod);
    }

    /// The NodePool of this number.
    #[must_use]
    pub fn pool(&self, id: u8) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.id == id)
    }

    /// The claim of this number.
    #[must_use]
    pub fn claim(&self, id: u16) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.id == id)
    }

    /// The Node of this number.
    #[must_use]
    pub fn node(&self, id: u16) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The Pod in this role.
    #[must_use]
    pub fn pod(&self, role: Role) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.role == role)
    }

    /// Changes a NodePool, with a new version.
    pub fn change_pool(&mut self, id: u8, change: impl FnOnce(&mut Pool)) {
        let version = self.next_version();
        if let Some(pool) = self.pools.iter_mut().find(|pool| pool.id == id) {
            change(pool);
            pool.version = version;
        }
    }

    /// Changes a claim, with a new version.
    pub fn change_claim(&mut self, id: u16, change: impl FnOnce(&mut Claim)) {
        let version = self.next_version();
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.id == id) {
            change(claim);
            claim.version = version;
        }
    }

    /// Changes a Node, with a new version.
    pub fn change_node(&mut self, id: u16, change: impl FnOnce(&mut Node)) {
        let version = self.next_version();
        if let Some(node) = self.nodes.iter_mut().find(|node| node.id == id) {
            change(node);
            node.version = version;
        }
    }

    /// Changes a Pod, with a new version.
    pub fn change_pod(&mut self, role: Role, change: impl FnOnce(&mut Pod)) {
        let version = self.next_version();
        if let Some(pod) = self.pods.iter_mut().find(|pod| pod.role == role) {
            change(pod);
            pod.version = version;
        }
    }

    /// Pods bound to a node.
    pub fn pods_on(&self, node: u16) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(move |pod| pod.node == Some(node))
    }

    /// Placeholders in order; of the Pods at work only how many of which kind there are.
    fn encode_pods(&self, out: &mut Bytes) {
        let mut work: Vec<Vec<u8>> = Vec::with_capacity(4);
        for pod in &self.pods {
            match pod.role {
                Role::Placeholder(_) => pod.encode(out),
                Role::Work(_) => {
                    let mut alike = Bytes::default();
                    Pod { role: Role::Work(0), ..*pod }.encode(&mut alike);
                    work.push(alike.0);
                }
            }
        }
        work.sort_unstable();
        work.iter().for_each(|pod| out.0.extend_from_slice(pod));
    }

    /// The canonical form: two worlds in which the same can happen have the same. Versions count only in so far as
    /// somebody holds one.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = Bytes(Vec::with_capacity(512));
        out.word(self.now.0);
        out.byte(self.policy as u8);
        out.flags([self.rejecting, self.stalled, self.asleep]);
        out.byte(self.running.map_or(u8::MAX, |running| running));
        for pool in &self.pools {
            pool.encode(&mut out);
            pool.encode_hidden(&mut out);
        }
        out.byte(u8::MAX);
        for claim in &self.claims {
            claim.encode(&mut out);
            claim.encode_hidden(&mut out);
        }
        out.byte(u8::MAX);
        for node in &self.nodes {
            node.encode(&mut out);
            node.encode_hidden(&mut out);
        }
        out.byte(u8::MAX);
        self.encode_pods(&mut out);
        for worker in &self.workers {
            out.byte(u8::MAX);
            worker.encode(self, &mut out);
        }
        out
    }
}
