# What carries out the stages of a Dockerfile without Docker: each is a layer above this machine's own files, which stand in
# for the base image. Nothing of it is left when the process ends: the mounts are in a namespace of its own.
set -eu
umask 022

# The folder of all layers. A layer cannot lie in the file system that it lies above.
layers() {
    mkdir -p "$1"
    mount -t tmpfs tmpfs "$1"
}

# A layer in folder $1 above the folders $2.
layer() {
    mkdir -p "$1/upper" "$1/work" "$1/root"
    mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
    mount --rbind /dev "$1/root/dev"
    mount -t proc proc "$1/root/proc"
}

# Keeps what is written to folder $1 in folder $2, which outlives the process.
keep() {
    mkdir -p "$1" "$2"
    mount --bind "$2" "$1"
}

# The files of the repository $1 that are listed in file $2, to folder $3.
context() {
    mkdir -p "$3"
    tar --create --directory "$1" --files-from "$2" | tar --extract --directory "$3" --no-same-owner
}

# A file, or what is in a folder.
copy() {
    if [ -d "$1" ]; then
        mkdir -p "$2"
        cp --archive "$1/." "$2"
    else
        cp --archive "$1" "$2"
    fi
}

# Anew, since what an earlier run has left is no part of this one.
empty() {
    rm -rf "$1"
    mkdir -p "$1"
}
