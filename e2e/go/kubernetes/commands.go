//go:build tools

// Package commands pins what the test bed builds from this module.
package commands

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
import _ "k8s.io/kubernetes/cmd/kube-controller-manager"
import _ "k8s.io/kubernetes/cmd/kube-scheduler"
import _ "k8s.io/kubernetes/cmd/kubectl"
