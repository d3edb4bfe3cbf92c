//go:build tools

// Package commands pins what the test bed builds from this module.
package commands

import _ "helm.sh/helm/v3/cmd/helm"
