//! The HTTPS admission endpoint of `RotationPolicy`.
