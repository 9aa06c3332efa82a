// what: ten rounds of Philox 4x32 against the published test vector
// out: np.zeros(4, np.int32)
// expect: np.array([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8], np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out) {
  uint4 counter = 0;
  uint2 key = 0;
  for (int round = 0; round < 10; round++) {
    uint low0 = 0xD2511F53u * counter.x, high0 = mulhi(0xD2511F53u, counter.x);
    uint low1 = 0xCD9E8D57u * counter.z, high1 = mulhi(0xCD9E8D57u, counter.z);
    counter = uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key += uint2(0x9E3779B9u, 0xBB67AE85u);
  }
  for (int k = 0; k < 4; k++) out[k] = counter[k];
}
