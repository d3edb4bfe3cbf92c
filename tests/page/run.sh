#!/usr/bin/env bash
# Runs the tests of the page in a browser, or says in a line why not. CHROMIUM names another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() {
  echo "skipped: the page is not looked at in a browser: $1"
  exit 0
}

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[[ -n $chromium ]] || skip 'there is no Chromium; install it, or name it in CHROMIUM'
command -v node >/dev/null || skip 'there is no Node.js; install version 20 or newer'
command -v npm >/dev/null || skip 'there is no npm; install it with Node.js'
major=$(node --print 'process.versions.node.split(".")[0]')
((major >= 20)) || skip "Node.js $major is too old; install version 20 or newer"

packages=$PWD/target/page
mkdir -p "$packages"
# Only when the lock file has changed is anything fetched.
if ! cmp --silent tests/page/package-lock.json "$packages/installed.json"; then
  cp tests/page/package.json tests/page/package-lock.json "$packages/"
  (cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund --silent)
  cp tests/page/package-lock.json "$packages/installed.json"
fi
OPERATOR=$PWD/target/debug/node-rotation-controller CHROMIUM=$chromium PACKAGES=$packages SCREENSHOTS=$packages/screenshots \
  node --test --test-reporter=spec tests/page/page.test.mjs
