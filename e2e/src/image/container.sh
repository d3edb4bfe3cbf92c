# Starts a program as a container runtime does under the chart's securityContext: the files of the image and nothing else, read-only, without root's
# rights and without a way to get any.
set -eu
files=$1 root=$2 account=$3 started=$4 user=$5 variables=$6
shift 6

mount -t tmpfs -o mode=755 tmpfs "$root"
cp --archive "$files/." "$root"
if [ -n "$account" ]; then
    # What the kubelet brings: the ServiceAccount.
    mkdir -p "$root/var/run/secrets/kubernetes.io/serviceaccount"
    mount --bind "$account" "$root/var/run/secrets/kubernetes.io/serviceaccount"
    mount -o remount,bind,ro "$root/var/run/secrets/kubernetes.io/serviceaccount"
fi
mount -o remount,ro "$root"
cd /
chroot=$(command -v chroot)
date +%s%N > "$started"
# Words without spaces: names and values of variables.
# shellcheck disable=SC2086
exec setpriv --no-new-privs env -i $variables "$chroot" --userspec="$user" --groups="${user#*:}" "$root" "$@"
