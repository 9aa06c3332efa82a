// what: the SHA-256 compression function against hashlib
// threads: 8
// out: np.zeros((8, 8), np.int32)
// in: rng.integers(0, 256, (8, 32)).astype(np.uint8)
// let: digest = lambda row: np.frombuffer(__import__("hashlib").sha256(row.tobytes()).digest(), ">u4")
// expect: np.stack([digest(row) for row in a]).astype(np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

constant uint k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint turn(uint x, uint by) {
  return rotate(x, 32 - by);
}

kernel void test(device uint* out, device const uchar* a, uint i [[thread_position_in_grid]]) {
  uint w[64];
  for (uint k = 0; k < 16; k++) w[k] = 0;
  for (uint k = 0; k < 32; k++) w[k / 4] |= uint(a[32 * i + k]) << (24 - 8 * (k % 4));
  w[8] = 0x80000000u;
  w[15] = 256;
  for (uint k = 16; k < 64; k++) {
    uint x = w[k - 15], y = w[k - 2];
    w[k] = w[k - 16] + w[k - 7] + (turn(x, 7) ^ turn(x, 18) ^ x >> 3) + (turn(y, 17) ^ turn(y, 19) ^ y >> 10);
  }
  const uint start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint s[8];
  for (uint k = 0; k < 8; k++) s[k] = start[k];
  for (uint k = 0; k < 64; k++) {
    uint e = s[4], c = s[0];
    uint first = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + k256[k] + w[k];
    uint second = (turn(c, 2) ^ turn(c, 13) ^ turn(c, 22)) + ((c & s[1]) ^ (c & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += first;
    s[0] = first + second;
  }
  for (uint k = 0; k < 8; k++) out[8 * i + k] = s[k] + start[k];
}
