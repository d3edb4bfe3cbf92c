# syntax=docker/dockerfile:1

# The operator alone, as a static binary. The build image's target is musl on either architecture.
FROM rust:1.95-alpine AS build
# What ring's assembly and C are compiled with. Whatever version the base image's release has is right.
# hadolint ignore=DL3018
RUN apk add --no-cache musl-dev
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --bin node-rotation-controller \
    && cp target/release/node-rotation-controller /node-rotation-controller

# No shell, no package manager, no file that the program could write. Time zones are compiled in, and the API server's
# certificate authority comes with the ServiceAccount.
FROM scratch
COPY --from=build /node-rotation-controller /node-rotation-controller
USER 65532:65532
EXPOSE 8080 8081 9443
ENTRYPOINT ["/node-rotation-controller"]
CMD ["run"]
