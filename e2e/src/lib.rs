//! A real cluster without containers, the demo, and what the tests that run on it need.
//!
//! The real programs (etcd, the control plane, kwok, Karpenter, helm) are built once from Go modules and run as plain
//! processes; only the kubelets are simulated, by kwok, but Pods of Jobs do run. So admission, RBAC, scheduling and Karpenter are the truth.
//! The operator is a process as well, with the token of the chart's ServiceAccount and the arguments of the chart's
//! Deployment.
//!
//! This crate knows the binary and the chart, not their code: it depends on no other member of the workspace, and spells
//! the public names (annotations, metrics, events) itself. Only a test compares what the API server says of policies with
//! what the operator's own validation says. Its errors are for the person who runs it, hence `anyhow`.

pub mod abuse;
pub mod audit;
pub mod balancer;
pub mod chart;
pub mod clock;
pub mod cluster;
pub mod component;
pub mod door;
pub mod exposition;
pub mod fleet;
pub mod folder;
pub mod gate;
pub mod gitops;
pub mod http;
pub mod image;
pub mod kubeconfig;
pub mod kubelet;
pub mod leadership;
pub mod load;
pub mod namespace;
pub mod operator;
pub mod other;
pub mod pki;
pub mod port;
pub mod process;
pub mod promtool;
pub mod proxy;
pub mod recording;
pub mod release;
pub mod replay;
pub mod repository;
pub mod rights;
pub mod sight;
pub mod storm;
pub mod story;
pub mod stranger;
pub mod terminal;
pub mod tool;
pub mod toolchain;
pub mod wait;
