//! What is built, from which module, into which binaries.
//!
//! The exact versions stand in `go/NAME/go.mod` and `go.sum`, which make a build repeatable; the version here names the
//! folder in the cache and is what people see. A test compares the two.

use sha2::{Digest, Sha256};

/// The Go release that builds everything; the installed `go` fetches it by itself.
pub const GO_RELEASE: &str = "go1.27.3";

/// How one module becomes binaries and manifests.
#[derive(Debug)]
pub struct Recipe {
    /// Folder below `go/`, and first part of the folder in the cache.
    pub name: &'static str,
    /// Module that is built.
    pub module: &'static str,
    /// Its version, with the leading `v`.
    pub version: &'static str,
    /// Package and the name of its binary.
    pub binaries: &'static [(&'static str, &'static str)],
    /// More flags for the linker.
    pub link: &'static str,
    /// Build tags, with commas between them.
    pub tags: &'static str,
    /// Files of the module that the cluster applies, below the module's folder; a folder stands for all files in it.
    pub manifests: &'static [&'static str],
    go_mod: &'static str,
    go_sum: &'static str,
    /// A program of ours around the module's packages; mostly there is none.
    program: &'static str,
}

macro_rules! module_files {
    ($name:literal) => {
        (include_str!(concat!("../../go/", $name, "/go.mod")), include_str!(concat!("../../go/", $name, "/go.sum")))
    };
}

const ETCD: (&str, &str) = module_files!("etcd");
const GITOPS: (&str, &str) = module_files!("gitops");
const HELM: (&str, &str) = module_files!("helm");
const HELM3: (&str, &str) = module_files!("helm3");
const KARPENTER: (&str, &str) = module_files!("karpenter");
const KUBERNETES: (&str, &str) = module_files!("kubernetes");
const KWOK: (&str, &str) = module_files!("kwok");
const PROMETHEUS: (&str, &str) = module_files!("prometheus");

/// Everything that the test bed builds, small things first.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "etcd",
        module: "go.etcd.io/etcd/server/v3",
        version: "v3.7.3",
        binaries: &[("go.etcd.io/etcd/server/v3", "etcd")],
        link: "",
        tags: "",
        manifests: &[],
        go_mod: ETCD.0,
        go_sum: ETCD.1,
        program: "",
    },
    Recipe {
        name: "kubernetes",
        module: "k8s.io/kubernetes",
        version: "v1.37.2",
        binaries: &[
            ("k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver"),
            ("k8s.io/kubernetes/cmd/kube-controller-manager", "kube-controller-manager"),
            ("k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler"),
            ("k8s.io/kubernetes/cmd/kubectl", "kubectl"),
        ],
        // Without these the API server says that it is v0.0.0, and clients that compare versions refuse it.
        link: "-X k8s.io/component-base/version.gitVersion=v1.37.2 \
               -X k8s.io/component-base/version.gitMajor=1 \
               -X k8s.io/component-base/version.gitMinor=37",
        tags: "",
        manifests: &[],
        go_mod: KUBERNETES.0,
        go_sum: KUBERNETES.1,
        program: "",
    },
    Recipe {
        name: "kwok",
        module: "sigs.k8s.io/kwok",
        version: "v0.8.0",
        binaries: &[("sigs.k8s.io/kwok/cmd/kwok", "kwok")],
        link: "",
        tags: "",
        manifests: &[
            "kustomize/crd/bases/kwok.x-k8s.io_stages.yaml",
            "kustomize/stage/node/fast/node-initialize.yaml",
            "kustomize/stage/pod/fast/pod-ready.yaml",
            "kustomize/stage/pod/fast/pod-complete.yaml",
            "kustomize/stage/pod/fast/pod-delete.yaml",
        ],
        go_mod: KWOK.0,
        go_sum: KWOK.1,
        program: "",
    },
    Recipe {
        name: "karpenter",
        module: "sigs.k8s.io/karpenter",
        version: "v1.15.0",
        binaries: &[("sigs.k8s.io/karpenter/kwok", "karpenter")],
        link: "",
        tags: "",
        manifests: &["kwok/charts/crds", "kwok/apis/crds"],
        go_mod: KARPENTER.0,
        go_sum: KARPENTER.1,
        program: "",
    },
    Recipe {
        name: "helm",
        module: "helm.sh/helm/v4",
        version: "v4.3.1",
        binaries: &[("helm.sh/helm/v4/cmd/helm", "helm")],
        link: "",
        tags: "",
        manifests: &[],
        go_mod: HELM.0,
        go_sum: HELM.1,
        program: "",
    },
    // What most people install with still; a name of its own, beside the other.
    Recipe {
        name: "helm3",
        module: "helm.sh/helm/v3",
        version: "v3.22.0",
        binaries: &[("helm.sh/helm/v3/cmd/helm", "helm3")],
        link: "",
        tags: "",
        manifests: &[],
        go_mod: HELM3.0,
        go_sum: HELM3.1,
        program: "",
    },
    // Alerts and dashboard are judged by the engine that evaluates them. What finds targets in clouds is left out: it is most
    // of the program, and nothing here is found.
    Recipe {
        name: "prometheus",
        module: "github.com/prometheus/prometheus",
        version: "v0.316.0",
        binaries: &[("github.com/prometheus/prometheus/cmd/promtool", "promtool")],
        link: "",
        tags: "remove_all_sd",
        manifests: &[],
        go_mod: PROMETHEUS.0,
        go_sum: PROMETHEUS.1,
        program: "",
    },
    // After kubernetes, whose compiled packages it uses.
    Recipe {
        name: "gitops",
        module: "github.com/argoproj/argo-cd/gitops-engine/v3",
        version: "v3.6.1",
        binaries: &[("./verdict", "verdict")],
        link: "",
        tags: "",
        manifests: &[],
        go_mod: GITOPS.0,
        go_sum: GITOPS.1,
        program: include_str!("../../go/gitops/verdict/main.go"),
    },
];

