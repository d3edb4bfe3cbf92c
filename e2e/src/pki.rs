//! The cluster's certificate authority and what it signs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// Who may use the API server, by name and group of a client certificate.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// User name, and name of the files.
    pub user: &'static str,
    /// Group.
    pub group: &'static str,
}

/// May do everything; for people, kwok and Karpenter.
pub const ADMIN: Subject = Subject { user: "admin", group: "system:masters" };
/// kube-controller-manager.
pub const CONTROLLER_MANAGER: Subject = Subject { user: "system:kube-controller-manager", group: "system:authenticated" };
/// kube-scheduler.
pub const SCHEDULER: Subject = Subject { user: "system:kube-scheduler", group: "system:authenticated" };

/// Files of one certificate.
#[derive(Clone, Debug)]
pub struct Files {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Files {
    /// The files of that name in a folder.
    #[must_use]
    pub fn named(folder: &Path, name: &str) -> Self {
        let name = name.replace(':', "-");
        Self { certificate: folder.join(format!("{name}.crt")), key: folder.join(format!("{name}.key")) }
    }

    fn write(&self, certificate: &str, key: &KeyPair) -> Result<()> {
        fs::write(&self.certificate, certificate).with_context(|| format!("writing {}", self.certificate.display()))?;
        fs::write(&self.key, key.serialize_pem()).with_context(|| format!("writing {}", self.key.display()))
    }
}

/// Writes the authority (`ca`), the API server's certificate (`server`), those of the subjects, and the key that signs
/// the tokens of ServiceAccounts (`accounts.key` and `accounts.pub`).
///
/// # Errors
/// When the folder cannot be written.
pub fn write(folder: &Path) -> Result<()> {
    let key = KeyPair::generate().context("making the authority's key")?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "node-rotation-e2e");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let certificate = authority.self_signed(&key).context("signing the authority's certificate")?;
    Files::named(folder, "ca").write(&certificate.pem(), &key)?;
    let issuer = Issuer::new(authority, key);

    let names = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let mut server = CertificateParams::new(names.map(str::to_owned)).context("naming the API server")?;
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    sign(&server, &issuer, &Files::named(folder, "server"))?;

    for subject in [ADMIN, CONTROLLER_MANAGER, SCHEDULER] {
        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::CommonName, subject.user);
        client.distinguished_name.push(DnType::OrganizationName, subject.group);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        sign(&client, &issuer, &Files::named(folder, subject.user))?;
    }
    let accounts = KeyPair::generate().context("making the key of the service accounts")?;
    // The API server reads the public half only from a file of its own.
    for (name, text) in [("accounts.key", accounts.serialize_pem()), ("accounts.pub", accounts.public_key_pem())] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn sign(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>, files: &Files) -> Result<()> {
    let key = KeyPair::generate().context("making a key")?;
    let certificate = params.signed_by(&key, issuer).context("signing a certificate")?;
    files.write(&certificate.pem(), &key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn every_file_is_written() {
        let mut folder = Folder::create().unwrap();
        folder.discard_logs();
        write(&folder.keys()).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(folder.keys()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(
            names,
            [
                "accounts.key",
                "accounts.pub",
                "admin.crt",
                "admin.key",
                "ca.crt",
                "ca.key",
                "server.crt",
                "server.key",
                "system-kube-controller-manager.crt",
                "system-kube-controller-manager.key",
                "system-kube-scheduler.crt",
                "system-kube-scheduler.key",
            ]
        );
    }
}
