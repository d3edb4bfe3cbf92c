//go:build tools

// Package commands pins what the test bed builds from this module.
package commands

import _ "go.etcd.io/etcd/server/v3"
