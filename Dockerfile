# syntax=docker/dockerfile:1

# Compilers run as programs of the machine that builds, whatever architecture they build for: emulated, they would take ten
# times as long. The digest is that of an index with amd64 and arm64.
FROM --platform=$BUILDPLATFORM rust:1.95.0-slim-bookworm@sha256:d7482085ff5b415f84dba5647ae71606650bdef00db7aeb69f4b3d170c3e4082 AS toolchain
ARG BUILDARCH
ARG TARGETARCH
# ring and psm have parts in C and assembly that call no C library, so any C compiler for the processor will do. The C library
# that is linked is Rust's own copy of musl, by Rust's own linker.
ENV CC_x86_64_unknown_linux_musl=x86_64-linux-gnu-gcc \
    CC_aarch64_unknown_linux_musl=aarch64-linux-gnu-gcc \
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
# The base image has the compiler of its own processor; whatever version of the other its release has is right.
# hadolint ignore=DL3008
RUN case "$TARGETARCH" in \
        amd64) target=x86_64-unknown-linux-musl compiler=gcc-x86-64-linux-gnu ;; \
        arm64) target=aarch64-unknown-linux-musl compiler=gcc-aarch64-linux-gnu ;; \
        *) echo "this Dockerfile builds for amd64 and arm64, not for '$TARGETARCH'" >&2; exit 1 ;; \
    esac \
    && rustup target add "$target" \
    && echo "$target" > /target \
    && if [ "$TARGETARCH" != "$BUILDARCH" ]; then \
        apt-get update \
        && apt-get install --yes --no-install-recommends "$compiler" "libc6-dev-$TARGETARCH-cross" \
        && rm -rf /var/lib/apt/lists/*; \
    fi
WORKDIR /src

# The workspace without its code: as long as no dependency changes, what is copied from here is the same, and so the layer in
# which the dependencies are compiled.
FROM toolchain AS skeleton
COPY . .
RUN find . -type f ! -name Cargo.toml ! -name Cargo.lock ! -name lib.rs ! -name main.rs ! -path '*/benches/*' -delete \
    && echo 'fn main() {}' > /main.rs \
    && find . -name '*.rs' -exec cp /main.rs {} \;

FROM toolchain AS build
COPY --from=skeleton /src .
RUN cargo build --locked --release --target "$(cat /target)" --bin node-rotation-controller
COPY . .
# The code is as old as its last change; Cargo would take what it has compiled since for newer.
RUN find . -name '*.rs' -not -path './target/*' -exec touch {} + \
    && cargo build --locked --release --target "$(cat /target)" --bin node-rotation-controller \
    && mv "target/$(cat /target)/release/node-rotation-controller" /

# Nothing but the program: no shell, no package manager, no library, no user database. Time zones are compiled in, and the API
# server's certificate authority comes with the ServiceAccount. It writes no file.
FROM scratch
ARG REVISION=unknown
LABEL org.opencontainers.image.title="node-rotation-controller" \
      org.opencontainers.image.description="Replaces Karpenter nodes inside maintenance windows, make-before-break." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /node-rotation-controller /
# A number, so that the kubelet can see that it is not root.
USER 65532:65532
EXPOSE 8080 8081 9443
ENTRYPOINT ["/node-rotation-controller"]
CMD ["run"]
