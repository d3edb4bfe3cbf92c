//go:build tools

// Package commands pins what the test bed builds from this module.
package commands

import _ "github.com/prometheus/prometheus/cmd/promtool"
