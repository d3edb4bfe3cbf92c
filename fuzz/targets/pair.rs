//! Contents of the certificate's Secret under the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| noderotation_properties::pair::check(input));
