//go:build tools

// Package commands pins what the test bed builds from this module.
package commands

import _ "sigs.k8s.io/kwok/cmd/kwok"