impl Recipe {
    /// Name of the folder in the cache: another version, platform, dependency or flag is another folder.
    #[must_use]
    pub fn folder(&self) -> String {
        let mut hash = Sha256::new();
        for part in [GO_RELEASE, self.go_mod, self.go_sum, self.link] {
            hash.update(part);
            hash.update([0]);
        }
        hash.update(self.program);
        hash.update(self.tags);
        let fingerprint: String = hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
        format!("{}-{}-{system}-{processor}-{fingerprint}", self.name, self.version)
    }

    /// The names of its binaries, as a person lists them.
    #[must_use]
    pub fn list(&self) -> String {
        self.binaries.iter().map(|(_, binary)| *binary).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_module_files() {
        for recipe in RECIPES {
            let line = format!("require {} {}\n", recipe.module, recipe.version);
            assert!(recipe.go_mod.contains(&line), "go/{}/go.mod lacks {line:?}", recipe.name);
        }
    }

    #[test]
    fn several_binaries_have_the_names_that_go_gives_them() {
        for recipe in RECIPES.iter().filter(|recipe| recipe.binaries.len() > 1) {
            for (package, binary) in recipe.binaries {
                assert!(package.ends_with(&format!("/{binary}")), "{package} becomes {binary}");
            }
        }
    }

    #[test]
    fn module_files_name_no_replacement_on_this_machine() {
        for recipe in RECIPES {
            assert!(!recipe.go_mod.contains("=> /") && !recipe.go_mod.contains("=> ."), "go/{}/go.mod", recipe.name);
        }
    }

    #[test]
    fn folders_differ_and_repeat() {
        let folders: std::collections::BTreeSet<_> = RECIPES.iter().map(Recipe::folder).collect();
        assert_eq!(folders.len(), RECIPES.len());
        assert!(RECIPES.iter().all(|recipe| folders.contains(&recipe.folder())));
        assert!(folders.iter().any(|folder| folder.starts_with("etcd-v3.7.3-")), "{folders:?}");
    }
}
