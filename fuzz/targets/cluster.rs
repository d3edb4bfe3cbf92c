//! Forecasts of clusters under the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| noderotation_properties::cluster::check(input));
