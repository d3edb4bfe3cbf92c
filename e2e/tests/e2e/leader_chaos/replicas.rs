//! Three replicas, each behind a door of its own, and what they are asked all the time.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result, ensure};
use e2e::balancer::{Backend, Balancer};
use e2e::chart;
use e2e::cluster::Cluster;
use e2e::door::{Door, Journal};
use e2e::load::{Judge, Load};
use e2e::operator::Operator;
use e2e::port;
use e2e::wait::{Look, until};

use super::blow::Blow;
use crate::admit_abuse::{bundle, straight};
use crate::admit_always::registered;
use crate::bed::SOON;

/// How many.
const REPLICAS: usize = 3;
/// Reviews a second that each replica is asked for; also policies that the API server is while a leader is cut off.
const RATE: u32 = 10;

/// All of them.
pub(super) struct Replicas<'a> {
    cluster: &'a Cluster,
    flags: &'a [&'a str],
    balancer: Balancer,
    /// The certificate of the authority that has signed that of the endpoint.
    authority: Vec<u8>,
    all: Vec<Replica>,
    asked: usize,
}

/// A place among them, and who is in it.
struct Replica {
    door: Door,
    operator: Operator,
    endpoint: u16,
    /// What it is asked; nothing while it is stopped.
    load: Option<Load>,
}

impl<'a> Replicas<'a> {
    /// Starts them with these flags. What they write to rotations is added to the journal.
    pub(super) async fn start(cluster: &'a Cluster, flags: &'a [&'a str], journal: &Journal) -> Result<Self> {
        let address = chart::webhook_address(cluster).await?.parse().context("the Service's address")?;
        let balancer = Balancer::listen(address).await?;
        let mut replicas = Self { cluster, flags, balancer, authority: Vec::new(), all: Vec::new(), asked: 0 };
        for number in 1..=REPLICAS {
            let door = Door::open(cluster, &format!("door-{number}"), journal).await?;
            replicas.add(door).await?;
        }
        registered(cluster).await?;
        Ok(replicas)
    }

    /// One more behind a door, which is waited for.
    async fn add(&mut self, door: Door) -> Result<()> {
        let [endpoint] = port::free()?;
        let (bind, through) = (format!("--webhook-bind-address=127.0.0.1:{endpoint}"), door.argument());
        let mut operator = Operator::start(self.cluster, &[self.flags, &[&bind, &through]].concat()).await?;
        operator.wait_serving().await?;
        if self.authority.is_empty() {
            self.authority = bundle(self.cluster).await?;
        }
        let load = Some(self.load(endpoint)?);
        self.all.push(Replica { door, operator, endpoint, load });
        self.balance();
        Ok(())
    }

    fn load(&self, endpoint: u16) -> Result<Load> {
        let name = format!("{}.{}.svc", chart::WEBHOOK_SERVICE, chart::NAMESPACE);
        let client = straight(SocketAddr::from((Ipv4Addr::LOCALHOST, endpoint)), &name, &self.authority)?;
        Ok(Load::begin(Judge::Endpoint(client), RATE, 1))
    }

    fn balance(&self) {
        let backends = self.all.iter().map(|replica| Backend { endpoint: replica.endpoint, probe: replica.operator.probe() });
        self.balancer.set(&backends.collect::<Vec<_>>());
    }

    /// Not one review may have been left without its answer.
    async fn answered(&mut self, load: Option<Load>, what: &str) -> Result<()> {
        let Some(load) = load else { return Ok(()) };
        let report = load.end().await?;
        ensure!(report.failures() == 0, "{what}: {report}");
        self.asked += report.count();
        Ok(())
    }

    /// One blow to whoever leads and writes, until another leads and writes, and the one that was struck is back and does not.
    pub(super) async fn strike(&mut self, blow: Blow) -> Result<()> {
        let place = self.writing(None).await?;
        match blow {
            Blow::Killed => {
                let Replica { door, operator, load, endpoint: _ } = self.all.remove(place);
                // What is under way where a process is killed can have no answer.
                self.answered(load, "before it was killed").await?;
                operator.sigkill().await?;
                self.balance();
                self.writing(None).await?;
                self.add(door).await
            }
            Blow::Stopped => {
                let load = self.at(place)?.load.take();
                self.answered(load, "before it was stopped").await?;
                self.at(place)?.operator.pause().await?;
                let followed = self.writing(Some(place)).await;
                self.at(place)?.operator.resume().await?;
                followed?;
                self.stepped_down(place).await?;
                let endpoint = self.at(place)?.endpoint;
                self.at(place)?.load = Some(self.load(endpoint)?);
                Ok(())
            }
            Blow::CutOff(cut) => {
                let served = Load::begin(Judge::Server(self.cluster.client()), RATE, 1);
                self.at(place)?.door.cut(Some(cut));
                self.writing(Some(place)).await?;
                self.at(place)?.door.cut(None);
                self.stepped_down(place).await?;
                self.answered(Some(served), "while the leader was cut off").await
            }
        }
    }

    fn at(&mut self, place: usize) -> Result<&mut Replica> {
        self.all.get_mut(place).with_context(|| format!("nobody is at place {place}"))
    }

    /// Waits until one of them leads, but for this one, and a write of its own has landed since.
    async fn writing(&self, except: Option<usize>) -> Result<usize> {
        let before: Vec<usize> = self.all.iter().map(|replica| replica.door.landed()).collect();
        until("a leader that writes", SOON, async || {
            for (place, (replica, before)) in self.all.iter().zip(&before).enumerate() {
                // One that is stopped does not answer.
                if Some(place) != except && replica.operator.leads().await? {
                    let written = replica.door.landed() > *before;
                    return Ok(if written { Look::Done(place) } else { Look::NotYet(format!("replica {place} has not written yet")) });
                }
            }
            Ok(Look::NotYet("nobody leads".to_owned()))
        })
        .await
    }

    async fn stepped_down(&self, place: usize) -> Result<()> {
        let replica = self.all.get(place).with_context(|| format!("nobody is at place {place}"))?;
        until("the one that was struck not to lead", SOON, async || {
            Ok(if replica.operator.leads().await? { Look::NotYet("it leads".to_owned()) } else { Look::Done(()) })
        })
        .await
    }

    /// Ends them in order. The answer is how many reviews and policies were judged meanwhile.
    pub(super) async fn end(mut self) -> Result<usize> {
        while let Some(Replica { door: _door, operator, load, endpoint: _ }) = self.all.pop() {
            self.answered(load, "until it was ended").await?;
            self.balance();
            let status = operator.sigterm().await?;
            ensure!(status.success(), "the operator ended with {status} after SIGTERM");
        }
        Ok(self.asked)
    }
}
